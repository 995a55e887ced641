// Whether the parts of samples are what they should be, to their last byte: pictures, arrays, JSON,
// labels.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/verify_payload.h"
#include "lib/core/spares.h"
#include "lib/image/format.h"

namespace prep {

struct PictureLimits {
  std::int64_t max_pixels = 256'000'000;
  int max_scans = 100;
};

class PartChecker final : public PayloadChecker {
 public:
  explicit PartChecker(const PictureLimits& limits);
  ~PartChecker() override;
  void check(std::string_view part, const Bytes& bytes, std::vector<Fault>& faults) const override;

 private:
  void check_part(std::string_view part, const Bytes& bytes, std::vector<Fault>& faults) const;
  void check_picture(image::Format format, const Bytes& bytes, std::vector<Fault>& faults) const;
  struct Scratch;
  void decode_jpeg(const Bytes& bytes, Scratch& scratch, std::vector<std::string>& warnings) const;
  void decode_raster(image::Format format, const Bytes& bytes, Scratch& scratch,
                     std::vector<std::string>& warnings) const;
  void check_pixels(int width, int height) const;

  const PictureLimits limits_;
  mutable Spares<Scratch> scratches_;
};

}  // namespace prep
