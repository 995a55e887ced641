#include "formats/tar_sample_writer.h"

#include <algorithm>

#include "formats/tar_header.h"
#include "lib/core/error.h"
#include "lib/core/text.h"

namespace prep {
namespace {

void check_name(std::string_view key, std::string_view part) {
  const std::string path = part_path(key, part);
  if (part.empty()) {
    fail(Code::name, "{}: its name has no dot, and loaders drop such members of a tar",
         printable(path));
  }
  if (is_hidden(path)) {
    fail(Code::name, "{}: its name starts with a dot, and loaders misread such members of a tar",
         printable(path));
  }
  if (split_key(path) != std::pair(key, part)) {
    fail(Code::name, "{}: would not be read back as part '{}' of '{}'", printable(path),
         printable(part), printable(key));
  }
  check_tar_name(path);
}

}  // namespace

void TarSampleWriter::check(const Sample& sample) {
  std::vector<std::string> names;
  for (const Part& part : sample.parts) {
    check_name(sample.key, part.name);
    names.push_back(lower_case(part.name));
  }
  std::sort(names.begin(), names.end());
  if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end()) {
    fail(Code::duplicate,
         "{}: two parts are named '{}' but for upper and lower case, which loaders "
         "ignore",
         printable(sample.key), printable(*twin));
  }
}

namespace {

// Reads as much of the parts as may go wrong while nothing of the sample is written: small ones
// whole, of large ones the beginning.
std::vector<std::shared_ptr<const Content>> read_ahead(const Sample& sample) {
  constexpr std::uint64_t kSmall = 1 << 20, kReadAhead = 64 << 20;
  std::uint64_t room = kReadAhead;
  std::vector<std::shared_ptr<const Content>> contents;
  for (const Part& part : sample.parts) {
    const std::uint64_t size = part.content->size();
    if (size > std::min(kSmall, room)) {
      part.content->read(0, 1);
      contents.push_back(part.content);
      continue;
    }
    Bytes bytes = part.content->load();
    room -= size;
    contents.push_back(std::make_shared<MemoryContent>(std::move(bytes), part.content->origin()));
  }
  return contents;
}

}  // namespace

std::uint64_t TarSampleWriter::member_size(std::string_view path, std::uint64_t size) {
  return tar_header_size(path, size) + size + tar_padding(size);
}

PlacedSample TarSampleWriter::add(const Sample& sample) {
  std::vector<std::shared_ptr<const Content>> contents;
  try {
    contents = read_ahead(sample);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    throw BadSample(error.code(), error.what());
  }
  PlacedSample placed;
  placed.key = sample.key;
  placed.begin = tar_.offset();
  for (std::size_t i = 0; i < contents.size(); ++i) {
    std::string path = part_path(sample.key, sample.parts[i].name);
    const TarWriter::Place place = tar_.add(path, *contents[i]);
    pax_members_ += place.pax;
    placed.parts.push_back({sample.parts[i].name, std::move(path), place.data_offset, place.size});
  }
  placed.end = tar_.offset();
  return placed;
}

}  // namespace prep
