#include "tools/bench_decode.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>

#include "lib/core/interrupt.h"
#include "lib/image/rgb_decoder.h"
#include "tools/bench_agreement.h"
#include "tools/bench_inputs.h"
#include "tools/bench_threads.h"
#include "tools/bench_variants.h"

namespace prep {
namespace {

constexpr std::uint64_t kMostBytes = 1ull << 30;  // of pictures in memory

Outcome outcome_of(const Sample& sample) {
  Outcome outcome;
  outcome.key = sample.key;
  if (!sample.parts.empty()) outcome.origin = sample.parts[0].content->origin();
  return outcome;
}

void mark_failed(Outcome& outcome, const Error& error) {
  outcome.kind = Outcome::Kind::failed;
  outcome.code = error.code();
  outcome.message = error.what();
}

// A picture and what became of it.
struct Candidate {
  BenchPicture picture;
  Outcome outcome;
  bool is_good() const { return outcome.kind == Outcome::Kind::written; }
};

void load(const Sample& sample, const PictureLimits& limits, Candidate& candidate) {
  candidate.outcome = outcome_of(sample);
  try {
    if (sample.fault) throw *sample.fault;
    candidate.picture = load_picture(sample, limits);
    candidate.outcome.origin = candidate.picture.origin;
    candidate.outcome.bytes_in = candidate.picture.data.size();
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    const bool is_left_out = error.code() == Code::empty || error.code() == Code::unsupported;
    mark_failed(candidate.outcome, error);
    if (!is_left_out || sample.fault) return;
    candidate.outcome.kind = Outcome::Kind::skipped;
    candidate.outcome.message =
        error.code() == Code::empty ? "no picture" : "of a format or kind that is not decoded here";
  }
}

// Loads what fits into memory, in random order, so that what fits is a random choice, too.
std::vector<Candidate> load_all(const std::vector<Sample>& samples,
                                const DecodeBenchOptions& options, bool& memory_was_short) {
  std::vector<std::optional<Candidate>> loaded(samples.size());
  std::uint64_t bytes = 0;
  for (const std::size_t index : random_order(samples.size(), options.choice.seed)) {
    check_interrupt();
    if (bytes > kMostBytes) {
      memory_was_short = true;
      break;
    }
    load(samples[index], options.limits, loaded[index].emplace());
    bytes += loaded[index]->picture.data.size();
  }
  std::vector<Candidate> candidates;
  for (auto& candidate : loaded) {
    if (candidate) candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

// Has each picture decoded once by every decoder, and the results compared. What a decoder cannot
// decode is a bad sample, and measured with none of them.
class Checker {
 public:
  Checker(const DecodeBenchOptions& options, int threads) : options_(options), threads_(threads) {
    for (const DecoderKind* kind : options.decoders) agreements_.push_back({kind, 0, 0, 0, ""});
    crew_.resize(static_cast<std::size_t>(threads));
  }

  void check(std::vector<Candidate>& candidates) {
    differences_.assign(candidates.size(), std::vector<Difference>(options_.decoders.size()));
    std::atomic<std::size_t> next{0};
    run_pinned(
        threads_, [&](int thread) { prepare(crew_[static_cast<std::size_t>(thread)]); },
        [&](int thread) {
          for (std::size_t i; (i = next++) < candidates.size();) {
            check_interrupt();
            if (!candidates[i].is_good()) continue;
            check(candidates[i], crew_[static_cast<std::size_t>(thread)], differences_[i]);
          }
        });
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].is_good()) add_up(candidates[i].picture, differences_[i]);
    }
  }

  std::vector<Agreement> agreements() && { return std::move(agreements_); }

 private:
  struct Worker {
    std::unique_ptr<image::RgbDecoder> reference;
    std::vector<std::unique_ptr<PictureDecoder>> decoders;
  };
  struct Difference {
    bool compared = false, too_large = false;
    double mean = 0;
  };

  void prepare(Worker& worker) const {
    worker.reference = std::make_unique<image::RgbDecoder>();
    for (const DecoderKind* kind : options_.decoders) worker.decoders.push_back(kind->make());
  }

  void check(Candidate& candidate, Worker& worker, std::vector<Difference>& differences) const {
    const BenchPicture& picture = candidate.picture;
    std::string who = "libjpeg-turbo";
    try {
      std::optional<image::Plane> reference;
      if (picture.is_plain_jpeg) reference = worker.reference->decode(picture.data.view());
      if (reference && worker.reference->lost_data()) {
        fail(Code::corrupt, "{}", worker.reference->warning());
      }
      for (std::size_t i = 0; i < options_.decoders.size(); ++i) {
        const DecoderKind& kind = *options_.decoders[i];
        if (!kind.takes(picture) || (kind.reads_files && picture.path.empty())) continue;
        who = kind.title;
        PictureDecoder& decoder = *worker.decoders[i];
        const Decoded decoded =
            kind.reads_files ? decoder.decode_file(picture.path) : decoder.decode(picture.data);
        if (reference) differences[i] = compare(decoded, image::as_const(*reference));
      }
    } catch (const Error& error) {
      mark_failed(candidate.outcome,
                  Error(error.code(),
                        fmt::format("{}: {}: {}", printable(picture.origin), who, error.what())));
    }
  }

  static Difference compare(const Decoded& decoded, const image::ConstPlane& reference) {
    const double mean = mean_difference(decoded, reference);
    return {true, mean > allowed_difference(decoded, reference), mean};
  }

  void add_up(const BenchPicture& picture, const std::vector<Difference>& differences) {
    for (std::size_t i = 0; i < differences.size(); ++i) {
      Agreement& agreement = agreements_[i];
      if (!differences[i].compared) continue;
      ++agreement.pictures;
      if (differences[i].too_large) ++agreement.differing;
      if (differences[i].mean <= agreement.worst) continue;
      agreement.worst = differences[i].mean;
      agreement.worst_origin = picture.origin;
    }
  }

  const DecodeBenchOptions& options_;
  const int threads_;
  std::vector<Worker> crew_;
  std::vector<std::vector<Difference>> differences_;
  std::vector<Agreement> agreements_;
};

// Variants of every plain JPEG; one that cannot be made makes the picture a bad one.
std::vector<std::vector<Bytes>> make_variants(std::vector<Candidate>& candidates,
                                              const std::vector<std::string>& variants,
                                              int threads) {
  std::vector<std::vector<Bytes>> made(candidates.size());
  std::vector<std::unique_ptr<VariantMaker>> makers(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> next{0};
  run_pinned(
      threads,
      [&](int thread) {
        makers[static_cast<std::size_t>(thread)] = std::make_unique<VariantMaker>();
      },
      [&](int thread) {
        for (std::size_t i; (i = next++) < candidates.size();) {
          check_interrupt();
          Candidate& candidate = candidates[i];
          if (!candidate.is_good() || !candidate.picture.is_plain_jpeg) continue;
          try {
            for (const std::string& variant : variants) {
              made[i].push_back(
                  makers[static_cast<std::size_t>(thread)]->make(variant, candidate.picture.data));
            }
          } catch (const Error& error) {
            mark_failed(candidate.outcome, Error(error.code(), printable(candidate.outcome.origin) +
                                                                   ": " + error.what()));
          }
        }
      });
  return made;
}

PictureSet& set_of(std::vector<PictureSet>& sets, const std::string& name,
                   const std::string& variant) {
  for (PictureSet& set : sets) {
    if (set.name == name && set.variant == variant) return set;
  }
  sets.push_back({name, variant, {}, true, true});
  return sets.back();
}

void add_to_set(PictureSet& set, BenchPicture picture) {
  set.on_disk = set.on_disk && picture.content;
  set.are_files = set.are_files && !picture.path.empty();
  set.pictures.push_back(std::move(picture));
}

BenchPicture variant_picture(const BenchPicture& raw, Bytes data) {
  BenchPicture picture = describe_picture(std::move(data), PictureLimits());
  picture.key = raw.key;
  picture.origin = raw.origin;
  return picture;
}

std::vector<PictureSet> make_sets(const std::vector<Candidate>& candidates,
                                  const std::vector<std::vector<Bytes>>& made,
                                  const DecodeBenchOptions& options) {
  std::vector<PictureSet> sets;
  for (const std::string& variant : options.variants) set_of(sets, "JPEG", variant);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const BenchPicture& picture = candidates[i].picture;
    if (!candidates[i].is_good()) continue;
    if (!picture.is_plain_jpeg) add_to_set(set_of(sets, set_name(picture), "raw"), picture);
    for (std::size_t v = 0; v < made[i].size(); ++v) {
      const std::string& variant = options.variants[v];
      add_to_set(set_of(sets, "JPEG", variant),
                 variant == "raw" ? picture : variant_picture(picture, made[i][v]));
    }
  }
  std::erase_if(sets, [](const PictureSet& set) { return set.pictures.empty(); });
  return sets;
}

std::vector<DecodeCase> make_cases(const std::vector<PictureSet>& sets,
                                   const DecodeBenchOptions& options) {
  std::vector<DecodeCase> cases;
  for (const PictureSet& set : sets) {
    for (const bool from_disk : {false, true}) {
      if (from_disk ? !options.from_disk || !set.on_disk : !options.from_memory) continue;
      for (const DecoderKind* decoder : options.decoders) {
        if (!decoder->takes(set.pictures[0])) continue;
        if (decoder->reads_files && !(from_disk && set.are_files)) continue;
        for (const int threads : options.threads) {
          cases.push_back({&set, decoder, from_disk, threads, {}, {}});
        }
      }
    }
  }
  return cases;
}

void decode(PictureDecoder& decoder, const DecodeCase& what, const BenchPicture& picture) {
  if (what.decoder->reads_files) {
    decoder.decode_file(picture.path);
  } else {
    decoder.decode(what.from_disk ? picture.content->load() : picture.data);
  }
}

struct Times {
  double wall = 0, cpu = 0;
};

Times time_once(const DecodeCase& what) {
  std::vector<std::unique_ptr<PictureDecoder>> decoders(static_cast<std::size_t>(what.threads));
  std::vector<double> cpu(decoders.size());
  std::atomic<std::size_t> next{0};
  const std::vector<BenchPicture>& pictures = what.set->pictures;
  const double wall = run_pinned(
      what.threads,
      [&](int thread) { decoders[static_cast<std::size_t>(thread)] = what.decoder->make(); },
      [&](int thread) {
        PictureDecoder& decoder = *decoders[static_cast<std::size_t>(thread)];
        const double start = thread_cpu_seconds();
        for (std::size_t i; (i = next++) < pictures.size();) {
          check_interrupt();
          decode(decoder, what, pictures[i]);
        }
        cpu[static_cast<std::size_t>(thread)] = thread_cpu_seconds() - start;
      });
  return {wall, std::accumulate(cpu.begin(), cpu.end(), 0.0)};
}

// Every run has all cases in an order of its own, so that whatever changes with time (a CPU that
// grows hot, a neighbour) meets all of them alike.
void measure_cases(std::vector<DecodeCase>& cases, const DecodeBenchOptions& options,
             Reporter& reporter) {
  for (int run = -options.warmup; run < options.runs; ++run) {
    const double start = wall_seconds();
    const std::uint64_t seed = options.choice.seed * 1000 + static_cast<std::uint64_t>(run + 1000);
    for (const std::size_t index : random_order(cases.size(), seed)) {
      const Times times = time_once(cases[index]);
      if (run < 0) continue;
      cases[index].seconds.push_back(times.wall);
      cases[index].cpu_seconds.push_back(times.cpu);
    }
    if (run == -options.warmup) {
      reporter.say(fmt::format("{} cases, {:.1f} s a run, {} runs to go", cases.size(),
                               wall_seconds() - start, options.warmup + options.runs - 1));
    }
  }
}

}  // namespace

std::uint64_t PictureSet::bytes() const {
  std::uint64_t sum = 0;
  for (const BenchPicture& picture : pictures) sum += picture.data.size();
  return sum;
}

double PictureSet::megapixels() const {
  double sum = 0;
  for (const BenchPicture& picture : pictures) sum += picture.megapixels();
  return sum;
}

DecodeMeasurements measure_decoding(const RunContext& run, const DecodeBenchOptions& options) {
  DecodeMeasurements results;
  results.choice = choose_samples(group_inputs(run), run, options.choice);
  run.reporter.expect(results.choice.samples.size(), 0);
  auto candidates = load_all(results.choice.samples, options, results.memory_was_short);
  results.choice.samples.clear();
  results.memory_was_short |= results.choice.memory_was_short;
  std::vector<std::vector<Bytes>> made;
  {
    const BorrowedThreads threads(run.slots);
    Checker checker(options, threads.count());
    checker.check(candidates);
    results.agreements = std::move(checker).agreements();
    made = make_variants(candidates, options.variants, threads.count());
  }
  for (const Candidate& candidate : candidates) run.reporter.add(candidate.outcome);
  results.sets = make_sets(candidates, made, options);
  std::vector<BenchPicture> good;
  for (Candidate& candidate : candidates) {
    if (candidate.is_good()) good.push_back(std::move(candidate.picture));
  }
  results.digest = data_digest(good);
  results.cases = make_cases(results.sets, options);
  if (results.cases.empty()) fail(Code::empty, "there is no picture that could be measured");
  measure_cases(results.cases, options, run.reporter);
  return results;
}

}  // namespace prep
