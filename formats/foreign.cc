#include "formats/foreign.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "formats/tar_header.h"
#include "formats/tfrecord_record.h"

namespace prep {
namespace {

struct Magic {
  std::string_view bytes;
  std::string_view what;
};
constexpr std::array<Magic, 20> kMagics{{
    {"\xFF\xD8\xFF", "a JPEG image"},
    {"\x89PNG\r\n", "a PNG image"},
    {"GIF8", "a GIF image"},
    {"RIFF", "a RIFF file (WebP, WAV or AVI)"},
    {"II*", "a TIFF image"},
    {{"MM\0*", 4}, "a TIFF image"},
    {"PK\3\4", "a zip archive; unpack it, or convert it with bsdtar: bsdtar -cf x.tar @x.zip"},
    {"\x1F\x8B", "gzip data, once more inside; decompress it first"},
    {"\x28\xB5\x2F\xFD", "zstd data, once more inside; decompress it first"},
    {"\xFD"
     "7zXZ",
     "xz data; decompress it first: xz -dc FILE | …"},
    {"BZh", "bzip2 data; decompress it first: bzip2 -dc FILE | …"},
    {"\x04\x22\x4D\x18", "lz4 data; decompress it first: lz4 -dc FILE | …"},
    {"7z\xBC\xAF", "a 7-Zip archive; unpack it first"},
    {"Rar!", "a RAR archive; unpack it first"},
    {"\x89HDF", "an HDF5 file"},
    {"\x93NUMPY", "a NumPy file"},
    {"PAR1", "a Parquet file"},
    {"%PDF", "a PDF file"},
    {"version https://git-lfs", "a Git LFS pointer, not the file itself; run 'git lfs pull'"},
    {"v1.2 ", "a DALI index; give the tar that it belongs to"},
}};

// Lower case, without a byte order mark and white space before it.
std::string leading_markup(ByteView head) {
  std::string_view text = as_text(head);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string lower(text.substr(0, 16));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_tar(ByteView head) {
  return head.size() >= kTarBlock && has_tar_checksum(head.first(kTarBlock));
}

}  // namespace

std::string_view describe_foreign(ByteView head) {
  for (const Magic& magic : kMagics) {
    if (as_text(head).starts_with(magic.bytes)) return magic.what;
  }
  if (parse_tfrecord_header(head)) return "a TFRecord; name it with tfrecord: before its path";
  if (is_tar(head)) return "a tar; name it with tar: before its path";
  const std::string markup = leading_markup(head);
  if (markup.starts_with("<!doctype") || markup.starts_with("<html")) {
    return "a web page (HTML), probably a server's error message; download it again";
  }
  if (markup.starts_with("<?xml") || markup.starts_with("<error>")) {
    return "XML, probably a server's error message; download it again";
  }
  if (markup.starts_with('{') && markup.find('"') != std::string::npos) {
    return "JSON, probably a server's error message; download it again";
  }
  return "";
}

std::string resemblance(ByteView head) {
  const std::string_view what = describe_foreign(head);
  return what.empty() ? "" : " (it is " + std::string(what) + ")";
}

}  // namespace prep
