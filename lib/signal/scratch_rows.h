// Rows of doubles that may be larger than memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace prep::signal {

// Small ones are in memory, large ones in a mapped temporary file in $TMPDIR, whose pages the
// kernel can write out. Different threads may use different rows.
class ScratchRows {
 public:
  // throws Error io where there is no room.
  explicit ScratchRows(const std::vector<std::size_t>& lengths);
  ScratchRows(const ScratchRows&) = delete;
  ScratchRows& operator=(const ScratchRows&) = delete;
  ~ScratchRows();

  std::span<double> row(std::size_t index) const {
    return {data_ + offsets_[index], offsets_[index + 1] - offsets_[index]};
  }
  // These values are not needed soon: a file's pages stop counting as memory of this process.
  void put_away(std::span<const double> values) const;

 private:
  void map_file(std::size_t bytes);

  std::vector<std::size_t> offsets_;
  std::unique_ptr<double[]> memory_;
  double* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace prep::signal
