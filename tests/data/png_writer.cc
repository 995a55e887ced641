#include "tests/data/png_writer.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

#include "tests/data/byte_string.h"

namespace prep::testdata {
namespace {

class Deflater {
 public:
  Deflater() {
    if (deflateInit(&stream_, Z_BEST_COMPRESSION) != Z_OK) throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(std::string_view data) { run(data, Z_NO_FLUSH); }
  std::string finish() {
    run({}, Z_FINISH);
    return std::move(result_);
  }

 private:
  void run(std::string_view data, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    char buffer[16384];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof(buffer);
      deflate(&stream_, flush);
      result_.append(buffer, sizeof(buffer) - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::string result_;
};

PngColour colour_of(int channels) {
  constexpr PngColour kColours[] = {PngColour::grey, PngColour::grey_alpha, PngColour::rgb,
                                    PngColour::rgb_alpha};
  return kColours[channels - 1];
}

}  // namespace

std::string png_chunk(std::string_view type, std::string_view payload) {
  std::string body(type);
  body += payload;
  const auto* bytes = reinterpret_cast<const Bytef*>(body.data());
  const uLong crc = crc32(0, bytes, static_cast<uInt>(body.size()));
  return big_endian(payload.size(), 4) + body + big_endian(crc, 4);
}

std::string png_deflated_chunk(std::string_view type, std::string_view name,
                               std::string_view content) {
  Deflater deflater;
  deflater.add(content);
  std::string payload(name);
  payload += std::string(2, '\0');  // the name's end; method 0
  payload += deflater.finish();
  return png_chunk(type, payload);
}

std::string encode_png(int width, int height, const PngOptions& options,
                       const std::function<std::string(int y)>& row) {
  Deflater deflater;
  for (int y = 0; y < height; ++y) {
    deflater.add({"\0", 1});  // filter type "none"
    deflater.add(row(y));
  }
  std::string header = big_endian(width, 4);
  header += big_endian(height, 4);
  header += static_cast<char>(options.depth);
  header += static_cast<char>(options.colour);
  header += std::string(3, '\0');  // deflate, adaptive filtering, not interlaced
  std::string png = "\x89PNG\r\n\x1a\n";
  png += png_chunk("IHDR", header);
  png += options.chunks;
  png += png_chunk("IDAT", deflater.finish());
  png += png_chunk("IEND", "");
  return png;
}

std::string encode_png(const Picture& picture, std::string_view chunks) {
  const PngOptions options{colour_of(picture.channels), 8, std::string(chunks)};
  return encode_png(picture.width, picture.height, options, [&](int y) {
    return std::string(reinterpret_cast<const char*>(picture.at(0, y)),
                       static_cast<std::size_t>(picture.width) * picture.channels);
  });
}

std::string encode_png16(const Picture& picture, int low_bits) {
  const PngOptions options{colour_of(picture.channels), 16, ""};
  return encode_png(picture.width, picture.height, options, [&](int y) {
    std::string row;
    for (int i = 0; i < picture.width * picture.channels; ++i) {
      const int value = std::min(257 * picture.at(0, y)[i] + low_bits, 65535);
      row += static_cast<char>(value >> 8);
      row += static_cast<char>(value & 0xff);
    }
    return row;
  });
}

}  // namespace prep::testdata
