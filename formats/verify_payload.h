// What the checks of a container hand on: the bytes of parts, to somebody who knows what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/core/error.h"

namespace prep {

class PayloadChecker {
 public:
  struct Fault {
    bool is_error;  // else a warning
    Code code;
    std::string message;
  };
  virtual ~PayloadChecker() = default;
  // Adds what is wrong with a part. `part` is its name in a tar or the feature's in a TFRecord; the
  // bytes are only there during the call. Called from many threads.
  virtual void check(std::string_view part, const Bytes& bytes,
                     std::vector<Fault>& faults) const = 0;
};

// Which samples of a shard are looked into: `count` of them, or all, evenly spread over its bytes
// and always the same ones.
class SampleChoice {
 public:
  // `count` 0: all. `size` is the shard's; where it is not known (UINT64_MAX), the first samples
  // are taken.
  SampleChoice(std::uint64_t count, std::uint64_t size) : count_(count), size_(size) {}

  // Whether the sample that begins at `offset` is one of them; ask once a sample, in order.
  bool takes(std::uint64_t offset);

 private:
  std::uint64_t target() const;

  std::uint64_t count_, size_;
  std::uint64_t taken_ = 0;  // targets that are behind
};

// How far a check goes into the samples.
struct PayloadOptions {
  const PayloadChecker* checker = nullptr;  // null: it doesn't
  std::uint64_t samples = 0;                // of a shard that the checker gets; 0: all
  bool count_labels = true;                 // reads the classes of samples, "cls"
};

// The largest part that is taken into memory for a checker.
inline constexpr std::uint64_t kMaxCheckedPayload = std::uint64_t{1} << 30;

}  // namespace prep
