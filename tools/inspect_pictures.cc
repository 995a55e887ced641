#include "tools/inspect_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "lib/core/interrupt.h"
#include "lib/core/shared_work.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/raster.h"
#include "lib/image/recompress.h"
#include "lib/image/resize.h"
#include "lib/image/rgb_decoder.h"
#include "lib/measure/calibrated_sample.h"
#include "tools/bench_threads.h"
#include "tools/reopened.h"

namespace prep {
namespace {

constexpr std::array kQualities{90, 80, 70};
constexpr std::size_t kRounds = 3;  // of decoding; the median counts
constexpr std::size_t kKeptMemory = 32 << 20;
// As much is decoded in a row as does not stay in the caches, as in a loader.
constexpr double kBlockBytes = 16e6;
constexpr std::size_t kBlockSamples = 100;
// Of a time: no two runs of a program agree better on a machine that does anything else.
constexpr double kClockDoubt = 0.02;

using Rounds = std::array<double, kRounds>;

double median(Rounds values) {
  std::sort(values.begin(), values.end());
  return values[kRounds / 2];
}

// The tools themselves, and decoders as loaders use them. One a thread.
class Workshop {
 public:
  explicit Workshop(const PictureLimits& limits)
      : limits_(limits), resizer_(resize_options(limits)) {
    for (const int quality : kQualities) recompressors_.emplace_back(recompress_options(quality));
  }

  // A version of a picture, and the CPU seconds that making it took.
  struct Made {
    Bytes data;
    double seconds = 0;
  };
  // In all variants. throws Error.
  std::vector<Made> make(const Bytes& input, bool is_mask) {
    std::vector<Made> made;
    Made resized;
    resized.seconds = time_of([&] {
      resized.data = is_mask ? resizer_.resize_nearest(input).data : resizer_.resize(input).data;
    });
    for (const PictureVariant& variant : picture_variants()) {
      Made one = variant.is_resized ? resized : Made{input, 0};
      if (variant.quality > 0 && image::sniff(one.data.view()) == image::Format::jpeg) {
        image::Recompressor& recompressor = recompressor_for(variant.quality);
        one.seconds += time_of([&] { one.data = recompressor.recompress(one.data).data; });
      }
      made.push_back(std::move(one));
    }
    return made;
  }

  // CPU seconds that a loader needs for it.
  double time_of_decoding(const Bytes& data) {
    const double seconds = time_of([&] { decode(data); });
    pixels_.trim(kKeptMemory);
    return seconds;
  }

 private:
  static image::ResizeOptions resize_options(const PictureLimits& limits) {
    image::ResizeOptions options;
    options.short_side = kShortSide;
    options.max_pixels = limits.max_pixels;
    options.max_scans = limits.max_scans;
    return options;
  }
  image::RecompressOptions recompress_options(int quality) const {
    image::RecompressOptions options;
    options.quality = quality;
    options.max_pixels = limits_.max_pixels;
    options.max_scans = limits_.max_scans;
    return options;
  }
  image::Recompressor& recompressor_for(int quality) {
    const auto place = std::find(kQualities.begin(), kQualities.end(), quality);
    return recompressors_[static_cast<std::size_t>(place - kQualities.begin())];
  }

  template <typename F>
  static double time_of(const F& f) {
    const double start = thread_cpu_seconds();
    f();
    return thread_cpu_seconds() - start;
  }

  void decode(const Bytes& data) {
    const image::Format format = image::sniff(data.view());
    if (format != image::Format::jpeg) {
      image::decode_raster(data, format, /*allow_truncated=*/true, pixels_);
      return;
    }
    const image::JpegInfo info = image::read_jpeg_info(data, limits_.max_scans, true);
    if (info.color == image::JpegColor::cmyk || info.color == image::JpegColor::ycck ||
        info.color == image::JpegColor::unknown) {
      std::vector<std::string> warnings;
      image::decode_interleaved(data, info, {}, pixels_, warnings);
    } else {
      decoder_.decode(data.view());
    }
  }

  const PictureLimits limits_;
  image::Resizer resizer_;
  std::deque<image::Recompressor> recompressors_;
  image::RgbDecoder decoder_;
  image::PlaneBuffer pixels_;
};

// A picture in its variants, and how long each took to decode.
struct TriedPicture {
  std::vector<Workshop::Made> made;
  std::vector<Rounds> decode;

  // The first variant that holds the very same bytes.
  std::size_t twin(std::size_t i) const {
    for (std::size_t k = 0; k < i; ++k) {
      if (made[k].data.data() == made[i].data.data()) return k;
    }
    return i;
  }
};

// Of one sample in one variant: all of its pictures.
struct Measure {
  double bytes = 0, make_seconds = 0;
  Rounds decode_seconds{};
};

// What became of one chosen sample.
struct SampleAttempt {
  std::optional<Error> error;
  std::string warning;
  std::uint64_t pictures = 0, enlarged = 0;
  std::vector<TriedPicture> at_work;  // while its block is being tried
  std::vector<Measure> measures;      // by variant

  bool is_measured() const { return pictures > 0 && !error; }
};

class PictureTrialRun {
 public:
  PictureTrialRun(const Survey& survey, const SurveyOptions& options)
      : survey_(survey), options_(options), checker_(options.limits) {
    tried_.resize(survey.chosen.size());
    double pixels = 0;
    for (const ChosenSample& chosen : survey.chosen) {
      known_.push_back(auxiliaries_of(chosen.facts));
      if (pixels >= kMostTriedPixels) break;
      pixels += known_.back()[1];
      ++count_;
    }
  }

  void run(JobSlots& slots) {
    std::vector<std::size_t> begins;
    double bytes = kBlockBytes;
    for (std::size_t i = 0; i < count_; ++i) {
      if (bytes >= kBlockBytes || i - begins.back() >= kBlockSamples) {
        begins.push_back(i);
        bytes = 0;
      }
      bytes += known_[i][0];
    }
    begins.push_back(count_);
    Crew(&slots).run(begins.size() - 1,
                     [&](std::size_t i) { try_block(begins[i], begins[i + 1]); });
  }

  PictureTrial results(Reporter& reporter) const {
    PictureTrial trial;
    trial.is_limited = count_ < survey_.chosen.size();
    for (std::size_t i = 0; i < count_; ++i) count(i, reporter, trial);
    project(trial);
    return trial;
  }

 private:
  void try_block(std::size_t begin, std::size_t end) {
    // A worker's scratch memory lives as long as its thread; there is one trial in a process.
    thread_local std::optional<Workshop> workshop;
    if (!workshop) workshop.emplace(options_.limits);
    for (std::size_t i = begin; i < end; ++i) {
      check_interrupt();
      try {
        prepare(*workshop, survey_.chosen[i], tried_[i]);
      } catch (const Error& error) {
        if (error.code() == Code::interrupted) throw;
        tried_[i].error = error;
      }
    }
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t v = 0; v < picture_variants().size(); ++v) {
        for (std::size_t i = begin; i < end; ++i) time(*workshop, v, round, tried_[i]);
      }
    }
    for (std::size_t i = begin; i < end; ++i) sum_up(tried_[i]);
  }

  void prepare(Workshop& workshop, const ChosenSample& chosen, SampleAttempt& tried) const {
    for (std::size_t i = 0; i < chosen.facts.size(); ++i) {
      const PartFacts& facts = chosen.facts[i];
      if (facts.fault || facts.bytes > kMaxCheckedPayload) continue;
      if (facts.kind == PartFacts::Kind::recording) continue;
      const Part& part = chosen.sample.parts[i];
      const Bytes data = reopened(part.content)->load();
      check(part, data, tried);
      if (facts.kind != PartFacts::Kind::picture || !facts.picture.is_readable()) continue;
      try {
        TriedPicture picture;
        picture.made = workshop.make(data, is_mask(facts.picture, chosen.facts));
        picture.decode.resize(picture.made.size());
        tried.at_work.push_back(std::move(picture));
      } catch (const Error& error) {
        throw Error(error.code(), printable(part.content->origin()) + ": " + error.what());
      }
    }
  }

  static void time(Workshop& workshop, std::size_t variant, std::size_t round,
                   SampleAttempt& tried) {
    if (tried.error) return;
    try {
      for (TriedPicture& picture : tried.at_work) {
        const std::size_t twin = picture.twin(variant);
        picture.decode[variant][round] =
            twin < variant ? picture.decode[twin][round]
                           : workshop.time_of_decoding(picture.made[variant].data);
      }
    } catch (const Error& error) {
      tried.error = error;
    }
  }

  static void sum_up(SampleAttempt& tried) {
    constexpr std::size_t kResized = 1;
    tried.measures.resize(picture_variants().size());
    for (const TriedPicture& picture : tried.at_work) {
      for (std::size_t v = 0; v < picture.made.size(); ++v) {
        Measure& sum = tried.measures[v];
        sum.bytes += static_cast<double>(picture.made[v].data.size());
        sum.make_seconds += picture.made[v].seconds;
        for (std::size_t r = 0; r < kRounds; ++r) sum.decode_seconds[r] += picture.decode[v][r];
      }
      ++tried.pictures;
      tried.enlarged += picture.made[kResized].data.size() > picture.made[0].data.size();
    }
    tried.at_work.clear();
  }

  void check(const Part& part, const Bytes& data, SampleAttempt& tried) const {
    std::vector<PayloadChecker::Fault> faults;
    checker_.check(part.name, data, faults);
    for (const PayloadChecker::Fault& fault : faults) {
      const std::string message = printable(part.content->origin()) + ": " + fault.message;
      if (fault.is_error) throw Error(fault.code, message);
      if (tried.warning.empty()) tried.warning = message;
    }
  }

  void count(std::size_t i, Reporter& reporter, PictureTrial& trial) const {
    const SampleAttempt& one = tried_[i];
    ++trial.checked;
    if (one.error) {
      ++trial.bad;
      report_bad(reporter, survey_.chosen[i].sample, *one.error);
      return;
    }
    if (!one.warning.empty() && trial.with_warnings++ == 0) trial.warning_example = one.warning;
    trial.tried += one.is_measured();
    trial.pictures += one.pictures;
    trial.enlarged += one.enlarged;
  }

  // Of the samples whose pictures are all sound, the only ones that a tool would write.
  void project(PictureTrial& trial) const {
    std::vector<Auxiliaries> rows;
    std::vector<const SampleAttempt*> measured;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!tried_[i].is_measured()) continue;
      rows.push_back(known_[i]);
      measured.push_back(&tried_[i]);
    }
    if (rows.empty()) return;
    const measure::CalibratedSample sample(
        rows, survey_.picture_totals, std::max<std::uint64_t>(survey_.picture_samples, rows.size()),
        options_.seed);
    const auto values = [&](std::size_t variant, const auto& value_of) {
      std::vector<double> out;
      for (const SampleAttempt* one : measured) out.push_back(value_of(one->measures[variant]));
      return out;
    };
    const auto bytes = [](const Measure& one) { return one.bytes; };
    const auto decode = [](const Measure& one) { return median(one.decode_seconds); };
    const auto make = [](const Measure& one) { return one.make_seconds; };
    for (std::size_t v = 0; v < picture_variants().size(); ++v) {
      PictureProjection projection;
      projection.bytes = sample.total(values(v, bytes));
      projection.bytes_ratio = sample.ratio(values(v, bytes), values(0, bytes));
      projection.decode_seconds =
          with_doubt(sample.total(values(v, decode)),
                     spread([&](std::size_t r) { return sum(measured, v, r); }));
      projection.make_seconds = sample.total(values(v, make));
      projection.decode_ratio = sample.ratio(values(v, decode), values(0, decode));
      if (v > 0) {
        projection.decode_ratio = with_doubt(projection.decode_ratio, spread([&](std::size_t r) {
                                               return sum(measured, v, r) / sum(measured, 0, r);
                                             }));
      }
      trial.projections.push_back(projection);
    }
  }

  static double sum(const std::vector<const SampleAttempt*>& measured, std::size_t variant,
                    std::size_t round) {
    double seconds = 0;
    for (const SampleAttempt* one : measured)
      seconds += one->measures[variant].decode_seconds[round];
    return seconds;
  }

  // By how much the rounds differ, as a share.
  template <typename F>
  static double spread(const F& of_round) {
    Rounds values;
    for (std::size_t r = 0; r < kRounds; ++r) values[r] = of_round(r);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return std::max((*most - *least) / std::max(median(values), 1e-12), kClockDoubt);
  }

  // The sample is not the only reason for doubt about times.
  static measure::Interval with_doubt(const measure::Interval& interval, double share) {
    const double doubt = share * interval.value;
    return {interval.value, interval.value - std::hypot(interval.value - interval.low, doubt),
            interval.value + std::hypot(interval.high - interval.value, doubt)};
  }

  const Survey& survey_;
  const SurveyOptions& options_;
  const PartChecker checker_;
  std::size_t count_ = 0;  // of the chosen ones that are tried
  std::vector<Auxiliaries> known_;
  std::vector<SampleAttempt> tried_;
};

}  // namespace

const std::vector<PictureVariant>& picture_variants() {
  static const std::vector<PictureVariant> kVariants{
      {"as_is", "as it is", false, 0},
      {"resized", "resized to 256", true, 0},
      {"quality_90", "quality 90", false, 90},
      {"quality_80", "quality 80", false, 80},
      {"quality_70", "quality 70", false, 70},
      {"resized_quality_80", "resized, then quality 80", true, 80},
      {"resized_quality_70", "resized, then quality 70", true, 70}};
  return kVariants;
}

PictureTrial try_pictures(const RunContext& run, const Survey& survey,
                          const SurveyOptions& options) {
  PictureTrialRun trial(survey, options);
  trial.run(run.slots);
  PictureTrial results = trial.results(run.reporter);
  results.threads = run.slots.limit();
  return results;
}

void report_bad(Reporter& reporter, const Sample& sample, const Error& error) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::failed;
  outcome.key = sample.key;
  if (!sample.parts.empty()) outcome.origin = sample.parts[0].content->origin();
  outcome.code = error.code();
  outcome.message = error.what();
  reporter.add(outcome);
  --reporter.summary().read;
  --reporter.summary().written;
}

}  // namespace prep
