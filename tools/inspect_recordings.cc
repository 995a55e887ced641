#include "tools/inspect_recordings.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/shared_work.h"
#include "lib/core/unnamed_file.h"
#include "lib/measure/calibrated_sample.h"
#include "lib/signal/spectrogram.h"
#include "tools/bench_threads.h"
#include "tools/inspect_pictures.h"
#include "tools/recording_source.h"
#include "tools/reopened.h"
#include "tools/spectrogram_options.h"

namespace prep {
namespace {

constexpr std::uint64_t kPiece = 8 << 20;

class OneSample final : public Source {
 public:
  explicit OneSample(Sample sample) : sample_(std::move(sample)) {}
  bool next(Sample& sample) override {
    if (!sample_) return false;
    sample = std::move(*sample_);
    sample_.reset();
    return true;
  }

 private:
  std::optional<Sample> sample_;
};

struct TriedRecording {
  bool is_measured = false;
  std::optional<Error> error;
  std::uint64_t channels = 0;
  double rate = 0, seconds = 0;  // of signal
  double recording_bytes = 0, array_bytes = 0, make_seconds = 0, load_seconds = 0;
};

constexpr char kScratch[] = "a temporary file in $TMPDIR";

// CPU seconds for reading an array's bytes out of a file, as a loader would.
double time_of_loading(const Content& array) {
  const Fd file = open_unnamed_file();
  const std::uint64_t size = array.size();
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    write_fully(file.get(), array.read(at, kPiece).view(), kScratch);
  }
  std::vector<std::uint8_t> buffer(std::min(size, kPiece));
  const double start = thread_cpu_seconds();
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    pread_fully(file.get(), buffer.data(), std::min(size - at, kPiece), at, kScratch);
  }
  return thread_cpu_seconds() - start;
}

class RecordingTrialRun {
 public:
  RecordingTrialRun(const Survey& survey, const SurveyOptions& options)
      : survey_(survey), options_(options) {
    SpectrogramOptions words;
    const signal::SpectrogramSettings settings = words.settings();
    recording_options_ = words.recordings(settings);
    maker_.emplace(settings, signal::SpectrogramExtras{});
    std::uint64_t bytes = 0;
    for (const ChosenSample& chosen : survey.chosen) {
      std::uint64_t of_sample = 0;
      for (const PartFacts& facts : chosen.facts) {
        if (facts.kind == PartFacts::Kind::recording) of_sample += facts.bytes;
      }
      if (of_sample == 0) continue;
      if (bytes >= kMostTriedBytes) {
        is_limited_ = true;
        break;
      }
      bytes += of_sample;
      samples_.push_back(&chosen);
      known_.push_back({static_cast<double>(of_sample), 1});
    }
    tried_.resize(samples_.size());
  }

  void run(JobSlots& slots) {
    Crew(&slots).run(samples_.size(), [this](std::size_t i) {
      try {
        try_sample(*samples_[i], tried_[i]);
      } catch (const Error& error) {
        if (error.code() == Code::interrupted) throw;
        tried_[i].error = error;
      }
    });
  }

  RecordingTrial results(Reporter& reporter) const {
    RecordingTrial trial;
    trial.is_limited = is_limited_;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      const TriedRecording& one = tried_[i];
      if (one.error) {
        ++trial.bad;
        report_bad(reporter, samples_[i]->sample, *one.error);
      } else if (one.is_measured) {
        describe(one, trial);
      }
    }
    project(trial);
    return trial;
  }

 private:
  void try_sample(const ChosenSample& chosen, TriedRecording& tried) {
    const double start = thread_cpu_seconds();
    double loading = 0;
    const auto source = make_recording_source(std::make_unique<OneSample>(reopened(chosen.sample)),
                                              recording_options_);
    for (Sample sample; source->next(sample); sample = Sample()) {
      if (sample.fault) throw *sample.fault;
      for (const Part& part : sample.parts) {
        const auto promised = std::dynamic_pointer_cast<const PromisedContent>(part.content);
        if (!promised || promised->kind() != PromisedContent::Kind::array) continue;
        const std::shared_ptr<const Content> array = make(promised->promise(), tried);
        if (!array) continue;
        const double before = thread_cpu_seconds();
        tried.array_bytes += static_cast<double>(array->size());
        tried.load_seconds += time_of_loading(*array);
        loading += thread_cpu_seconds() - before;
        tried.is_measured = true;
      }
    }
    tried.make_seconds = thread_cpu_seconds() - start - loading;
    for (const PartFacts& facts : chosen.facts) {
      if (facts.kind == PartFacts::Kind::recording) {
        tried.recording_bytes += static_cast<double>(facts.bytes);
      }
    }
  }

  std::shared_ptr<const Content> make(const ArrayPromise& promise, TriedRecording& tried) {
    if (promise.error) throw *promise.error;
    if (!promise.skip_reason.empty()) return nullptr;
    const signal::PreparedSignal& signal = *promise.signal;
    const double rate = signal.plan().rate;
    tried.channels = signal.recording().info().channels.size();
    tried.rate = rate;
    tried.seconds += static_cast<double>(promise.cut.samples.size()) / rate;
    try {
      return maker_
          ->make(*promise.signal, promise.cut.samples, recording_options_.epochs.outside, Crew(),
                 promise.origin->text, promise.origin->mtime_ns)
          .array;
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      throw Error(error.code(), printable(promise.origin->text) + ": " + error.what());
    }
  }

  static void describe(const TriedRecording& one, RecordingTrial& trial) {
    const auto widen = [&](auto& least, auto& most, auto value) {
      least = trial.tried == 0 ? value : std::min(least, value);
      most = trial.tried == 0 ? value : std::max(most, value);
    };
    widen(trial.least_channels, trial.most_channels, one.channels);
    widen(trial.least_rate, trial.most_rate, one.rate);
    widen(trial.shortest, trial.longest, one.seconds);
    ++trial.tried;
  }

  void project(RecordingTrial& trial) const {
    std::vector<Auxiliaries> rows;
    std::vector<double> hours, recordings, arrays, make, load;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      const TriedRecording& one = tried_[i];
      if (one.error || !one.is_measured) continue;
      rows.push_back(known_[i]);
      hours.push_back(one.seconds / 3600);
      recordings.push_back(one.recording_bytes);
      arrays.push_back(one.array_bytes);
      make.push_back(one.make_seconds);
      load.push_back(one.load_seconds);
    }
    if (rows.empty()) return;
    const measure::CalibratedSample sample(
        rows, survey_.recording_totals,
        std::max<std::uint64_t>(survey_.recording_samples, rows.size()), options_.seed);
    trial.hours = sample.total(hours);
    trial.array_bytes = sample.total(arrays);
    trial.array_ratio = sample.ratio(arrays, recordings);
    trial.make_seconds = sample.total(make);
    trial.load_seconds = sample.total(load);
  }

  const Survey& survey_;
  const SurveyOptions& options_;
  RecordingOptions recording_options_;
  std::optional<signal::SpectrogramMaker> maker_;
  bool is_limited_ = false;
  std::vector<const ChosenSample*> samples_;
  std::vector<Auxiliaries> known_;
  std::vector<TriedRecording> tried_;
};

}  // namespace

RecordingTrial try_recordings(const RunContext& run, const Survey& survey,
                              const SurveyOptions& options) {
  RecordingTrialRun trial(survey, options);
  trial.run(run.slots);
  return trial.results(run.reporter);
}

}  // namespace prep
