#include "lib/signal/spectrogram.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "lib/core/error.h"
#include "lib/signal/array_finish.h"
#include "lib/signal/log_scale.h"
#include "lib/signal/statistics_file.h"

namespace prep::signal {

// What a rate needs, made once.
template <typename T>
struct Transform {
  Transform(const StftSettings& settings, FrequencyAxis frequencies)
      : stft(settings), axis(std::move(frequencies)) {}
  Stft<T> stft;
  FrequencyAxis axis;
};

namespace {

constexpr std::size_t kMostTransforms = 16;
// The frames that a transform has side by side, or a multiple of them.
constexpr std::size_t kLanes = 16;
// An overview is for one picture: the more channels, the less of each.
constexpr std::size_t kOverviewRows = 1440, kLeastOverviewRows = 12, kMostOverviewRows = 128;
constexpr std::size_t kOverviewColumns = 1000, kMostOverviewChannels = 256;

// [first, last) runs of rising numbers.
std::vector<Range> runs_of(std::vector<std::int64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<Range> runs;
  for (const std::int64_t number : numbers) {
    if (runs.empty() || runs.back().last != number) {
      runs.push_back({number, number + 1});
    } else {
      ++runs.back().last;
    }
  }
  return runs;
}

// Reads from a stretch that may reach outside of the signal.
template <typename T>
void read_stretch(const PreparedSignal& signal, Range range, Outside outside, T* out,
                  std::size_t stride) {
  const Range inside{std::clamp<std::int64_t>(range.first, 0, signal.length()),
                     std::clamp<std::int64_t>(range.last, 0, signal.length())};
  if (!(inside == range)) {
    const T filler = outside == Outside::nan ? std::numeric_limits<T>::quiet_NaN() : T{0};
    for (std::size_t c = 0; c < signal.plan().outputs.size(); ++c) {
      std::fill_n(out + c * stride, static_cast<std::size_t>(range.size()), filler);
    }
  }
  if (inside.size() > 0) signal.read(inside, out + (inside.first - range.first), stride);
}

// By channel and then by row: the statistics of a file. Empty where values are not normalised by
// one.
using FileMoments = std::vector<const std::vector<Moments>*>;

FileMoments find_moments(const SpectrogramSettings& settings,
                         const std::vector<OutputChannel>& outputs, const FrequencyAxis& axis) {
  FileMoments moments;
  if (settings.normalize != Normalize::file) return moments;
  for (const OutputChannel& output : outputs) {
    moments.push_back(&settings.statistics->of(output.name, axis.centres));
  }
  return moments;
}

// --- blocks of frames ----------------------------------------------------------------------------

// How many frames of all channels are made at a time.
struct BlockLimits {
  std::size_t channel_bytes;  // of one channel's frames: stay in a core's cache until they are put
  std::size_t block_bytes;    // of all channels' frames, where they are gathered first
  std::size_t sample_bytes;   // of what they are made of
};
// What malloc gets from the kernel and gives back each time costs a quarter of the time. So where
// the array is in memory, all stay below the size (4 MiB, in lib/core/tool.cc) from which it does
// that; where it is a file, fewer and longer runs are written.
constexpr BlockLimits kForMemory{256 << 10, 3 << 20, 3 << 20};
constexpr BlockLimits kForFile{512 << 10, 16 << 20, 32 << 20};

// But neither are there fewer frames than a transform takes, nor are most samples read only for
// overlaps, if that can be had for this much.
constexpr std::size_t kMostSampleBytes = 96 << 20;

std::size_t whole_lanes(std::size_t frames) {
  return frames < kLanes ? frames : frames / kLanes * kLanes;
}

// `is_direct`: frames are made where they belong. `frame_bytes`: of one channel, on the way.
std::size_t frames_in_block(const StftSettings& stft, const ArrayShape& shape,
                            std::size_t frame_bytes, std::size_t sample_bytes,
                            const BlockLimits& limits, bool is_direct) {
  std::size_t frames = limits.channel_bytes / frame_bytes;
  if (!is_direct) {
    frames = std::min(frames, limits.block_bytes / (shape.channels * shape.frequencies * 4));
  }
  const std::size_t wanted = kLanes * std::min(stft.hop, stft.nfft) + stft.nfft;
  const std::size_t samples = std::max(limits.sample_bytes / sample_bytes,
                                       std::min(wanted, kMostSampleBytes / sample_bytes));
  frames = std::min(std::max(frames, kLanes), samples / stft.hop);
  return whole_lanes(std::clamp<std::size_t>(frames, 1, shape.times));
}

// Makes an array block by block.
template <typename T>
class BlockMaker {
 public:
  BlockMaker(const SpectrogramSettings& settings, const Transform<T>& transform,
             const PreparedSignal& signal, Range samples, Outside outside,
             const FileMoments& moments, NpyType type, Layout layout)
      : settings_(settings),
        stft_(transform.stft),
        axis_(transform.axis),
        signal_(signal),
        samples_(samples),
        outside_(outside),
        moments_(moments),
        type_(type),
        layout_(layout),
        channels_(signal.plan().outputs.size()),
        touched_(channels_) {
    stft_.check_length(samples.size());
    frames_ = stft_.frames(samples.size());
    is_in_memory_ = ArrayStore::is_in_memory(type, shape());
    const std::size_t frame_bytes = static_cast<std::size_t>(axis_.bins.size()) * sizeof(T);
    each_ =
        frames_in_block(stft_.settings(), shape(), frame_bytes, signal_.bytes_a_sample(sizeof(T)),
                        is_in_memory_ ? kForMemory : kForFile, is_direct());
  }

  ArrayShape shape() const { return {channels_, axis_.rows(), static_cast<std::size_t>(frames_)}; }
  std::size_t pieces() const { return (shape().times + each_ - 1) / each_; }

  // One block into `store`, which is of the type and layout that were said.
  void make(std::size_t piece, ArrayStore& store) {
    const auto first = static_cast<std::int64_t>(piece * each_);
    const Range frames{first, std::min(frames_, first + static_cast<std::int64_t>(each_))};
    const Samples samples = read(frames);
    Outcome outcome(channels_);
    const auto columns = static_cast<std::size_t>(frames.size());
    if (type_ == NpyType::complex64) {
      make_complex(samples, frames, store, outcome);
    } else if (is_direct()) {
      make_floats(samples, frames, store.row_in_memory(0, 0) + first, shape().times, outcome);
    } else {
      std::vector<float> block(channels_ * axis_.rows() * columns);
      make_floats(samples, frames, block.data(), columns, outcome);
      const Uint8Scale scale = settings_.uint8_scale.value_or(Uint8Scale());
      outcome.losses = put_encoded(block, type_, scale, columns, piece * each_, store);
    }
    take(outcome);
  }

  float largest_value() const { return largest_; }
  const EncodingLosses& losses() const { return losses_; }
  std::vector<std::vector<Range>> nan_frames() {
    std::vector<std::vector<Range>> all;
    for (auto& numbers : touched_) all.push_back(runs_of(numbers));
    return all;
  }

 private:
  struct Samples {
    Range range;  // of the stretch
    std::vector<T> values;
    ChannelPart<T> part(std::size_t channel, std::int64_t total) const {
      const auto length = static_cast<std::size_t>(range.size());
      return {std::span(values).subspan(channel * length, length), range.first, total};
    }
  };
  struct Outcome {
    explicit Outcome(std::size_t channels) : touched(channels) {}
    std::vector<std::vector<std::int64_t>> touched;
    EncodingLosses losses;
    float largest = -std::numeric_limits<float>::infinity();
  };

  bool is_direct() const {
    return is_in_memory_ && type_ == NpyType::float32 && layout_ == Layout::cft;
  }

  Samples read(Range frames) const {
    Samples samples{stft_.samples_for(frames, samples_.size()), {}};
    const auto length = static_cast<std::size_t>(samples.range.size());
    samples.values.resize(channels_ * length);
    read_stretch(signal_,
                 {samples_.first + samples.range.first, samples_.first + samples.range.last},
                 outside_, samples.values.data(), length);
    return samples;
  }

  bool is_missing(std::size_t channel) const { return signal_.plan().outputs[channel].missing; }
  T filler() const {
    return settings_.signal.missing == MissingPolicy::nan ? std::numeric_limits<T>::quiet_NaN()
                                                          : T{0};
  }

  void make_floats(const Samples& samples, Range frames, float* out, std::size_t stride,
                   Outcome& outcome) const {
    const auto columns = static_cast<std::size_t>(frames.size());
    std::vector<T> scratch;
    for (std::size_t c = 0; c < channels_; ++c) {
      float* const to = out + c * axis_.rows() * stride;
      if constexpr (std::is_same_v<T, float>) {
        make_channel(samples, c, frames, to, stride, outcome);
      } else {
        scratch.resize(axis_.rows() * columns);
        make_channel(samples, c, frames, scratch.data(), columns, outcome);
        for (std::size_t r = 0; r < axis_.rows(); ++r) {
          for (std::size_t i = 0; i < columns; ++i) {
            to[r * stride + i] = static_cast<float>(scratch[r * columns + i]);
          }
        }
      }
      finish_rows(c, to, stride, columns, outcome);
    }
  }

  // Powers or magnitudes, in rows, on their scale.
  void make_channel(const Samples& samples, std::size_t channel, Range frames, T* out,
                    std::size_t stride, Outcome& outcome) const {
    const auto columns = static_cast<std::size_t>(frames.size());
    if (is_missing(channel)) {
      for (std::size_t r = 0; r < axis_.rows(); ++r) {
        std::fill_n(out + r * stride, columns, filler());
      }
    } else {
      const ChannelPart<T> part = samples.part(channel, samples_.size());
      if (axis_.bank) {
        std::vector<T> bins(static_cast<std::size_t>(axis_.bins.size()) * columns);
        stft_.run(part, frames, axis_.bins, bins.data(), columns, &outcome.touched[channel]);
        apply_bank(*axis_.bank, static_cast<std::size_t>(axis_.bins.first), bins.data(), columns,
                   columns, out, stride);
        spoil(outcome.touched[channel], frames, out, stride);
      } else {
        stft_.run(part, frames, axis_.bins, out, stride, &outcome.touched[channel]);
      }
    }
    if (settings_.log == LogScale::none) return;
    for (std::size_t r = 0; r < axis_.rows(); ++r) to_log(std::span(out + r * stride, columns));
  }

  // A row that no bin goes into is zero, but for the frames that hold a NaN.
  void spoil(const std::vector<std::int64_t>& touched, Range frames, T* out,
             std::size_t stride) const {
    for (const std::int64_t frame : touched) {
      for (std::size_t r = 0; r < axis_.rows(); ++r) {
        out[r * stride + static_cast<std::size_t>(frame - frames.first)] =
            std::numeric_limits<T>::quiet_NaN();
      }
    }
  }

  void to_log(std::span<T> values) const {
    const bool is_power = settings_.stft.mode == Mode::psd;
    if (settings_.log == LogScale::natural) {
      return to_logarithms(values, is_power ? kLeastPower : std::sqrt(kLeastPower));
    }
    if (!is_power) {
      for (T& value : values) value *= value;
    }
    to_decibels(values, Decibels{1, kLeastPower, -std::numeric_limits<double>::infinity()});
  }

  // What can be done at once, while the values are still in the cache.
  void finish_rows(std::size_t channel, float* rows, std::size_t stride, std::size_t columns,
                   Outcome& outcome) const {
    for (std::size_t r = 0; r < axis_.rows(); ++r) {
      const std::span<float> row(rows + r * stride, columns);
      if (settings_.top) outcome.largest = std::max(outcome.largest, largest<float>(row));
      if (!moments_.empty()) normalize(row, (*moments_[channel])[r]);
    }
  }

  void make_complex(const Samples& samples, Range frames, ArrayStore& store,
                    Outcome& outcome) const {
    const auto columns = static_cast<std::size_t>(frames.size());
    const std::size_t each = axis_.rows() * columns;
    std::vector<std::complex<float>> block(channels_ * each);
    std::vector<std::complex<T>> scratch(each);
    for (std::size_t c = 0; c < channels_; ++c) {
      if (is_missing(c)) {
        std::fill(scratch.begin(), scratch.end(), std::complex<T>(filler(), filler()));
      } else {
        stft_.run(samples.part(c, samples_.size()), frames, axis_.bins, scratch.data(), columns,
                  &outcome.touched[c]);
      }
      for (std::size_t i = 0; i < each; ++i) {
        block[c * each + i] = {static_cast<float>(scratch[i].real()),
                               static_cast<float>(scratch[i].imag())};
      }
    }
    store.put(block.data(), columns, static_cast<std::size_t>(frames.first));
  }

  void take(const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    for (std::size_t c = 0; c < channels_; ++c) {
      touched_[c].insert(touched_[c].end(), outcome.touched[c].begin(), outcome.touched[c].end());
    }
    losses_ += outcome.losses;
    largest_ = std::max(largest_, outcome.largest);
  }

  const SpectrogramSettings& settings_;
  const Stft<T>& stft_;
  const FrequencyAxis& axis_;
  const PreparedSignal& signal_;
  const Range samples_;
  const Outside outside_;
  const FileMoments& moments_;
  const NpyType type_;
  const Layout layout_;
  const std::size_t channels_;
  std::int64_t frames_ = 0;
  bool is_in_memory_ = false;
  std::size_t each_ = 0;  // frames in a block

  std::mutex mutex_;
  std::vector<std::vector<std::int64_t>> touched_;  // by channel
  EncodingLosses losses_;
  float largest_ = -std::numeric_limits<float>::infinity();
};

// --- the whole array -----------------------------------------------------------------------------

// Whether something about the values follows from all of them, so that none can be put into the
// final array before all are there.
bool needs_whole(const SpectrogramSettings& settings, const SpectrogramExtras& extras) {
  return settings.top || settings.normalize == Normalize::channel ||
         settings.normalize == Normalize::recording ||
         (settings.type == NpyType::uint8 && !settings.uint8_scale) || extras.statistics ||
         extras.overview;
}

void normalize_whole(const SpectrogramSettings& settings, const FileMoments& moments,
                     const ArrayFinisher& finisher, Spectrogram& result) {
  if (!moments.empty()) {
    return finisher.normalize(
        [&](std::size_t channel, std::size_t row) { return (*moments[channel])[row]; });
  }
  if (settings.normalize == Normalize::none) return;
  const Statistics statistics = finisher.gather();
  const bool by_channel = settings.normalize == Normalize::channel;
  for (std::size_t c = 0; c < (by_channel ? statistics.channels() : 1); ++c) {
    result.normalized.push_back(by_channel ? statistics.of_channel(c) : statistics.of_all());
  }
  finisher.normalize([&](std::size_t channel, std::size_t) {
    return result.normalized[by_channel ? channel : 0];
  });
}

// From plain values, which `store` holds, to the array that is wanted.
void finish_whole(const SpectrogramSettings& settings, const SpectrogramExtras& extras,
                  const FileMoments& moments, const Crew& crew, std::unique_ptr<ArrayStore>& store,
                  float largest, Spectrogram& result) {
  const ArrayFinisher finisher(*store, crew);
  if (settings.top && std::isfinite(largest)) {
    finisher.raise_to(largest - static_cast<float>(*settings.top));
  }
  if (extras.statistics) {
    result.statistics = finisher.gather();
    return;
  }
  // By a file's moments, it was done on the way if nothing stood in between.
  normalize_whole(settings, settings.top ? moments : FileMoments(), finisher, result);
  if (extras.overview) {
    const std::size_t rows =
        std::clamp(kOverviewRows / store->shape().channels, kLeastOverviewRows, kMostOverviewRows);
    result.overview = make_overview(*store, {kMostOverviewChannels, rows, kOverviewColumns});
  }
  if (settings.type == NpyType::uint8) {
    result.uint8_scale = settings.uint8_scale ? *settings.uint8_scale : finisher.range();
  }
  if (settings.type == NpyType::float32 && settings.layout == Layout::cft) return;
  auto encoded = std::make_unique<ArrayStore>(settings.type, store->shape(), settings.layout);
  result.losses =
      finisher.encode(*encoded, settings.type, result.uint8_scale.value_or(Uint8Scale()));
  store = std::move(encoded);
}

void describe_signal(const PreparedSignal& signal, Spectrogram& result) {
  for (const OutputChannel& output : signal.plan().outputs) {
    result.channels.push_back(output.name);
    result.units.push_back(output.unit);
    result.missing.push_back(output.missing);
  }
  result.rate = signal.plan().rate;
  result.warnings = signal.warnings();
}

void warn_of_losses(const SpectrogramSettings& settings, Spectrogram& result) {
  const auto warn = [&](std::size_t count, std::string_view what) {
    if (count > 0) result.warnings.push_back(fmt::format("{} values {}", count, what));
  };
  const bool is_half = settings.type == NpyType::float16;
  warn(result.losses.too_large,
       is_half ? "are too large for float16 and became infinite" : "lie above the range of uint8");
  warn(result.losses.too_small,
       is_half ? "are too small for float16 and became 0" : "lie below the range of uint8");
  warn(result.losses.nan, "are NaN and became 0 in uint8");
}

void warn_of_nan(Spectrogram& result) {
  const auto has_frames = [](const std::vector<Range>& frames) { return !frames.empty(); };
  if (std::any_of(result.nan_frames.begin(), result.nan_frames.end(), has_frames)) {
    result.warnings.emplace_back(
        "has frames of NaN, where the signal has gaps, NaNs or infinities (nan_frames in its "
        ".spec.json)");
  }
}

template <typename T>
Spectrogram make_of(const SpectrogramSettings& settings, const SpectrogramExtras& extras,
                    const Transform<T>& transform, const PreparedSignal& signal, Range samples,
                    Outside outside, const Crew& crew, std::unique_ptr<ArrayStore>& store) {
  Spectrogram result;
  describe_signal(signal, result);
  const bool whole = needs_whole(settings, extras);
  const FileMoments moments = find_moments(settings, signal.plan().outputs, transform.axis);
  const bool on_the_way = !settings.top;
  const FileMoments none;
  const NpyType type = whole ? NpyType::float32 : settings.type;
  const Layout layout = whole ? Layout::cft : settings.layout;
  BlockMaker<T> maker(settings, transform, signal, samples, outside, on_the_way ? moments : none,
                      type, layout);
  store = std::make_unique<ArrayStore>(type, maker.shape(), layout);
  crew.run(maker.pieces(), [&](std::size_t piece) { maker.make(piece, *store); });
  result.shape = maker.shape();
  result.axis = transform.axis;
  result.first_time =
      signal.start() + static_cast<double>(samples.first) / result.rate + transform.stft.time(0);
  result.time_step = static_cast<double>(settings.stft.hop) / result.rate;
  result.nan_frames = maker.nan_frames();
  warn_of_nan(result);
  result.losses = maker.losses();
  if (settings.type == NpyType::uint8) result.uint8_scale = settings.uint8_scale;
  if (whole) finish_whole(settings, extras, moments, crew, store, maker.largest_value(), result);
  return result;
}

// --- the preset hms ------------------------------------------------------------------------------

// The middle of the stretch, one row an output; a row of NaN behind them for what is not there.
std::vector<double> read_middle(const SpectrogramSettings& settings, const PreparedSignal& signal,
                                Range middle, Outside outside) {
  const std::vector<OutputChannel>& outputs = signal.plan().outputs;
  const auto length = static_cast<std::size_t>(kHmsSamples);
  std::vector<double> samples((outputs.size() + 1) * length,
                              std::numeric_limits<double>::quiet_NaN());
  read_stretch(signal, middle, outside, samples.data(), length);
  if (settings.signal.missing == MissingPolicy::zero) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].missing) std::fill_n(samples.data() + o * length, length, 0.0);
    }
  }
  return samples;
}

std::size_t find_electrode(const std::vector<OutputChannel>& outputs, std::string_view name) {
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const OutputChannel& output) { return output.name == name; });
  return static_cast<std::size_t>(found - outputs.begin());
}

Spectrogram make_hms(const SpectrogramSettings& settings, const SpectrogramExtras& extras,
                     const HmsSpectrogram& hms, const PreparedSignal& signal, Range samples,
                     Outside outside, const Crew& crew, std::unique_ptr<ArrayStore>& store) {
  Spectrogram result;
  result.rate = signal.plan().rate;
  result.warnings = signal.warnings();
  const std::vector<OutputChannel>& outputs = signal.plan().outputs;
  const Range middle = hms_middle(samples.size());
  const std::vector<double> rows = read_middle(
      settings, signal, {samples.first + middle.first, samples.first + middle.last}, outside);
  result.shape = {kHmsChains.size(), kHmsMels, kHmsFrames};
  store = std::make_unique<ArrayStore>(NpyType::float32, result.shape, Layout::cft);
  std::vector<float> values;
  for (const HmsChain& chain : kHmsChains) {
    std::array<std::span<const double>, 5> electrodes;
    for (std::size_t e = 0; e < chain.electrodes.size(); ++e) {
      const auto length = static_cast<std::size_t>(kHmsSamples);
      electrodes[e] =
          std::span(rows).subspan(find_electrode(outputs, chain.electrodes[e]) * length, length);
    }
    const HmsImage image = hms.chain(electrodes);
    values.insert(values.end(), image.values.begin(), image.values.end());
    result.channels.emplace_back(chain.name);
    result.units.emplace_back();
    result.nan_frames.emplace_back();
    result.dead_pairs.push_back(image.dead);
  }
  store->put(values.data(), kHmsFrames, 0);
  result.axis.bank = hms.mels();
  result.axis.centres = mel_peaks(hms.mels());
  result.first_time = signal.start() + static_cast<double>(samples.first + middle.first) / kHmsRate;
  result.time_step = static_cast<double>(kHmsHop) / kHmsRate;
  finish_whole(settings, extras, {}, crew, store, 0, result);
  return result;
}

}  // namespace

// --- the maker -----------------------------------------------------------------------------------

SpectrogramMaker::SpectrogramMaker(SpectrogramSettings settings, SpectrogramExtras extras)
    : settings_(std::move(settings)), extras_(extras) {
  if (settings_.hms) hms_.emplace();
}

SpectrogramMaker::~SpectrogramMaker() = default;

template <typename T>
std::shared_ptr<const Transform<T>> SpectrogramMaker::transform_for(double rate) {
  const std::lock_guard lock(mutex_);
  Transforms<T>* transforms;
  if constexpr (std::is_same_v<T, float>) {
    transforms = &transforms_float_;
  } else {
    transforms = &transforms_double_;
  }
  if (transforms->size() >= kMostTransforms && !transforms->contains(rate)) transforms->clear();
  auto& transform = (*transforms)[rate];
  if (!transform) {
    StftSettings stft = settings_.stft;
    stft.rate = rate;
    transform = std::make_shared<const Transform<T>>(stft, make_frequency_axis(settings_, rate));
  }
  return transform;
}

Spectrogram SpectrogramMaker::make(PreparedSignal& signal, Range samples, Outside outside,
                                   const Crew& crew, const std::string& origin,
                                   std::int64_t mtime_ns) {
  signal.prepare(crew);
  const double rate = signal.plan().rate;
  std::unique_ptr<ArrayStore> store;
  Spectrogram result;
  if (hms_) {
    result = make_hms(settings_, extras_, *hms_, signal, samples, outside, crew, store);
  } else if (settings_.precision == Precision::twofold) {
    result = make_of(settings_, extras_, *transform_for<double>(rate), signal, samples, outside,
                     crew, store);
  } else {
    result = make_of(settings_, extras_, *transform_for<float>(rate), signal, samples, outside,
                     crew, store);
  }
  if (extras_.statistics) return result;
  warn_of_losses(settings_, result);
  result.array = store->take(origin, mtime_ns);
  return result;
}

}  // namespace prep::signal
