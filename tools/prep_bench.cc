// prep-bench: measures how fast a data set can be read, decoded, and fed to a GPU.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "lib/core/tool.h"
#include "tools/bench_decode.h"
#include "tools/bench_decode_report.h"
#include "tools/bench_feed.h"
#include "tools/bench_feed_report.h"
#include "tools/bench_lists.h"
#include "tools/bench_read.h"
#include "tools/bench_read_report.h"
#include "tools/bench_report.h"
#include "tools/bench_variants.h"
#include "tools/picture_options.h"

namespace prep {
namespace {

constexpr std::uint64_t kSamples = 2000, kFeedSamples = 50'000;
constexpr std::uint64_t kMostSamples = 10'000'000;
constexpr int kMostThreads = 1024;

const std::vector<std::string> kModes{"decode", "read", "feed"};
const std::vector<std::string> kPlaces{"memory", "disk"};
const std::vector<std::string> kOrders{"sequential", "random"};
const Choices<FeedCrop> kCrops{{"random", FeedCrop::random_resized}, {"center", FeedCrop::center}};

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const DecoderKind& kind : decoder_kinds()) names.push_back(kind.name);
  return names;
}

class BenchTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-bench", "Measure how fast a data set can be read, decoded, and fed to a GPU.",
        "MODE is what is measured:\n"
        "  decode  decoders, side by side, on the same pictures\n"
        "  read    the bytes: each input by its kind, in order and at random\n"
        "  feed    a loader's whole path (read, decode, crop, batch), and what holds it back\n\n"
        "Examples:\n"
        "  prep-bench decode photos/ --samples 500\n"
        "  prep-bench decode photos/ --variants all --from memory --html decode.html\n"
        "  prep-bench read photos/ photos.tar --cold -j 1,4\n"
        "  prep-bench feed photos/ --workers 8 --need 2500\n\n"
        "Exit status: 0 measured, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
        "--max-errors allows (the others were measured)."};
  }

  void add_options(CLI::App& app) override {
    app.add_option("MODE", mode_, "decode, read or feed")->required()->check(CLI::IsMember(kModes));
    add_choice_options(app);
    add_decode_options(app);
    add_read_options(app);
    add_feed_options(app);
    app.add_option("--json", json_path_, "write everything that was measured as JSON")
        ->option_text("FILE");
    app.add_option("--html", html_path_, "write a report for people, in one file")
        ->option_text("FILE");
    add_picture_limits(app, limits_.max_pixels, limits_.max_scans);
  }

  std::unique_ptr<Stage> make_stage() override { return nullptr; }
  bool has_output() const override { return false; }
  bool is_other_job() const override { return true; }

  void do_other_job(const RunContext& run) override {
    if (!json_path_.empty() && json_path_ == html_path_) {
      fail(Code::usage, "--json and --html name the same file");
    }
    refuse_options_of_other_modes();
    std::vector<std::string> paths;
    for (const Spec& word : run.inputs) {
      if (word.path != "-" && paths.size() < 16) paths.push_back(word.path);
    }
    const BenchReport report = mode_ == "decode" ? decode(run, paths)
                               : mode_ == "read" ? read(run, paths)
                                                 : feed(run, paths);
    publish(report, json_path_, html_path_);
  }

 private:
  // An option and the modes that it belongs to.
  struct Owned {
    CLI::Option* option;
    std::string modes;
  };
  CLI::Option* own(CLI::Option* option, const std::string& modes) {
    owned_.push_back({option, modes});
    return option;
  }

  void add_choice_options(CLI::App& app) {
    app.add_option("--samples", samples_,
                   "how many samples are looked at (default 2,000; feed: 50,000)")
        ->check(CLI::Range(std::uint64_t{1}, kMostSamples))
        ->option_text("N");
    app.add_option("--seed", seed_, "of the choice and of every order")->option_text("N");
    own(app.add_option("--warmup", warmup_, "decode, read: runs that do not count"), "decode read")
        ->check(CLI::Range(0, 1000))
        ->option_text("N");
    own(app.add_option("--runs", runs_, "decode, read: runs that count"), "decode read")
        ->check(CLI::Range(1, 1000))
        ->option_text("N");
    own(app.add_option("-j,--jobs", threads_, "decode, read: numbers of threads"), "decode read")
        ->option_text("N,N,...");
  }

  void add_decode_options(CLI::App& app) {
    std::string names = "all";
    for (const std::string& name : decoder_names()) names += ", " + name;
    own(app.add_option("--decoders", decoders_,
                       "decode: some of " + names +
                           "; feed: one of rgb, scaled, turbojpeg, "
                           "imdecode"),
        "decode feed")
        ->option_text("WORDS");
    own(app.add_option("--from", places_, "decode: memory, disk or all"), "decode")
        ->option_text("WORDS");
    own(app.add_option("--variants", variants_,
                       "decode: some of all, raw, resized, recompressed, both, made in memory"),
        "decode")
        ->option_text("WORDS");
  }

  void add_read_options(CLI::App& app) {
    own(app.add_option(
            "--order", order_,
            "read: sequential, random or all; feed: one (default: loose files at random, "
            "containers as they lie)"),
        "read feed")
        ->option_text("WORDS");
    own(app.add_flag("--cold", cold_, "read, feed: have the files' own pages forgotten first"),
        "read feed");
  }

  void add_feed_options(CLI::App& app) {
    own(app.add_option("--batch", batch_, "feed: images a batch"), "feed")
        ->check(CLI::Range(1, 8192))
        ->option_text("N");
    own(app.add_option("--workers", workers_,
                       "feed: threads of the loader (default: the CPUs, or what make lends)"),
        "feed")
        ->check(CLI::Range(1, kMostThreads))
        ->option_text("N");
    own(app.add_option("--need", need_, "feed: images a second that the GPU takes"), "feed")
        ->check(CLI::Range(0.001, 1e9))
        ->option_text("X");
    own(app.add_option("--seconds", seconds_, "feed: how long is measured"), "feed")
        ->check(CLI::Range(0.1, 86400.0))
        ->option_text("X");
    own(app.add_option("--size", side_, "feed: width and height of a crop"), "feed")
        ->check(CLI::Range(1, 2048))
        ->option_text("N");
    own(add_choice(app, "--crop", crop_, kCrops, "feed: where crops are taken"), "feed");
  }

  void refuse_options_of_other_modes() const {
    for (const Owned& one : owned_) {
      if (one.option->count() > 0 && one.modes.find(mode_) == std::string::npos) {
        fail(Code::usage, "{} does not go with {}", one.option->get_name(), mode_);
      }
    }
  }

  ChoiceOptions choice(std::uint64_t samples) const {
    return {samples_.value_or(samples), seed_, false};
  }

  static bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  BenchReport decode(const RunContext& run, const std::vector<std::string>& paths) const {
    DecodeBenchOptions options;
    for (const std::string& name : parse_words("--decoders", decoders_, decoder_names())) {
      options.decoders.push_back(&decoder_named(name));
    }
    const std::vector<std::string> places = parse_words("--from", places_, kPlaces);
    options.from_memory = has(places, "memory");
    options.from_disk = has(places, "disk");
    options.variants = parse_words("--variants", variants_, kVariants);
    options.choice = choice(kSamples);
    options.warmup = warmup_;
    options.runs = runs_;
    options.threads = parse_numbers("-j", threads_, kMostThreads);
    options.limits = limits_;
    const DecodeMeasurements results = measure_decoding(run, options);
    return report_decoding(results, options, paths);
  }

  BenchReport read(const RunContext& run, const std::vector<std::string>& paths) const {
    ReadBenchOptions options;
    options.orders.clear();
    for (const std::string& word :
         parse_words("--order", order_.empty() ? "all" : order_, kOrders)) {
      options.orders.push_back(word == "random" ? ReadOrder::random : ReadOrder::sequential);
    }
    options.cold = cold_;
    options.choice = choice(kSamples);
    options.warmup = warmup_;
    options.runs = runs_;
    options.threads = parse_numbers("-j", threads_, kMostThreads);
    const ReadMeasurements results = measure_reading(run, options);
    return report_reading(results, options, paths);
  }

  BenchReport feed(const RunContext& run, const std::vector<std::string>& paths) const {
    FeedBenchOptions options;
    const std::string decoder = decoders_ == "all" ? "rgb" : decoders_;
    if (!has({"rgb", "scaled", "turbojpeg", "imdecode"}, decoder)) {
      fail(Code::usage, "--decoders {}: feed takes one of rgb, scaled, turbojpeg, imdecode",
           printable(decoder));
    }
    options.decoder = &decoder_named(decoder);
    if (!order_.empty() && !has(kOrders, order_)) {
      fail(Code::usage, "--order {}: feed takes sequential or random", printable(order_));
    }
    if (order_ == "sequential") options.order = FeedOrder::sequential;
    if (order_ == "random") options.order = FeedOrder::random;
    options.crop = kCrops.at(crop_);
    options.side = side_;
    options.batch = batch_;
    options.workers = workers_.value_or(0);
    options.seconds = seconds_;
    options.need = need_.value_or(0);
    options.cold = cold_;
    options.choice = choice(kFeedSamples);
    options.limits = limits_;
    return report_feeding(measure_feeding(run, options), options, paths);
  }

  std::string mode_;
  std::vector<Owned> owned_;
  std::optional<std::uint64_t> samples_;
  std::uint64_t seed_ = 0;
  int warmup_ = 1, runs_ = 5;
  std::string threads_ = "1";
  std::string decoders_ = "all", places_ = "all", variants_ = "raw", order_;
  bool cold_ = false;
  int batch_ = 256, side_ = 224;
  std::optional<int> workers_;
  std::optional<double> need_;
  double seconds_ = 10;
  std::string crop_ = "random";
  std::string json_path_, html_path_;
  PictureLimits limits_;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::BenchTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
