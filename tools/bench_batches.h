// Batches that several workers fill, as a loader hands them to a GPU.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace prep {

// A few batches' memory, used in turn. Whoever takes a place fills it; a batch whose places are all
// filled is handed over at once, so that its memory is free again.
class BatchRing {
 public:
  BatchRing(std::size_t batch, std::size_t item_bytes);

  struct Place {
    std::uint8_t* memory = nullptr;
    std::uint64_t number = 0;
  };
  // Waits while the batch that had this memory before is not full.
  Place take();
  // `now`, in seconds, is noted if this makes the batch full.
  void fill(const Place& place, double now);
  // When each batch was full, in the order in which that happened.
  const std::vector<double>& ready() const { return ready_; }

 private:
  static constexpr std::size_t kBatches = 3;

  const std::size_t batch_, item_bytes_;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t taken_ = 0;
  std::array<std::size_t, kBatches> filled_{};  // places of the batch that has the memory now
  std::array<std::uint64_t, kBatches> current_{0, 1, 2};  // which batch that is
  std::vector<double> ready_;
};

}  // namespace prep
