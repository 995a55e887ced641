#include "formats/verify_payload.h"

namespace prep {

// The byte with which the next sample that is taken begins, at the earliest.
std::uint64_t SampleChoice::target() const {
  return static_cast<std::uint64_t>(static_cast<double>(size_) * static_cast<double>(taken_) /
                                    static_cast<double>(count_));
}

bool SampleChoice::takes(std::uint64_t offset) {
  if (count_ == 0) return true;
  if (taken_ == count_) return false;
  if (size_ == UINT64_MAX) {
    ++taken_;
    return true;
  }
  if (offset < target()) return false;
  // A sample may be longer than the distance between two targets.
  while (taken_ < count_ && target() <= offset) ++taken_;
  return true;
}

}  // namespace prep
