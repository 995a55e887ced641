// Moves samples from a source through a stage into a sink.
//
// A fixed crew of equal threads; whoever is free does the most useful thing that can be done now:
// writes the oldest sample if it is ready (one thread at a time, in the source's order), or else
// reads the next one (one at a time) and takes it through the stage (many at a time). No thread
// ever waits for a particular other one, so it works with any number of threads, which may change
// while it runs (make's jobserver lends and takes). What is in flight is bounded by number and by
// bytes; the oldest sample is always let through, however large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/core/jobs.h"
#include "lib/core/key_hash.h"
#include "lib/core/stream.h"

namespace prep {

// What became of one sample.
struct Outcome {
  enum class Kind { written, skipped, failed } kind = Kind::written;
  std::string key;
  std::string origin;   // of its first part
  Code code{};          // failed: why, and in words
  std::string message;  // failed: the error's; skipped: the reason
  Notes notes;
  std::uint64_t bytes_in = 0;  // of all parts, as read; 0 if it was skipped unread
  std::uint64_t bytes_out = 0;
};

struct PipelineOptions {
  Task task;
  bool dry_run = false;                   // nothing is checked or put
  std::size_t max_samples = 0;            // in flight; 0: 32 a thread
  std::uint64_t max_bytes = 64ull << 20;  // in flight between the steps
};

// Runs until the source ends; neither commits nor abandons. `done` is called once a sample, in
// order, by one thread at a time. throws the Error that ended the run; when that came from the
// source, all samples before it are through.
void run_pipeline(Source& source, const Stage& stage, Sink& sink, JobSlots& slots,
                  const PipelineOptions& options, const std::function<void(const Outcome&)>& done);

}  // namespace prep
