// One picture in, one picture out: what prep-resize does to a part.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/format.h"
#include "lib/image/resample.h"

namespace prep::image {

// keep: JPEG stays JPEG, everything else becomes PNG.
enum class OutputFormat { jpeg, png, keep };
// keep: 4:4:4 stays 4:4:4, everything else becomes 4:2:0.
enum class SubsamplingChoice { s420, s444, keep };
// srgb: pixels are converted; keep: the profile goes into the output (a CMYK one can't, its picture
// is converted); ignore: as if there were none.
enum class IccChoice { srgb, keep, ignore };

struct ResizeOptions {
  std::optional<int> short_side = 256;  // exactly one of the two is set
  std::optional<int> long_side;
  Filter filter = Filter::bilinear;
  int quality = 90;
  SubsamplingChoice subsampling = SubsamplingChoice::s420;
  OutputFormat to = OutputFormat::jpeg;
  bool enlarge = false;
  IccChoice icc = IccChoice::srgb;
  std::array<std::uint8_t, 3> background{255, 255, 255};  // under alpha, sRGB
  bool keep_exif = false;  // then the orientation tag in it is set to 1
  bool allow_truncated = false;
  std::int64_t max_pixels = 256'000'000;
  int max_scans = 100;
  int min_side = 0;       // a picture whose short side is smaller is skipped (0: off)
  double max_aspect = 0;  // long/short above this is skipped (0: off)
  // throws Error usage where the values do not go together.
  void validate() const;
};

// What a part of a sample turned out to be and became.
struct ResizeResult {
  enum class Kind {
    resized,       // `data` is new
    unchanged,     // already as wanted and sound: `data` is the input, byte for byte
    not_an_image,  // a label, a text, …: goes through untouched
    skipped,       // left out on request; `reason` says which limit
  } kind = Kind::resized;
  Bytes data;
  Format format = Format::unknown;  // of `data`
  std::string reason;
  std::vector<std::string>
      warnings;  // short, without the file's name: "trailing bytes after the image"
};

// The output's size for an upright picture of width x height. For short_side S and w <= h:
// (S, S * h / w) in integers, as torchvision's Resize; for long_side: (L * w / h, L), at least 1.
// Without `enlarge` a picture that is small enough keeps its size.
std::pair<int, int> output_size(int width, int height, const ResizeOptions& options);

// Holds the scratch memory of one worker thread; not to be shared between threads.
class Resizer {
 public:
  explicit Resizer(const ResizeOptions& options);
  ~Resizer();
  // throws Error (truncated, corrupt, unsupported, limit, empty) for a picture that can't be used;
  // the message doesn't name the file, the caller does.
  ResizeResult resize(const Bytes& input);
  // For masks and label maps: nearest neighbour, PNG in and PNG out with the same bit depth, colour
  // type and palette, every value one that the input had. Small enough files pass unchanged.
  ResizeResult resize_nearest(const Bytes& input);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace prep::image
