#include "formats/list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::size_t kMaxEntry = 64 << 10;
constexpr std::size_t kBuffer = 256 << 10;
static_assert(kBuffer > kMaxEntry);

}  // namespace

std::string key_path(std::string_view path) {
  for (;;) {
    if (path.starts_with("./")) {
      path.remove_prefix(2);
    } else if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else {
      return clean_path(path);
    }
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  }
}

ListSource::ListSource(const std::string& path, Separator separator)
    : ListSource(open_file(path, O_RDONLY), path, separator) {}

ListSource::ListSource(Fd input, std::string name, Separator separator)
    : name_(std::move(name)),
      separator_(separator == Separator::newline ? '\n' : '\0'),
      buffer_(kBuffer) {
  const struct stat status = file_status(input.get(), name_);
  if (S_ISDIR(status.st_mode)) {
    fail(Code::usage, "{}: is a directory, no list of files", printable(name_));
  }
  if (isatty(input.get())) {
    fail(Code::usage, "{} is a terminal; give it a list of files: … | or < files.txt",
         printable(name_));
  }
  if (S_ISREG(status.st_mode)) expected_bytes_ = static_cast<std::uint64_t>(status.st_size);
  input_ = std::make_unique<FdReader>(std::make_shared<const Fd>(std::move(input)), name_);
}

// Reads once more behind what is buffered; false at the end.
bool ListSource::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const std::size_t count = input_->read(std::span(buffer_).subspan(end_));
  end_ += count;
  return count > 0;
}

// False at the end of the list; what follows the last separator is an entry, unless it is empty.
bool ListSource::next_entry(std::string& entry) {
  std::size_t searched = 0;
  for (bool more = true;;) {
    // Anew each time: fill() moves what is buffered.
    const char* begin = reinterpret_cast<const char*>(buffer_.data()) + begin_;
    const std::string_view text(begin, end_ - begin_);
    const std::size_t end = text.find(separator_, searched);
    const bool found = end != std::string_view::npos;
    if ((found ? end : text.size()) > kMaxEntry) {
      fail(Code::limit, "{}: entry {} is longer than {} bytes: no list of {}", printable(name_),
           entries_ + 1, kMaxEntry,
           separator_ ? "lines? see list0:" : "names with NULs? see list:");
    }
    searched = text.size();
    if (!found && more) {
      more = fill();
      continue;
    }
    entry = text.substr(0, end);
    begin_ += entry.size() + found;
    ++entries_;
    return found || !entry.empty();
  }
}

bool ListSource::next(Sample& sample) {
  std::optional<Sample> complete;
  std::string entry;
  while (!complete) {
    if (faulty_) {
      complete = std::exchange(faulty_, std::nullopt);
    } else if (ended_) {
      return false;
    } else if (next_entry(entry)) {
      complete = take(entry);
    } else {
      ended_ = true;
      complete = grouper_.finish();
    }
    consumed_bytes_.store(input_->consumed() - (end_ - begin_), std::memory_order_relaxed);
  }
  sample = std::move(*complete);
  return true;
}

std::optional<Sample> ListSource::take(const std::string& entry) {
  if (entry.empty()) {
    ++left_out_["empty entry in a list"];
    return std::nullopt;
  }
  if (entry.find('\0') != std::string::npos) {
    fail(Code::usage, "{}: entry {} holds a NUL; a list with NULs between names is read by list0:",
         printable(name_), entries_);
  }
  auto content = std::make_shared<FileContent>(entry);
  try {
    const std::string clean = key_path(entry);
    if (is_hidden(clean)) {
      ++left_out_["hidden file"];
      return std::nullopt;
    }
    if (entry.ends_with('/')) fail(Code::usage, "{}: is a directory", printable(entry));
    return grouper_.add(clean, content);
  } catch (const Error& error) {
    faulty_.emplace();
    faulty_->key = entry;
    faulty_->parts.push_back({"", std::move(content)});
    faulty_->fault = Error(error.code(), fmt::format("{}: {}", printable(name_), error.what()));
    return grouper_.finish();
  }
}

bool FilesSource::next(Sample& sample) {
  std::optional<Sample> complete;
  while (!complete && next_path_ < paths_.size()) {
    std::string& path = paths_[next_path_++];
    const std::string name(base_name(path));
    complete = grouper_.add(name, std::make_shared<FileContent>(std::move(path)));
  }
  if (!complete) complete = grouper_.finish();
  if (!complete) return false;
  sample = std::move(*complete);
  return true;
}

}  // namespace prep
