#include "tools/bench_variants.h"

#include "lib/image/recompress.h"
#include "lib/image/resize.h"

namespace prep {

const std::vector<std::string> kVariants{"raw", "resized", "recompressed", "both"};

struct VariantMaker::Tools {
  image::Resizer resizer{image::ResizeOptions()};
  image::Recompressor recompressor{image::RecompressOptions()};
};

VariantMaker::VariantMaker() : tools_(std::make_unique<Tools>()) {}
VariantMaker::~VariantMaker() = default;

Bytes VariantMaker::make(const std::string& variant, const Bytes& jpeg) {
  if (variant == "raw") return jpeg;
  if (variant == "resized") return tools_->resizer.resize(jpeg).data;
  if (variant == "recompressed") return tools_->recompressor.recompress(jpeg).data;
  return tools_->recompressor.recompress(tools_->resizer.resize(jpeg).data).data;
}

}  // namespace prep
