#include "lib/core/sample.h"

#include <algorithm>

#include "lib/core/file_io.h"

namespace prep {

namespace {

Bytes clipped(const Bytes& bytes, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes.size());
  return bytes.slice(begin, std::min<std::uint64_t>(length, bytes.size() - begin));
}

}  // namespace

Bytes MemoryContent::read(std::uint64_t offset, std::uint64_t length) const {
  return clipped(bytes_, offset, length);
}

Bytes LiteralContent::read(std::uint64_t offset, std::uint64_t length) const {
  return clipped(bytes_, offset, length);
}

std::string part_path(std::string_view key, std::string_view part) {
  std::string path(key);
  if (!part.empty()) path.append(1, '.').append(part);
  return path;
}

std::pair<std::string_view, std::string_view> split_key(std::string_view path) {
  const std::size_t base = path.size() - base_name(path).size();
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == path.size()) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_hidden(std::string_view path) { return base_name(path).starts_with('.'); }

std::string clean_path(std::string_view path, bool* stripped_root) {
  if (stripped_root) *stripped_root = path.starts_with('/');
  if (path.find('\0') != std::string_view::npos) {
    fail(Code::name, "{}: a name cannot hold a NUL byte", printable(path));
  }
  std::string clean;
  clean.reserve(path.size());
  for (std::size_t i = 0; i <= path.size();) {
    const std::size_t end = std::min(path.find('/', i), path.size());
    const std::string_view step = path.substr(i, end - i);
    if (step == "..") {
      fail(Code::name, "{}: a name with '..' could leave the output; not taken", printable(path));
    }
    if (!step.empty() && step != ".") {
      if (!clean.empty()) clean += '/';
      clean += step;
    }
    i = end + 1;
  }
  if (clean.empty()) fail(Code::name, "'{}' is not a name for a file", printable(path));
  return clean;
}

std::optional<Sample> Grouper::add(std::string_view path, std::shared_ptr<const Content> content) {
  const auto split = split_key(path);
  const std::string_view part = split.second;
  std::optional<Sample> complete;
  if (!pending_ || pending_->key != split.first) {
    complete = std::move(pending_);
    pending_.emplace();
    pending_->key = split.first;
  }
  if (pending_->parts.size() >= kMaxParts) {
    fail(Code::limit, "{}: more than {} files belong to the sample '{}'",
         printable(content->origin()), kMaxParts, printable(pending_->key));
  }
  const auto same = [&](const Part& other) { return other.name == part; };
  if (std::any_of(pending_->parts.begin(), pending_->parts.end(), same) && !pending_->fault) {
    pending_->fault = Error(Code::duplicate, fmt::format("{}: the name comes twice; a sample can "
                                                         "hold only one part of it",
                                                         printable(content->origin())));
  }
  pending_->parts.push_back({std::string(part), std::move(content)});
  return complete;
}

std::optional<Sample> Grouper::finish() { return std::exchange(pending_, std::nullopt); }

}  // namespace prep
