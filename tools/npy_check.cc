#include "tools/npy_check.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

// The text of the header's dictionary, and where the data begins.
struct NpyHeader {
  std::string_view dictionary;
  std::size_t data_offset = 0;
};

NpyHeader read_header(ByteView file) {
  const std::string_view text = as_text(file);
  if (!text.starts_with(kMagic)) fail(Code::corrupt, "NumPy: it has no magic bytes");
  if (file.size() < 8) fail(Code::truncated, "NumPy: it ends inside its header");
  const unsigned major = file[6];
  if (major < 1 || major > 3) fail(Code::corrupt, "NumPy: there is no version {}", major);
  const std::size_t length_size = major == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_size;
  if (file.size() < begin) fail(Code::truncated, "NumPy: it ends inside its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_size; ++i) length |= std::size_t{file[8 + i]} << 8 * i;
  if (length > file.size() - begin) fail(Code::truncated, "NumPy: it ends inside its header");
  return {text.substr(begin, length), begin + length};
}

// What follows "'key':" in the dictionary, without spaces before it.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(key);
  if (at == std::string_view::npos) fail(Code::corrupt, "NumPy: its header lacks {}", key);
  std::string_view value = dictionary.substr(at + key.size());
  value.remove_prefix(std::min(value.find_first_not_of(": "), value.size()));
  return value;
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) fail(Code::corrupt, "NumPy: its header holds no number");
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return value;
}

// "'<f4'": four bytes an item.
std::uint64_t item_size(std::string_view descr) {
  if (descr.empty() || (descr[0] != '\'' && descr[0] != '"')) {
    fail(Code::unsupported, "NumPy: records, whose size was not checked");
  }
  descr.remove_prefix(1);
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    descr.remove_prefix(1);
  }
  const char kind = descr.empty() ? '\0' : descr[0];
  if (kind == 'O') fail(Code::unsupported, "NumPy: Python objects, which were not checked");
  if (std::string_view("biufcmMSUV").find(kind) == std::string_view::npos || kind == '\0') {
    fail(Code::corrupt, "NumPy: its header names no type");
  }
  descr.remove_prefix(1);
  const std::uint64_t size = take_number(descr);
  return kind == 'U' ? size * 4 : size;
}

std::uint64_t multiplied(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) {
    fail(Code::corrupt, "NumPy: its shape is absurd");
  }
  return a * b;
}

// "(3, 4)", "(5,)", "()".
std::uint64_t item_count(std::string_view shape) {
  if (!shape.starts_with('(')) fail(Code::corrupt, "NumPy: its header has no shape");
  shape.remove_prefix(1);
  std::uint64_t count = 1;
  for (;;) {
    shape.remove_prefix(std::min(shape.find_first_not_of(", "), shape.size()));
    if (shape.starts_with(')')) return count;
    count = multiplied(count, take_number(shape));
    if (shape.starts_with('L')) shape.remove_prefix(1);  // Python 2
  }
}

}  // namespace

void check_npy(ByteView file) {
  const NpyHeader header = read_header(file);
  const std::uint64_t count = item_count(value_of(header.dictionary, "'shape'"));
  const std::uint64_t wanted = multiplied(count, item_size(value_of(header.dictionary, "'descr'")));
  const std::uint64_t have = file.size() - header.data_offset;
  if (have == wanted) return;
  fail(have < wanted ? Code::truncated : Code::corrupt,
       "NumPy: {} bytes of data, and by its header there should be {}", have, wanted);
}

}  // namespace prep
