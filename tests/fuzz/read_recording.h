// What the fuzz targets of recordings do with one that opens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/signal/montage.h"
#include "lib/signal/recording.h"
#include "lib/signal/units.h"

namespace prep::fuzz {

inline constexpr std::uint64_t kMaxSamples = 1 << 18;  // of all channels; more only costs time

inline void check_info(const signal::RecordingInfo& info) {
  if (info.channels.empty() || info.segments.empty()) std::abort();
  for (std::size_t i = 0; i < info.channels.size(); ++i) {
    const signal::Channel& channel = info.channels[i];
    if (!is_utf8(channel.label) || !is_utf8(channel.unit)) std::abort();
    std::uint64_t next = 0;
    for (std::size_t s = 0; s < info.segments.size(); ++s) {
      const signal::SampleRange range = info.range(i, s);
      if (range.first != next) std::abort();
      next += range.count;
    }
    if (next != channel.samples) std::abort();
    if (channel.is_readable() && !(channel.rate > 0)) std::abort();
  }
  for (const signal::Annotation& annotation : info.annotations) {
    if (!is_utf8(annotation.text)) std::abort();
  }
}

// All channels in one pass, then each by itself from its second sample on.
inline void read_all(const signal::Recording& recording) {
  const auto& channels = recording.info().channels;
  std::vector<std::vector<double>> together(channels.size());
  std::vector<signal::ReadRequest<double>> requests;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!channels[i].is_readable()) continue;
    total += channels[i].samples;
    if (total > kMaxSamples) return;
    together[i].resize(channels[i].samples);
    requests.push_back({i, 0, together[i]});
  }
  recording.read(std::span<const signal::ReadRequest<double>>(requests));
  for (const auto& request : requests) {
    const std::uint64_t first = std::min<std::uint64_t>(1, request.out.size());
    std::vector<double> alone(request.out.size() - first);
    recording.read(request.channel, first, std::span<double>(alone));
    if (!alone.empty() &&
        std::memcmp(alone.data(), request.out.data() + first, alone.size() * sizeof(double)) != 0) {
      std::abort();
    }
    std::vector<float> single(request.out.size());
    recording.read(request.channel, 0, std::span<float>(single));
  }
}

inline void plan(const signal::RecordingInfo& info) {
  for (const char* word : {"none", "average", "double-banana"}) {
    const signal::ChannelPlan plan =
        signal::plan_channels(info, signal::parse_channels("all"), signal::parse_montage(word),
                              signal::MissingPolicy::nan);
    signal::unit_warning(info, plan.channels);
  }
  signal::plan_channels(info, signal::parse_channels("10-20"), {}, signal::MissingPolicy::skip);
}

// Whatever is thrown but an Error, or one of code internal, is a fault.
template <typename Open>
void open_and_read(Open open) {
  try {
    const std::unique_ptr<signal::Recording> recording = open();
    check_info(recording->info());
    read_all(*recording);
    plan(recording->info());
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
  }
}

}  // namespace prep::fuzz
