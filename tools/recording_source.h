// A source that finds the recordings in another one's samples, and gives a sample for each array
// that will be made: one a recording, or one an epoch.
//
// In place of a recording's parts its sample has those that will be written: "npy", "spec.json"
// and, with a preview, "png". Their contents are promises; the stage makes the arrays. All other
// parts (labels) travel along to every epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/stream.h"
#include "lib/signal/epochs.h"
#include "lib/signal/prepared_signal.h"
#include "lib/signal/recording.h"
#include "lib/signal/spectrogram_settings.h"
#include "tools/stale_epochs.h"

namespace prep {

// What all arrays of one recording have in common.
struct RecordingOrigin {
  std::string part;                                      // the name of its main part
  std::vector<std::shared_ptr<const Content>> contents;  // of all its parts, the main one first
  std::string text;                                      // for messages: where that one is
  std::int64_t mtime_ns = 0;                             // of the newest
  std::uint64_t bytes = 0, resident_bytes = 0;
};

// What an array is to be made of.
struct ArrayPromise {
  std::shared_ptr<const RecordingOrigin> origin;
  std::shared_ptr<signal::PreparedSignal> signal;
  signal::Cut cut;
  std::optional<std::size_t> number;  // of the epoch, or of the segment where there are gaps
  std::shared_ptr<const std::vector<std::string>> warnings;  // of the recording, and of its plan
  // Otherwise nothing is made, for a reason that is no fault, or because of one.
  std::string skip_reason;
  std::optional<Error> error;
};

class PromisedContent final : public Content {
 public:
  enum class Kind { array, description, preview };

  // `size` and `resident` are the array's share of the recording's bytes.
  PromisedContent(Kind kind, std::shared_ptr<const ArrayPromise> promise, std::uint64_t size,
                  std::uint64_t resident)
      : kind_(kind), promise_(std::move(promise)), size_(size), resident_(resident) {}

  Kind kind() const { return kind_; }
  const ArrayPromise& promise() const { return *promise_; }

  std::uint64_t size() const override { return size_; }
  Bytes read(std::uint64_t, std::uint64_t) const override;
  std::int64_t mtime_ns() const override { return promise_->origin->mtime_ns; }
  std::uint64_t resident_bytes() const override { return resident_; }
  bool is_file(const struct stat& st) const override;
  std::string origin() const override { return promise_->origin->text; }

 private:
  const Kind kind_;
  const std::shared_ptr<const ArrayPromise> promise_;
  const std::uint64_t size_, resident_;
};

struct RecordingOptions {
  signal::OpenOptions open;
  signal::SignalSettings signal;
  signal::EpochSettings epochs;
  // The names of parts that are recordings. Empty: all that are, but .npy and CSV only in samples
  // without any of another format, where they are labels.
  std::vector<std::string> parts;
  bool preview = false;
  std::optional<StaleEpochs> stale;  // not where nothing must be removed
};

// throws Error(usage) for a pattern of events that is none.
std::unique_ptr<Source> make_recording_source(std::unique_ptr<Source> samples,
                                              RecordingOptions options);

}  // namespace prep
