// A data set as other tools would have made it, in memory: what decoding would then cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/core/bytes.h"

namespace prep {

// "raw", "resized" (prep-resize), "recompressed" (prep-recompress), "both" (the one, then the
// other); with the tools' defaults.
extern const std::vector<std::string> kVariants;

// Makes variants of JPEGs; one a thread.
class VariantMaker {
 public:
  VariantMaker();
  ~VariantMaker();
  // throws Error where the picture can't be used; the message does not name it.
  Bytes make(const std::string& variant, const Bytes& jpeg);

 private:
  struct Tools;
  std::unique_ptr<Tools> tools_;
};

}  // namespace prep
