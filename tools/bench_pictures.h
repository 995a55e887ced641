// The pictures of samples, as benchmarks want them: found by their first bytes, within limits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/sample.h"
#include "lib/image/format.h"

namespace prep {

struct PictureLimits {
  std::int64_t max_pixels = 256'000'000;
  int max_scans = 100;
};

struct BenchPicture {
  std::string key, origin;
  image::Format format = image::Format::unknown;
  // 8 bits, grey, YCbCr or RGB, with chroma subsampled in an ordinary way: a JPEG that every
  // decoder takes.
  bool is_plain_jpeg = false;
  int width = 0, height = 0;  // as stored
  Bytes data;
  std::shared_ptr<const Content> content;  // to read it from the disk again; null: cannot be
  std::string path;                        // of a picture that is a file of its own; else ""

  double megapixels() const { return static_cast<double>(width) * height / 1e6; }
};

// Looks at the header. throws Error unsupported for a format that no decoder here takes (the
// message is its name: "GIF"), limit, corrupt, truncated; messages do not name the file.
BenchPicture describe_picture(Bytes data, const PictureLimits& limits);

// Reads a sample's parts in turn up to the first that is a picture. throws Error as above, with the
// file's name; empty where there is no picture.
BenchPicture load_picture(const Sample& sample, const PictureLimits& limits);

// "JPEG", "other JPEG" (CMYK and the like), "PNG", ….
std::string set_name(const BenchPicture& picture);

// SHA-256 of the pictures' bytes, in their order.
std::string data_digest(const std::vector<BenchPicture>& pictures);

}  // namespace prep
