#include "tools/bench_batches.h"

namespace prep {

BatchRing::BatchRing(std::size_t batch, std::size_t item_bytes)
    : batch_(batch),
      item_bytes_(item_bytes),
      memory_(std::make_unique<std::uint8_t[]>(kBatches * batch * item_bytes)) {}

BatchRing::Place BatchRing::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = taken_++;
  const std::uint64_t batch = number / batch_;
  const std::size_t slot = batch % kBatches;
  changed_.wait(lock, [&] { return current_[slot] == batch; });
  return {memory_.get() + (slot * batch_ + number % batch_) * item_bytes_, number};
}

void BatchRing::fill(const Place& place, double now) {
  const std::lock_guard lock(mutex_);
  const std::size_t slot = place.number / batch_ % kBatches;
  if (++filled_[slot] < batch_) return;
  filled_[slot] = 0;
  current_[slot] += kBatches;
  ready_.push_back(now);
  changed_.notify_all();
}

}  // namespace prep
