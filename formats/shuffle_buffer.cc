#include "formats/shuffle_buffer.h"

#include <utility>

namespace prep {

ShuffleBufferSource::ShuffleBufferSource(std::unique_ptr<Source> source, std::size_t size,
                                         std::uint64_t seed)
    : source_(std::move(source)), size_(size), state_(seed) {}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014); the upper
// half of a product in place of a remainder (Lemire 2019), whose bias is below 2^-32 here.
std::uint64_t ShuffleBufferSource::random_below(std::uint64_t limit) {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(z) * limit >> 64);
}

bool ShuffleBufferSource::next(Sample& sample) {
  while (!ended_ && buffer_.size() < size_) {
    Sample one;
    ended_ = !source_->next(one);
    if (!ended_) buffer_.push_back(std::move(one));
  }
  if (buffer_.empty()) return false;
  std::swap(buffer_[random_below(buffer_.size())], buffer_.back());
  sample = std::move(buffer_.back());
  buffer_.pop_back();
  return true;
}

}  // namespace prep
