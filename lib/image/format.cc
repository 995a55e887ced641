#include "lib/image/format.h"

#include <algorithm>
#include <array>

namespace prep::image {
namespace {

using std::string_view_literals::operator""sv;

struct Row {
  Format format;
  std::string_view name;
  std::array<std::string_view, 5> extensions;  // the first is the one that we write
};

constexpr Row kRows[] = {
    {Format::jpeg, "JPEG", {"jpg", "jpeg", "jpe", "jfif", "jif"}},
    {Format::png, "PNG", {"png", "apng"}},
    {Format::webp, "WebP", {"webp"}},
    {Format::tiff, "TIFF", {"tif", "tiff"}},
    {Format::bmp, "BMP", {"bmp", "dib"}},
    {Format::gif, "GIF", {"gif"}},
    {Format::bigtiff, "BigTIFF", {"tif", "tiff", "btf", "tf8"}},
    {Format::heic, "HEIC", {"heic", "heif", "hif"}},
    {Format::avif, "AVIF", {"avif"}},
    {Format::jxl, "JPEG XL", {"jxl"}},
    {Format::jpeg2000, "JPEG 2000", {"jp2", "j2k", "jpf", "j2c", "jpx"}},
};

const Row* find_row(Format format) {
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](auto& r) { return r.format == format; });
  return row == std::end(kRows) ? nullptr : row;
}

// "BM" alone would catch many a text: the header's size must be one that exists.
bool is_bmp(std::string_view head) {
  if (!head.starts_with("BM") || head.size() < 18) return false;
  static constexpr std::uint8_t kHeaderSizes[] = {12, 16, 40, 52, 56, 64, 108, 124};
  const auto size = static_cast<std::uint8_t>(head[14]);
  return std::find(std::begin(kHeaderSizes), std::end(kHeaderSizes), size) !=
             std::end(kHeaderSizes) &&
         head.substr(15, 3) == "\0\0\0"sv;
}

// ISO base media files: the size of the first box, "ftyp", the major brand, the minor version and
// the compatible brands. "mif1" and "msf1" only say that it is a HEIF of some codec.
Format sniff_ftyp(std::string_view head) {
  if (head.size() < 12 || head.substr(4, 4) != "ftyp") return Format::unknown;
  for (std::size_t at = 8; at + 4 <= std::min<std::size_t>(head.size(), 32); at += 4) {
    const std::string_view brand = head.substr(at, 4);
    if (brand == "avif" || brand == "avis") return Format::avif;
    if (brand == "heic" || brand == "heix" || brand == "hevc" || brand == "heim") {
      return Format::heic;
    }
  }
  const std::string_view major = head.substr(8, 4);
  return major == "mif1" || major == "msf1" ? Format::heic : Format::unknown;
}

}  // namespace

Format sniff(ByteView bytes) {
  const std::string_view head = as_text(bytes.first(std::min<std::size_t>(bytes.size(), 32)));
  if (head.starts_with("\xff\xd8\xff")) return Format::jpeg;
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return Format::png;
  if (head.starts_with("RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") {
    return Format::webp;
  }
  if (head.starts_with("II*\0"sv) || head.starts_with("MM\0*"sv)) return Format::tiff;
  if (head.starts_with("II+\0"sv) || head.starts_with("MM\0+"sv)) return Format::bigtiff;
  if (head.starts_with("GIF87a") || head.starts_with("GIF89a")) return Format::gif;
  if (head.starts_with("\xff\x0a") || head.starts_with("\0\0\0\x0cJXL \r\n\x87\n"sv)) {
    return Format::jxl;
  }
  if (head.starts_with("\0\0\0\x0cjP  \r\n\x87\n"sv) || head.starts_with("\xff\x4f\xff\x51")) {
    return Format::jpeg2000;
  }
  if (is_bmp(head)) return Format::bmp;
  return sniff_ftyp(head);
}

std::string_view name(Format format) {
  const Row* row = find_row(format);
  return row ? row->name : "unknown";
}

std::string_view extension(Format format) {
  const Row* row = find_row(format);
  return row ? row->extensions[0] : "";
}

bool has_extension(Format format, std::string_view ext) {
  const Row* row = find_row(format);
  if (!row || ext.empty()) return false;
  const auto same = [&](std::string_view known) {
    return std::equal(ext.begin(), ext.end(), known.begin(), known.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  };
  return std::any_of(row->extensions.begin(), row->extensions.end(), same);
}

}  // namespace prep::image
