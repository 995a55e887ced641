// prep-spectrogram: turns recordings of many channels (EEG) into spectrogram arrays.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/registry.h"
#include "lib/core/shared_work.h"
#include "lib/core/tool.h"
#include "lib/signal/spectrogram.h"
#include "lib/signal/spectrogram_json.h"
#include "lib/signal/statistics_file.h"
#include "tools/recording_source.h"
#include "tools/spectrogram_options.h"
#include "tools/spectrogram_preview.h"

namespace prep {
namespace {

using signal::Spectrogram;

class SpectrogramStage final : public Stage {
 public:
  SpectrogramStage(signal::SpectrogramSettings settings, signal::SpectrogramExtras extras,
                   signal::Outside outside)
      : maker_(std::move(settings), extras), extras_(extras), outside_(outside) {}

  // Before the run: who helps with a recording while there are threads without one of their own.
  void set_crew(Crew crew) { crew_ = crew; }
  const signal::StatisticsCollector& statistics() const { return statistics_; }
  const signal::SpectrogramSettings& settings() const { return maker_.settings(); }

  void apply(Sample& sample, Notes& notes) const override {
    std::vector<Spectrogram> gathered;
    bool any = false;
    for (std::size_t i = 0; i < sample.parts.size(); ++i) {
      const auto content =
          std::dynamic_pointer_cast<const PromisedContent>(sample.parts[i].content);
      if (!content || content->kind() != PromisedContent::Kind::array) continue;
      any = true;
      Spectrogram spectrogram = make(content->promise(), notes);
      if (!notes.skip_reason.empty()) return;
      if (extras_.statistics) {
        gathered.push_back(std::move(spectrogram));
      } else {
        deliver(content->promise(), spectrogram, sample, i, notes);
      }
    }
    if (!any) notes.counts.push_back("samples without a recording, unchanged");
    for (const Spectrogram& one : gathered) {
      statistics_.add(one.channels, one.axis.centres, *one.statistics);
    }
  }

  // An array made anew must not keep the preview that an earlier run has made of it.
  std::vector<std::string> output_names(const std::string& part) const override {
    constexpr std::string_view kDescription = "spec.json";
    if (!part.ends_with(kDescription)) return {part};
    return {part, part.substr(0, part.size() - kDescription.size()) + "png"};
  }

 private:
  Spectrogram make(const ArrayPromise& promise, Notes& notes) const {
    if (promise.error) throw *promise.error;
    notes.skip_reason = promise.skip_reason;
    if (!notes.skip_reason.empty()) return {};
    const RecordingOrigin& origin = *promise.origin;
    try {
      return maker_.make(*promise.signal, promise.cut.samples, outside_, crew_, origin.text,
                         origin.mtime_ns);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      throw Error(error.code(), printable(origin.text) + ": " + error.what());
    }
  }

  // Replaces the promises by what was made. They stand one behind the other: array, description,
  // preview.
  void deliver(const ArrayPromise& promise, Spectrogram& spectrogram, Sample& sample, std::size_t i,
               Notes& notes) const {
    std::vector<std::string> warnings = *promise.warnings;
    warnings.insert(warnings.end(), spectrogram.warnings.begin(), spectrogram.warnings.end());
    // What is said of a recording is said once, not with each epoch.
    const bool is_first = promise.number.value_or(0) == 0;
    for (std::string& warning : is_first ? warnings : spectrogram.warnings) notes.warn(warning);
    notes.counts.push_back(promise.number ? "epochs or segments" : "recordings");
    const std::string description =
        signal::spectrogram_json(spectrogram, maker_.settings(), source_of(promise), warnings);
    const auto content = [&](Bytes bytes) {
      return std::make_shared<MemoryContent>(std::move(bytes), promise.origin->text,
                                             promise.origin->mtime_ns);
    };
    sample.parts[i].content = spectrogram.array;
    sample.parts[i + 1].content = content(Bytes::take(description));
    if (!extras_.overview) return;
    sample.parts[i + 2].content = content(draw_preview(spectrogram, maker_.settings(), sample.key));
  }

  static signal::SpectrogramSource source_of(const ArrayPromise& promise) {
    const signal::PreparedSignal& signal = *promise.signal;
    const double rate = signal.plan().rate;
    signal::SpectrogramSource source;
    source.name = promise.origin->part;
    source.info = &signal.recording().info();
    source.number = promise.number;
    source.start = signal.start() + static_cast<double>(promise.cut.samples.first) / rate;
    source.duration = static_cast<double>(promise.cut.samples.size()) / rate;
    source.event = promise.cut.event;
    return source;
  }

  mutable signal::SpectrogramMaker maker_;
  mutable signal::StatisticsCollector statistics_;
  const signal::SpectrogramExtras extras_;
  const signal::Outside outside_;
  Crew crew_;
};

// Takes no samples: the stage has gathered what is written.
class StatisticsSink final : public Sink {
 public:
  StatisticsSink(std::string path, const SpectrogramStage& stage, Reporter& reporter)
      : path_(std::move(path)), stage_(stage), reporter_(reporter) {}

  bool concurrent() const override { return true; }
  bool wants_bytes() const override { return false; }
  void put(const Sample&) override {}
  void commit() override {
    const std::string text = stage_.statistics().text(stage_.settings());
    AtomicFile file(path_, locked_temporary(path_), AtomicFile::Sharing::locked);
    file.write(as_bytes(text));
    file.commit(/*sync=*/true);
    reporter_.say(fmt::format("statistics of {} arrays are in {}",
                              human_count(stage_.statistics().arrays()), printable(path_)));
  }
  void abandon() override {}

 private:
  const std::string path_;
  const SpectrogramStage& stage_;
  Reporter& reporter_;
};

class SpectrogramTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-spectrogram",
        "Turn EEG and other recordings into spectrogram arrays, once, before training.",
        "Reads EDF, EDF+, BDF, BDF+, BrainVision, .npy and CSV; writes a .npy and a .spec.json\n"
        "for each recording or epoch. Other parts (labels) go through unchanged.\n\n"
        "Examples:\n"
        "  prep-spectrogram eeg/ -o spectrograms/\n"
        "  prep-spectrogram eeg/ -o out/ --channels 10-20 --rate 200 --epoch 10 --log db\n"
        "  prep-spectrogram eeg/ -o - --preset hms | prep-pack - -o hms.tar\n"
        "  prep-spectrogram eeg/ --log db --stats stats.json\n"
        "  prep-spectrogram eeg/ -o out/ --log db --normalize stats.json --dtype float16\n\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
        "--max-errors allows."};
  }

  void add_options(CLI::App& app) override {
    app_ = &app;
    options_.declare(app);
  }

  // With --stats there is none. Asked before parsing, too, for the options of all.
  bool has_output() const override { return options_.stats_path().empty(); }

  std::unique_ptr<Stage> make_stage() override {
    const bool statistics = !options_.stats_path().empty();
    if (statistics && app_->count("--output") > 0) {
      fail(Code::usage, "--stats writes no arrays: leave out --output");
    }
    const signal::SpectrogramSettings settings = options_.settings();
    recordings_ = options_.recordings(settings);
    auto stage = std::make_unique<SpectrogramStage>(
        settings, signal::SpectrogramExtras{statistics, recordings_.preview},
        recordings_.epochs.outside);
    stage_ = stage.get();
    return stage;
  }

  std::unique_ptr<Sink> make_sink(const RunContext& run) override {
    if (!has_output()) {
      return std::make_unique<StatisticsSink>(options_.stats_path(), *stage_, run.reporter);
    }
    SinkOptions options = run.sink_options;
    if (!options_.files().empty()) {
      nlohmann::json settings = nlohmann::json::parse(options.settings);
      settings["files"] = options_.files();
      options.settings = settings.dump();
    }
    auto sink = run.containers.open_sink(run.output, options);
    if (!options.dry_run) recordings_.stale.emplace(*sink, *stage_);
    return sink;
  }

  std::unique_ptr<Source> make_source(const RunContext& run) override {
    stage_->set_crew(Crew(&run.slots));
    return make_recording_source(Tool::make_source(run), recordings_);
  }

 private:
  const CLI::App* app_ = nullptr;
  SpectrogramOptions options_;
  RecordingOptions recordings_;
  SpectrogramStage* stage_ = nullptr;  // the run has it
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::SpectrogramTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
