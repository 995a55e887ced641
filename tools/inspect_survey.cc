#include "tools/inspect_survey.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "lib/core/key_hash.h"
#include "tools/bench_inputs.h"
#include "tools/picture_stage.h"
#include "tools/reopened.h"

namespace prep {
namespace {

using image::JpegColor;

constexpr std::uint64_t kMostHeld = 1ull << 30;  // of streams' samples, in memory
constexpr std::size_t kOddOnes = 4;
constexpr std::uint64_t kLargestOddInMemory = 8 << 20;

constexpr std::array<std::pair<JpegColor, std::string_view>, 6> kColors{
    {{JpegColor::grey, "grey"},
     {JpegColor::ycc, "YCbCr"},
     {JpegColor::rgb, "RGB"},
     {JpegColor::cmyk, "CMYK"},
     {JpegColor::ycck, "YCCK (CMYK)"},
     {JpegColor::unknown, "unknown"}}};

std::string_view name_of(JpegColor color) {
  return std::find_if(kColors.begin(), kColors.end(),
                      [&](const auto& one) { return one.first == color; })
      ->second;
}

// Looks at the beginning of every part.
class LookStage final : public Stage {
 public:
  explicit LookStage(const PictureLimits& limits) : limits_(limits) {}
  void apply(Sample& sample, Notes&) const override {
    for (Part& part : sample.parts) {
      PartFacts facts = describe_part(part, limits_);
      // A file does not stay open.
      part.content = std::make_shared<DescribedContent>(reopened(part.content), std::move(facts));
    }
  }

 private:
  const PictureLimits limits_;
};

const DescribedContent& described(const Part& part) {
  return static_cast<const DescribedContent&>(*part.content);
}

std::vector<PartFacts> facts_of(const Sample& sample) {
  std::vector<PartFacts> facts;
  for (const Part& part : sample.parts) facts.push_back(described(part).facts());
  return facts;
}

bool is_sound_picture(const PartFacts& facts) {
  return facts.kind == PartFacts::Kind::picture && facts.picture.is_readable() && !facts.fault;
}

// Those that are oddest by one measure.
class OddOnes {
 public:
  OddOnes() : kept_(kOddOnes, UINT64_MAX) {}

  // `oddness`: the larger, the odder; of equals the first ones stay.
  void offer(double oddness, std::uint64_t index, const DescribedContent& content) {
    // Positive doubles are in the order of their bits.
    const std::uint64_t rank = UINT64_MAX - std::bit_cast<std::uint64_t>(std::max(oddness, 0.0));
    if (!kept_.wants(rank) || content.resident_bytes() > kLargestOddInMemory) return;
    kept_.add(rank, index, {content.content(), content.facts().picture, content.facts().bytes}, 0);
  }
  std::vector<OddPicture> take() { return kept_.take_by_rank(); }

 private:
  LowestRanks<OddPicture> kept_;
};

// The set of a sample's parts as a name: "image + cls". The extensions of pictures don't count.
std::string part_set(const Sample& sample, const std::vector<PartFacts>& facts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::string& name = sample.parts[i].name;
    const bool is_image = facts[i].kind == PartFacts::Kind::picture && is_picture_name(name);
    names.push_back(is_image ? std::string(split_extension(name).first) + "image" : name);
  }
  std::sort(names.begin(), names.end());
  std::string set;
  for (const std::string& name : names) {
    set += (set.empty() ? "" : " + ") + (name.empty() ? "(no extension)" : name);
  }
  return set;
}

// The directory that a sample lies in, without those above it; "" if it lies in none.
std::string_view directory_of(std::string_view key) {
  const std::size_t end = key.rfind('/');
  if (end == std::string_view::npos) return "";
  const std::size_t begin = key.substr(0, end).rfind('/');
  return key.substr(begin == std::string_view::npos ? 0 : begin + 1,
                    end - (begin == std::string_view::npos ? 0 : begin + 1));
}

void add_to(Auxiliaries& totals, const Auxiliaries& one) {
  totals.resize(one.size(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) totals[i] += one[i];
}

// Counts what the stage has seen.
class CountSink final : public Sink {
 public:
  CountSink(Survey& survey, const SurveyOptions& options)
      : survey_(survey), options_(options), chosen_(options.samples, kMostHeld) {}

  bool wants_bytes() const override { return false; }

  void put(const Sample& sample) override {
    const std::vector<PartFacts> facts = facts_of(sample);
    fault_.reset();
    count_sample(sample, facts);
    for (std::size_t i = 0; i < facts.size(); ++i) count_part(sample.parts[i], facts[i], facts);
    count_totals(facts);
    choose(sample, facts);
    ++survey_.samples;
    if (!fault_) return;
    ++survey_.bad;
    throw BadSample(fault_->code(), fault_->what());
  }

  void commit() override {
    survey_.memory_was_short = chosen_.memory_was_short();
    survey_.chosen = chosen_.take_by_rank();
    for (auto& [what, odd] : odd_) survey_.odd[what] = odd.take();
  }
  void abandon() override {}

 private:
  void count_sample(const Sample& sample, const std::vector<PartFacts>& facts) {
    std::uint64_t bytes = 0;
    const PartFacts* label = nullptr;
    for (const PartFacts& one : facts) {
      bytes += one.bytes;
      if (one.fault && !fault_ && one.fault->code() != Code::unsupported) fault_ = one.fault;
      if (one.kind == PartFacts::Kind::label) label = &one;
    }
    survey_.bytes += bytes;
    survey_.parts += facts.size();
    survey_.part_sets.add(part_set(sample, facts), bytes, sample.key);
    survey_.directories.add(directory_of(sample.key), bytes, sample.key);
    if (label) {
      survey_.labels.add(label->label, bytes, sample.key);
    } else {
      ++survey_.unlabelled;
    }
  }

  void count_part(const Part& part, const PartFacts& facts, const std::vector<PartFacts>& all) {
    survey_.part_names.add(part.name, facts.bytes, "");
    if (facts.kind == PartFacts::Kind::recording) {
      survey_.formats.add(signal::name(facts.recording), facts.bytes, "");
      ++survey_.recordings;
      survey_.recording_bytes += facts.bytes;
      survey_.part_bytes.add(static_cast<double>(facts.bytes));
    } else if (facts.picture.format != image::Format::unknown) {
      survey_.formats.add(image::name(facts.picture.format), facts.bytes, "");
      survey_.part_bytes.add(static_cast<double>(facts.bytes));
      if (facts.fault && facts.fault->code() == Code::unsupported) ++survey_.unsupported;
      if (is_sound_picture(facts)) count_picture(part, facts, all);
    }
    if (facts.fingerprint != 0) {
      survey_.duplicates.note(facts.fingerprint, facts.bytes, part.content->origin());
    }
  }

  void count_picture(const Part& part, const PartFacts& facts, const std::vector<PartFacts>& all) {
    const PictureFacts& picture = facts.picture;
    ++survey_.pictures;
    survey_.picture_bytes += facts.bytes;
    const int short_side = std::min(picture.width, picture.height);
    survey_.short_sides.add(short_side);
    survey_.megapixels.add(static_cast<double>(picture.pixels()) / 1e6);
    survey_.aspects.add(static_cast<double>(picture.width) / picture.height);
    survey_.small += short_side <= kShortSide;
    survey_.rotated += picture.is_rotated;
    survey_.deep += picture.is_deep;
    if (is_mask(picture, all)) {
      ++survey_.masks;
      if (survey_.mask_parts.size() < 8 || survey_.mask_parts.count(part.name)) {
        ++survey_.mask_parts[part.name];
      }
    }
    if (picture.format == image::Format::jpeg) count_jpeg(facts);
    offer_odd(part, facts);
  }

  void count_jpeg(const PartFacts& facts) {
    const PictureFacts& picture = facts.picture;
    ++survey_.jpegs;
    survey_.jpeg_bytes += facts.bytes;
    survey_.plain_jpegs += picture.is_plain;
    survey_.progressive += picture.is_progressive;
    survey_.with_icc += picture.has_icc;
    ++survey_.subsamplings[std::string(picture.subsampling)];
    ++survey_.colors[std::string(name_of(picture.color))];
    ++survey_.qualities[std::clamp(picture.quality, 0, 100)];
  }

  void offer_odd(const Part& part, const PartFacts& facts) {
    const DescribedContent& content = described(part);
    const PictureFacts& picture = facts.picture;
    const auto pixels = static_cast<double>(picture.pixels());
    const double aspect = static_cast<double>(picture.width) / picture.height;
    const std::uint64_t index = survey_.pictures;
    odd_["largest file"].offer(static_cast<double>(facts.bytes), index, content);
    odd_["most pixels"].offer(pixels, index, content);
    odd_["fewest pixels"].offer(1 / pixels, index, content);
    odd_["longest"].offer(std::max(aspect, 1 / aspect), index, content);
    odd_["fewest bytes for a pixel"].offer(pixels / static_cast<double>(facts.bytes), index,
                                           content);
    if (picture.quality > 0) odd_["lowest quality"].offer(101 - picture.quality, index, content);
  }

  void count_totals(const std::vector<PartFacts>& facts) {
    const Auxiliaries known = auxiliaries_of(facts);
    if (known[0] > 0) {
      ++survey_.picture_samples;
      add_to(survey_.picture_totals, known);
    }
    double recordings = 0;
    for (const PartFacts& one : facts) {
      if (one.kind == PartFacts::Kind::recording) recordings += static_cast<double>(one.bytes);
    }
    if (recordings > 0) {
      ++survey_.recording_samples;
      add_to(survey_.recording_totals, {recordings, 1});
    }
  }

  void choose(const Sample& sample, const std::vector<PartFacts>& facts) {
    if (options_.samples == 0) return;
    const std::uint64_t rank = mixed(key_hash(sample.key) ^ mixed(options_.seed));
    if (!chosen_.wants(rank)) return;
    ChosenSample chosen{sample, facts};
    std::uint64_t held = 0;
    for (Part& part : chosen.sample.parts) {
      held += part.content->resident_bytes();
      part.content = described(part).content();
    }
    chosen_.add(rank, survey_.samples, std::move(chosen), held);
  }

  Survey& survey_;
  const SurveyOptions& options_;
  LowestRanks<ChosenSample> chosen_;
  std::map<std::string, OddOnes> odd_;
  std::optional<Error> fault_;  // of the sample that is being counted
};

// The second look, at contents of which there may be copies.
class HashStage final : public Stage {
 public:
  explicit HashStage(const DuplicateFinder& finder) : finder_(finder) {}
  void apply(Sample& sample, Notes& notes) const override {
    for (Part& part : sample.parts) {
      if (!finder_.wants(part.content->origin())) continue;
      PartFacts facts;
      facts.bytes = part.content->size();
      facts.label = DuplicateFinder::hash(*part.content);
      part.content = std::make_shared<DescribedContent>(part.content, std::move(facts));
      part.name = kHashed;
    }
    std::erase_if(sample.parts, [](const Part& part) { return part.name != kHashed; });
    if (sample.parts.empty()) notes.skip_reason = "has no copies";
  }

  static constexpr const char* kHashed = "\nhash";

 private:
  const DuplicateFinder& finder_;
};

class CompareSink final : public Sink {
 public:
  explicit CompareSink(DuplicateFinder& finder) : finder_(finder) {}
  bool wants_bytes() const override { return false; }
  void put(const Sample& sample) override {
    for (const Part& part : sample.parts) {
      const PartFacts& facts = described(part).facts();
      finder_.compare(facts.label, facts.bytes, part.content->origin());
    }
  }
  void commit() override {}
  void abandon() override {}

 private:
  DuplicateFinder& finder_;
};

void find_duplicates(const RunContext& run, bool can_read_again, DuplicateFinder& finder) {
  if (!finder.prepare()) return;
  if (!can_read_again) return finder.trust_fingerprints();
  const auto source = run.containers.open_source(run.inputs, run.source_options);
  const HashStage stage(finder);
  CompareSink sink(finder);
  PipelineOptions options;
  options.task = run.sink_options.task;
  run_pipeline(*source, stage, sink, run.slots, options, [](const Outcome&) {});
}

void look_at_all(const RunContext& run, const SurveyOptions& options, Source& source,
                 Survey& survey) {
  const LookStage stage(options.limits);
  CountSink sink(survey, options);
  PipelineOptions pipeline;
  pipeline.task = run.sink_options.task;
  run.reporter.expect(source.expected_samples(), source.expected_bytes());
  run_pipeline(source, stage, sink, run.slots, pipeline, [&](const Outcome& outcome) {
    run.reporter.consumed(source.consumed_bytes());
    run.reporter.add(outcome);
  });
  sink.commit();
  survey.left_out = source.left_out();
}

}  // namespace

// What the bytes and the time of a picture's variants depend on, the most telling first.
Auxiliaries auxiliaries_of(const std::vector<PartFacts>& parts) {
  Auxiliaries known(8, 0);
  for (const PartFacts& part : parts) {
    if (!is_sound_picture(part)) continue;
    const PictureFacts& picture = part.picture;
    const auto bytes = static_cast<double>(part.bytes);
    const auto pixels = static_cast<double>(picture.pixels());
    const double scale =
        std::min(1.0, static_cast<double>(kShortSide) / std::min(picture.width, picture.height));
    const double resized = pixels * scale * scale;
    known[0] += bytes;
    known[1] += pixels;
    known[2] += resized;
    known[3] += resized * std::sqrt(bytes / pixels);  // smaller pictures hold more for each pixel
    if (picture.format == image::Format::jpeg) {
      known[4] += bytes * picture.quality / 100;
    } else {
      known[5] += bytes;
      known[6] += resized;
    }
  }
  if (known[0] > 0) known[7] = 1;
  return known;
}

bool is_mask(const PictureFacts& facts, const std::vector<PartFacts>& parts) {
  if (facts.format != image::Format::png || facts.is_deep) return false;
  if (facts.has_palette) return true;
  const auto pictures = std::count_if(parts.begin(), parts.end(), [](const PartFacts& part) {
    return part.kind == PartFacts::Kind::picture;
  });
  return facts.is_grey && pictures > 1;
}

int Survey::quality_quantile(double p) const {
  std::uint64_t count = 0, passed = 0;
  for (int quality = 1; quality <= 100; ++quality) count += qualities[quality];
  for (int quality = 1; quality <= 100; ++quality) {
    passed += qualities[quality];
    if (static_cast<double>(passed) > p * static_cast<double>(count)) return quality;
  }
  return 0;
}

std::unique_ptr<Survey> survey(const RunContext& run, const SurveyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<BenchInput> inputs = group_inputs(run);
  const bool is_once =
      std::any_of(inputs.begin(), inputs.end(), [](const BenchInput& input) { return input.once; });
  auto result = std::make_unique<Survey>();
  const auto source = run.containers.open_source(run.inputs, run.source_options);
  result->is_rereadable = source->is_rereadable() && !is_once;
  look_at_all(run, options, *source, *result);
  if (result->samples == 0) fail(Code::empty, "there is no sample in the input");
  find_duplicates(run, result->is_rereadable, result->duplicates);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  result->seconds = seconds.count();
  return result;
}

}  // namespace prep
