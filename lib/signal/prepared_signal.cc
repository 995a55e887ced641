#include "lib/signal/prepared_signal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/text.h"
#include "lib/signal/units.h"

namespace prep::signal {
namespace {

constexpr int kFilterOrder = 4;
constexpr double kNotchQuality = 30;
constexpr double kSameRate = 1e-9;    // relative
constexpr double kRatioError = 1e-9;  // from which on it is worth a word
constexpr std::size_t kMostResamplers = 8;
constexpr std::int64_t kFillSamples = 1 << 16;  // of a channel at a time

double rate_of(const RecordingInfo& info, const OutputChannel& output) {
  return info.channels[output.terms[0].channel].rate;
}

std::vector<Filter> make_filters(const SignalSettings& settings, double rate) {
  std::vector<Filter> filters;
  if (settings.highpass) filters.push_back(make_highpass(*settings.highpass, rate, kFilterOrder));
  if (settings.lowpass) filters.push_back(make_lowpass(*settings.lowpass, rate, kFilterOrder));
  for (const double notch : settings.notches) {
    filters.push_back(make_notch(notch, rate, kNotchQuality));
  }
  return filters;
}

// The one rate of all outputs where nothing is resampled.
double common_rate(const RecordingInfo& info, const std::vector<OutputChannel>& outputs) {
  const OutputChannel* first = nullptr;
  for (const OutputChannel& output : outputs) {
    if (output.missing) continue;
    if (first == nullptr) first = &output;
    const double rate = rate_of(info, output), other = rate_of(info, *first);
    if (std::fabs(rate - other) > kSameRate * other) {
      fail(Code::unsupported,
           "{} has {} samples a second and {} has {}: --rate brings them to one rate, --channels "
           "says which to take",
           printable(first->name), other, printable(output.name), rate);
    }
  }
  if (first == nullptr) fail(Code::not_found, "there is no channel in it that can be taken");
  return rate_of(info, *first);
}

std::string ratio_warning(double error) {
  return fmt::format("its rate is reached but for a share of {:.1g}: {:.0f} ms in a day", error,
                     std::fabs(error) * 86'400'000);
}

// The piece of that number when `length` samples are divided into `pieces`.
Range share(std::int64_t length, std::size_t piece, std::int64_t pieces) {
  const auto number = static_cast<std::int64_t>(piece);
  const std::int64_t each = (length + pieces - 1) / pieces;
  return {std::min(length, number * each), std::min(length, (number + 1) * each)};
}

}  // namespace

const Resampler& ResamplerCache::get(const Ratio& ratio) {
  const std::pair key(ratio.up, ratio.down);
  const auto found = resamplers_.find(key);
  if (found != resamplers_.end()) return found->second;
  if (resamplers_.size() >= kMostResamplers) resamplers_.clear();
  return resamplers_.emplace(key, Resampler(ratio, ResampleEdge::repeat)).first->second;
}

SignalPlan plan_signal(const RecordingInfo& info, const SignalSettings& settings,
                       ResamplerCache& resamplers) {
  ChannelPlan channels = plan_channels(info, settings.channels, settings.montage, settings.missing);
  SignalPlan plan;
  plan.warnings = std::move(channels.warnings);
  if (std::string units = unit_warning(info, channels.channels); !units.empty()) {
    plan.warnings.push_back(std::move(units));
  }
  const double common = settings.rate ? 0 : common_rate(info, channels.outputs);
  plan.rate = settings.rate.value_or(common);
  double worst = 0;
  for (const OutputChannel& output : channels.outputs) {
    plan.filters.emplace_back();
    plan.resamplers.emplace_back();
    if (output.missing) continue;
    const double rate = rate_of(info, output);
    plan.filters.back() = make_filters(settings, rate);
    if (std::fabs(rate - plan.rate) <= kSameRate * plan.rate) continue;
    const Ratio ratio = rate_ratio(rate, plan.rate);
    plan.resamplers.back() = resamplers.get(ratio);
    const double error = ratio_error(ratio, rate, plan.rate);
    if (std::fabs(error) > std::fabs(worst)) worst = error;
  }
  if (std::fabs(worst) > kRatioError) plan.warnings.push_back(ratio_warning(worst));
  if (channels.channels.empty()) common_rate(info, channels.outputs);
  plan.outputs = std::move(channels.outputs);
  plan.average = std::move(channels.average);
  return plan;
}

PreparedSignal::PreparedSignal(std::shared_ptr<const Recording> recording,
                               std::shared_ptr<const SignalPlan> plan,
                               std::optional<std::size_t> segment)
    : recording_(std::move(recording)),
      plan_(std::move(plan)),
      timelines_(recording_->info().channels.size()),
      start_(recording_->info().segments[segment.value_or(0)].start) {
  const RecordingInfo& info = recording_->info();
  const auto use = [&](std::size_t channel) {
    if (!timelines_[channel]) timelines_[channel].emplace(info, channel, segment);
  };
  for (const OutputChannel& output : plan_->outputs) {
    for (const OutputChannel::Term& term : output.terms) use(term.channel);
  }
  for (const std::size_t channel : plan_->average) use(channel);
  bool is_first = true;
  for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
    if (plan_->outputs[o].missing) continue;
    const std::int64_t native = native_length(o);
    const auto& resampler = plan_->resamplers[o];
    const std::int64_t length = resampler ? resampler->output_length(native) : native;
    length_ = is_first ? length : std::min(length_, length);
    is_first = false;
  }
}

bool PreparedSignal::has_samples(Range range) const {
  for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
    if (plan_->outputs[o].missing) continue;
    const Timeline& line = timeline(plan_->outputs[o].terms[0].channel);
    if (line.has_samples(native_range(o, range))) return true;
  }
  return false;
}

std::int64_t PreparedSignal::native_length(std::size_t output) const {
  return timeline(plan_->outputs[output].terms[0].channel).length();
}

Range PreparedSignal::native_range(std::size_t output, Range range) const {
  const auto& resampler = plan_->resamplers[output];
  return resampler ? resampler->samples_for(range, native_length(output)) : range;
}

// --- reading -------------------------------------------------------------------------------------

// Whether the output is a channel of the file as it stands.
bool PreparedSignal::is_plain(std::size_t output) const {
  const OutputChannel& channel = plan_->outputs[output];
  return channel.terms.size() == 1 && channel.terms[0].weight == 1 && !channel.minus_average;
}

// Outputs that are made of several channels, in double. An output without a row is left out.
template <typename T>
void PreparedSignal::read_mixed(const std::vector<Range>& ranges,
                                const std::vector<T*>& rows) const {
  std::vector<Range> wanted(timelines_.size());
  const auto want = [&](std::size_t channel, Range range) {
    Range& all = wanted[channel];
    all = all.size() == 0 ? range
                          : Range{std::min(all.first, range.first), std::max(all.last, range.last)};
  };
  for (std::size_t o = 0; o < rows.size(); ++o) {
    if (rows[o] == nullptr) continue;
    for (const OutputChannel::Term& term : plan_->outputs[o].terms) want(term.channel, ranges[o]);
    if (!plan_->outputs[o].minus_average) continue;
    for (const std::size_t channel : plan_->average) want(channel, ranges[o]);
  }
  std::vector<std::vector<double>> samples(wanted.size());
  std::vector<ReadRequest<double>> requests;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (wanted[c].size() == 0) continue;
    samples[c].resize(static_cast<std::size_t>(wanted[c].size()));
    timeline(c).request(wanted[c], samples[c].data(), requests);
  }
  recording_->read(std::span<const ReadRequest<double>>(requests));
  const auto from = [&](std::size_t channel, Range range) {
    return samples[channel].data() + (range.first - wanted[channel].first);
  };

  std::vector<double> mean;
  Range mean_range;
  for (std::size_t o = 0; o < rows.size(); ++o) {
    if (rows[o] == nullptr) continue;
    const OutputChannel& output = plan_->outputs[o];
    const auto count = static_cast<std::size_t>(ranges[o].size());
    if (output.minus_average && (mean.empty() || !(mean_range == ranges[o]))) {
      mean.assign(count, 0);
      mean_range = ranges[o];
      for (const std::size_t channel : plan_->average) {
        const double* const values = from(channel, ranges[o]);
        for (std::size_t i = 0; i < count; ++i) mean[i] += values[i];
      }
      for (double& value : mean) value /= static_cast<double>(plan_->average.size());
    }
    std::vector<double> sum(count);
    for (const OutputChannel::Term& term : output.terms) {
      const double* const values = from(term.channel, ranges[o]);
      for (std::size_t i = 0; i < count; ++i) sum[i] += term.weight * values[i];
    }
    if (output.minus_average) {
      for (std::size_t i = 0; i < count; ++i) sum[i] -= mean[i];
    }
    std::copy(sum.begin(), sum.end(), rows[o]);
  }
}

// Outputs before filters and resampling.
template <typename T>
void PreparedSignal::read_native(const std::vector<Range>& ranges,
                                 const std::vector<T*>& rows) const {
  std::vector<ReadRequest<T>> requests;
  std::vector<T*> mixed(rows.size());
  bool is_mixed = false;
  for (std::size_t o = 0; o < rows.size(); ++o) {
    if (rows[o] == nullptr || ranges[o].size() <= 0) continue;
    if (is_plain(o)) {
      timeline(plan_->outputs[o].terms[0].channel).request(ranges[o], rows[o], requests);
    } else {
      mixed[o] = rows[o];
      is_mixed = true;
    }
  }
  recording_->read(std::span<const ReadRequest<T>>(requests));
  if (is_mixed) read_mixed(ranges, mixed);
}

std::size_t PreparedSignal::bytes_a_sample(std::size_t value_bytes) const {
  double bytes = 0, most = 1;
  bool is_mixed = false;
  for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
    bytes += static_cast<double>(value_bytes);
    if (plan_->outputs[o].missing) continue;
    is_mixed = is_mixed || !is_plain(o);
    if (!plan_->resamplers[o]) continue;
    const double share =
        std::max(1.0, rate_of(recording_->info(), plan_->outputs[o]) / plan_->rate);
    bytes += share * static_cast<double>(value_bytes);
    most = std::max(most, share);
  }
  if (is_mixed) {
    const auto channels = std::count_if(timelines_.begin(), timelines_.end(),
                                        [](const auto& line) { return line.has_value(); });
    bytes += most * static_cast<double>(channels) * sizeof(double);
  }
  return static_cast<std::size_t>(std::ceil(bytes));
}

template <typename T>
void PreparedSignal::read(Range range, T* out, std::size_t stride) const {
  const std::size_t outputs = plan_->outputs.size();
  std::vector<Range> ranges(outputs);
  std::vector<T*> rows(outputs);                   // from the file
  std::vector<std::vector<T>> resampled(outputs);  // before resampling
  for (std::size_t o = 0; o < outputs; ++o) {
    if (plan_->outputs[o].missing) continue;
    ranges[o] = native_range(o, range);
    T* row = out + o * stride;
    if (plan_->resamplers[o]) {
      resampled[o].resize(static_cast<std::size_t>(ranges[o].size()));
      row = resampled[o].data();
    }
    if (filtered_) {
      const std::span<double> whole = filtered_->row(o);
      std::copy(whole.begin() + ranges[o].first, whole.begin() + ranges[o].last, row);
      filtered_->put_away(whole.subspan(static_cast<std::size_t>(ranges[o].first),
                                        static_cast<std::size_t>(ranges[o].size())));
    } else {
      rows[o] = row;
    }
  }
  if (!filtered_) read_native(ranges, rows);
  for (std::size_t o = 0; o < outputs; ++o) {
    if (!plan_->resamplers[o] || plan_->outputs[o].missing) continue;
    const ChannelPart<T> part{resampled[o], ranges[o].first, native_length(o)};
    plan_->resamplers[o]->run(part, range, out + o * stride);
  }
}

template void PreparedSignal::read(Range, float*, std::size_t) const;
template void PreparedSignal::read(Range, double*, std::size_t) const;

// --- filters -------------------------------------------------------------------------------------

void PreparedSignal::prepare(const Crew& crew) {
  const auto has_filters = [](const std::vector<Filter>& filters) { return !filters.empty(); };
  if (std::none_of(plan_->filters.begin(), plan_->filters.end(), has_filters)) return;
  std::call_once(scratch_made_, [this] { make_scratch(); });
  crew.run(*filling_);
  crew.run(*filtering_);
}

void PreparedSignal::make_scratch() {
  std::vector<std::size_t> lengths;
  std::int64_t longest = 0;
  for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
    const std::int64_t length = plan_->outputs[o].missing ? 0 : native_length(o);
    lengths.push_back(static_cast<std::size_t>(length));
    longest = std::max(longest, length);
  }
  filtered_ = std::make_unique<ScratchRows>(lengths);
  gaps_.resize(lengths.size());
  pieces_ = (longest + kFillSamples - 1) / kFillSamples;
  filling_ = std::make_unique<SharedWork>(static_cast<std::size_t>(pieces_),
                                          [this](std::size_t piece) { fill(piece); });
  filtering_ = std::make_unique<SharedWork>(lengths.size(), [this](std::size_t o) { filter(o); });
}

// A stretch of time of all outputs, so that the file is read once.
void PreparedSignal::fill(std::size_t piece) {
  std::vector<Range> ranges(gaps_.size());
  std::vector<double*> rows(gaps_.size());
  for (std::size_t o = 0; o < gaps_.size(); ++o) {
    if (plan_->outputs[o].missing) continue;
    ranges[o] = share(native_length(o), piece, pieces_);
    rows[o] = filtered_->row(o).data() + ranges[o].first;
  }
  read_native(ranges, rows);
  for (std::size_t o = 0; o < gaps_.size(); ++o) {
    filtered_->put_away({rows[o], static_cast<std::size_t>(ranges[o].size())});
  }
}

void PreparedSignal::filter(std::size_t output) {
  for (const Filter& filter : plan_->filters[output]) {
    const auto passed = [&](std::span<const double> values) { filtered_->put_away(values); };
    const FilterGaps gaps = filter_zero_phase(filter, filtered_->row(output), passed);
    gaps_[output].runs += gaps.runs;
    gaps_[output].lost += gaps.lost;
  }
}

std::vector<std::string> PreparedSignal::warnings() const {
  FilterGaps all;
  for (const FilterGaps& gaps : gaps_) {
    all.runs += gaps.runs;
    all.lost += gaps.lost;
  }
  if (all.runs == 0) return {};
  return {fmt::format("{} stretches between gaps were too short to be filtered: {} samples are NaN",
                      all.runs, all.lost)};
}

}  // namespace prep::signal
