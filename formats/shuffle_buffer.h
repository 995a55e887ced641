// Shuffles a stream as far as a buffer can: for input that comes by only once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/stream.h"

namespace prep {

// Holds `size` samples, with their bytes where they are in memory, and gives away one of them,
// chosen at random, for each that comes in. The same seed and input give the same order.
class ShuffleBufferSource final : public Source {
 public:
  ShuffleBufferSource(std::unique_ptr<Source> source, std::size_t size, std::uint64_t seed);

  bool next(Sample& sample) override;
  bool unique_keys() const override { return source_->unique_keys(); }
  Tally left_out() const override { return source_->left_out(); }
  std::uint64_t expected_samples() const override { return source_->expected_samples(); }
  std::uint64_t expected_bytes() const override { return source_->expected_bytes(); }
  std::uint64_t consumed_bytes() const override { return source_->consumed_bytes(); }

 private:
  std::uint64_t random_below(std::uint64_t limit);

  const std::unique_ptr<Source> source_;
  const std::size_t size_;
  std::uint64_t state_;
  std::vector<Sample> buffer_;
  bool ended_ = false;
};

}  // namespace prep
