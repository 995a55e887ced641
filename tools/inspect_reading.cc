#include "tools/inspect_reading.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "lib/core/interrupt.h"
#include "lib/measure/calibrated_sample.h"
#include "lib/measure/machine.h"
#include "tools/bench_inputs.h"
#include "tools/bench_page_cache.h"
#include "tools/bench_threads.h"
#include "tools/reopened.h"

namespace prep {
namespace {

// More than that in memory after they were dropped, and what was measured is memory.
constexpr double kMostInMemory = 0.05;

std::string temporary_directory() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/var/tmp";
}

// A name that nobody else has, removed on every way out.
class TemporaryTar {
 public:
  TemporaryTar()
      : path_(join_path(temporary_directory(), fmt::format(".prep-inspect-{}.tar", getpid()))),
        guard_(path_) {}
  ~TemporaryTar() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const RemoveOnSignal guard_;
};

std::uint64_t read_all(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Part& part : sample.parts) bytes += part.content->load().size();
  return bytes;
}

std::vector<Sample> samples_to_read(const Survey& survey) {
  std::vector<Sample> samples;
  std::uint64_t bytes = 0;
  for (const ChosenSample& chosen : survey.chosen) {
    if (bytes >= kMostReadBytes) break;
    for (const PartFacts& facts : chosen.facts) bytes += facts.bytes;
    samples.push_back(chosen.sample);
  }
  return samples;
}

bool drop(const CachedFiles& files) {
  files.drop();
  return files.share_in_memory().value_or(1) <= kMostInMemory;
}

class ReadingTrialRun {
 public:
  ReadingTrialRun(const RunContext& run, const Survey& survey, const SurveyOptions& options)
      : run_(run), survey_(survey), options_(options), samples_(samples_to_read(survey)) {}

  ReadingTrial measure() {
    for (const Spec& word : run_.inputs) {
      if (storage_.is_null() && word.path != "-") storage_ = measure::describe_storage(word.path);
    }
    if (!storage_.is_null()) trial_.kind = storage_["kind"].get<std::string>();
    read_as_it_lies();
    const std::vector<BenchInput> inputs = group_inputs(run_);
    const bool is_loose = std::all_of(inputs.begin(), inputs.end(), [](const BenchInput& input) {
      return input.kind == BenchInput::Kind::loose_files;
    });
    if (is_loose && trial_.samples > 1) read_packed();
    return trial_;
  }

 private:
  // In the order of their ranks, which is a random one.
  void read_as_it_lies() {
    CachedFiles files;
    files.add(samples_);
    trial_.is_cold = drop(files);
    std::vector<double> seconds;
    std::vector<Auxiliaries> known;
    for (const Sample& sample : samples_) {
      check_interrupt();
      const Sample fresh = reopened(sample);
      const double start = wall_seconds();
      const std::uint64_t bytes = read_all(fresh);
      seconds.push_back(wall_seconds() - start);
      known.push_back({1, static_cast<double>(bytes)});
      trial_.bytes += bytes;
      ++trial_.samples;
    }
    const measure::CalibratedSample sample(
        known,
        std::vector{static_cast<double>(survey_.samples), static_cast<double>(survey_.bytes)},
        std::max<std::uint64_t>(survey_.samples, known.size()), options_.seed);
    trial_.seconds = sample.total(seconds);
  }

  void read_packed() {
    const TemporaryTar tar;
    const Spec spec{SpecKind::tar, tar.path(), tar.path()};
    const auto sink = run_.containers.open_sink(spec, run_.sink_options);
    for (const Sample& sample : samples_) {
      check_interrupt();
      const Sample fresh = reopened(sample);
      try {
        sink->check(fresh);
        sink->put(fresh);
      } catch (const Error& error) {
        // A name that a tar can't have: the others tell enough.
        if (error.code() != Code::name && error.code() != Code::duplicate) throw;
      }
    }
    sink->commit();
    const auto [bytes, seconds] = read_tar(spec, tar.path());
    if (bytes == 0) return;
    trial_.has_packed = true;
    trial_.packed_seconds =
        seconds * static_cast<double>(survey_.bytes) / static_cast<double>(bytes);
    const nlohmann::ordered_json there = measure::describe_storage(tar.path());
    trial_.is_same_storage = !storage_.is_null() && storage_["device"] == there["device"] &&
                             storage_["file_system"] == there["file_system"];
  }

  // Bytes and seconds.
  std::pair<std::uint64_t, double> read_tar(const Spec& spec, const std::string& path) {
    CachedFiles files;
    files.add(path);
    trial_.is_cold &= drop(files);
    std::uint64_t bytes = 0;
    const double start = wall_seconds();
    const auto source = run_.containers.open_source({spec}, SourceOptions());
    for (Sample sample; source->next(sample); sample = Sample()) {
      check_interrupt();
      bytes += read_all(sample);
    }
    return {bytes, wall_seconds() - start};
  }

  const RunContext& run_;
  const Survey& survey_;
  const SurveyOptions& options_;
  const std::vector<Sample> samples_;
  nlohmann::ordered_json storage_;
  ReadingTrial trial_;
};

}  // namespace

ReadingTrial try_reading(const RunContext& run, const Survey& survey,
                         const SurveyOptions& options) {
  if (!survey.is_rereadable || survey.chosen.empty()) return {};
  return ReadingTrialRun(run, survey, options).measure();
}

}  // namespace prep
