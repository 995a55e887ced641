#include "lib/remote/secret_file.h"

#include <fcntl.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

constexpr std::size_t kMaxFile = 64 << 10;
constexpr const char* kBlanks = " \t\r\n";

}  // namespace

std::string read_secret_file(const std::string& path) {
  const Fd fd = open_file(path, O_RDONLY);
  std::string text(kMaxFile + 1, '\0');
  text.resize(
      read_fully(fd.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(), path));
  if (text.size() > kMaxFile) {
    fail(Code::limit, "{} has more than {} kB: it is no token", printable(path), kMaxFile >> 10);
  }
  text.erase(text.find_last_not_of(kBlanks) + 1);
  text.erase(0, text.find_first_not_of(kBlanks));
  if (text.empty()) fail(Code::corrupt, "{}: there is no token in it", printable(path));
  if (!fits_header(text)) fail(Code::corrupt, "{}: it is more than a token", printable(path));
  return text;
}

bool fits_header(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= ' ' && c != 0x7f; });
}

}  // namespace prep
