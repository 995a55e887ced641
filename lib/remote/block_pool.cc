#include "lib/remote/block_pool.h"

#include <utility>

namespace prep {

std::unique_ptr<std::uint8_t[]> BlockPool::take(const std::function<void()>& wake) {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    auto data = std::move(free_.back());  // the last used: it is still in the cache
    free_.pop_back();
    return data;
  }
  if (left_ > 0) {
    --left_;
    return std::make_unique_for_overwrite<std::uint8_t[]>(kBlockSize);
  }
  waiting_.push_back(wake);
  return nullptr;
}

void BlockPool::give_back(std::unique_ptr<std::uint8_t[]> data) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(data));
    if (waiting_.empty()) return;
    wake = std::move(waiting_.front());
    waiting_.pop_front();
  }
  wake();
}

}  // namespace prep
