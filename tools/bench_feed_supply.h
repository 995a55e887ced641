// Where the workers of prep-bench feed get their samples from.
#pragma once

#include <memory>

#include "lib/core/tool.h"
#include "tools/bench_feed.h"

namespace prep {

// Gives out samples again and again, as the epochs of a training do. One thread at a time.
class FeedSupply {
 public:
  virtual ~FeedSupply() = default;
  // A sample with contents of its own; false when there are no more, which a pipe has at its end.
  virtual bool next(Sample& sample) = 0;
  // Passes over the data that have begun.
  std::uint64_t passes() const { return passes_; }
  bool is_stream() const { return is_stream_; }

 protected:
  explicit FeedSupply(bool is_stream) : is_stream_(is_stream) {}
  std::uint64_t passes_ = 1;

 private:
  bool is_stream_;
};

// With `options.cold`, the files' pages are dropped first. throws Error usage where the order
// cannot be had.
std::unique_ptr<FeedSupply> make_supply(const RunContext& run, const FeedBenchOptions& options);

}  // namespace prep
