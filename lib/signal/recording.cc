#include "lib/signal/recording.h"

#include <algorithm>

#include "lib/core/text.h"

namespace prep::signal {
namespace {

template <typename T>
void check(const RecordingInfo& info, const ReadRequest<T>& request) {
  if (request.channel >= info.channels.size()) {
    fail(Code::usage, "there is no channel {}: there are {}", request.channel,
         info.channels.size());
  }
  const Channel& channel = info.channels[request.channel];
  if (channel.kind == ChannelKind::annotations) {
    fail(Code::usage, "channel '{}' holds annotations, not samples", printable(channel.label));
  }
  if (!channel.fault.empty()) {
    fail(Code::usage, "channel '{}' can't be read: {}", printable(channel.label), channel.fault);
  }
  if (request.first > channel.samples || request.out.size() > channel.samples - request.first) {
    fail(Code::usage, "channel '{}' has {} samples; {} from {} on were asked for",
         printable(channel.label), channel.samples, request.out.size(), request.first);
  }
}

}  // namespace

template <typename T>
void Recording::check_and_read(std::span<const ReadRequest<T>> requests) const {
  std::vector<ReadRequest<T>> wanted;
  for (const auto& request : requests) {
    check(info_, request);
    if (!request.out.empty()) wanted.push_back(request);
  }
  if (!wanted.empty()) do_read(std::span<const ReadRequest<T>>(wanted));
}

void Recording::read(std::span<const ReadRequest<float>> requests) const {
  check_and_read(requests);
}

void Recording::read(std::span<const ReadRequest<double>> requests) const {
  check_and_read(requests);
}

}  // namespace prep::signal
