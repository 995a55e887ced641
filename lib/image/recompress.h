// A JPEG at a lower quality, without going through pixels: its DCT coefficients are requantised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/bytes.h"

namespace prep::image {

struct RecompressOptions {
  int quality = 70;  // 1 to 100, libjpeg's scaling of the standard tables
  // Where chroma has less than its full resolution, s444 takes the way through pixels.
  enum class Subsampling { keep, s420, s444 } subsampling = Subsampling::s420;
  // dct: coefficients to coefficients; pixel: decoded planes, encoded again; automatic: dct where
  // it can be, else pixel.
  enum class Method { automatic, dct, pixel } method = Method::automatic;
  bool progressive = false;
  bool optimize = true;         // Huffman tables made for the image
  bool rate_distortion = true;  // dct: coefficients are dropped that cost more than they are worth
  bool strip_all = true;        // keep nothing but ICC and the orientation; else all markers stay
  // A result that is not smaller by this share is dropped. Metadata don't count: what is left out
  // of them is taken off the source's size first.
  double min_gain = 0.05;
  // The lowest quality whose luma has this SSIM (see ssim.h) against the source's; `quality` is
  // then not looked at. What is recompressed so can be so again: there is no mark of it in the
  // file.
  std::optional<double> target_ssim;
  std::int64_t max_pixels = 256'000'000;
  int max_scans = 100;
  // throws Error usage.
  void validate() const;
};

struct RecompressResult {
  enum class Kind {
    recompressed,  // `data` is new
    copied,        // `data` is the input, byte for byte; `reason` says why
  } kind = Kind::recompressed;
  Bytes data;
  std::string reason;  // "at or below the target quality already", "not 5 % smaller", "CMYK", …
  int source_quality = 0;  // estimated, 1 to 100; 0 if it can't be
  int quality = 0;         // of `data`, likewise
  // Bytes of thumbnails, maker notes, trailing data that `data` lacks; 0 if copied.
  std::size_t metadata_dropped = 0;
  std::vector<std::string> warnings;
};

// Holds the scratch memory of one worker thread; not to be shared between threads.
class Recompressor {
 public:
  explicit Recompressor(const RecompressOptions& options);
  ~Recompressor();
  // Every JPEG is read to its end, those that are copied too, but for what libjpeg can't read. One
  // that libjpeg had to mend is written anew, whatever its quality and the gain.
  // throws Error (truncated, corrupt, unsupported, limit, empty); the message doesn't name the
  // file.
  RecompressResult recompress(const Bytes& input);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace prep::image
