#include "lib/signal/array_recording.h"

#include <algorithm>
#include <utility>

namespace prep::signal {

ArrayRecording::ArrayRecording(std::unique_ptr<RandomAccess> data, const ArrayLayout& layout,
                               std::vector<Calibration> calibrations, RecordingInfo info)
    : data_(std::move(data)), layout_(layout), calibrations_(std::move(calibrations)) {
  info_ = std::move(info);
}

template <typename T>
void ArrayRecording::run(std::span<const ReadRequest<T>> requests) const {
  if (layout_.interleaved) return read_interleaved(requests);
  for (const auto& request : requests) read_planar(request);
}

template <typename T>
void ArrayRecording::read_interleaved(std::span<const ReadRequest<T>> requests) const {
  const std::size_t width = layout_.format.bytes();
  const std::uint64_t frame = layout_.channels * width;
  const std::uint64_t step = std::max<std::uint64_t>(1, kReadPiece / frame);
  std::uint64_t begin = layout_.samples, end = 0;
  for (const auto& request : requests) {
    begin = std::min(begin, request.first);
    end = std::max(end, request.first + request.out.size());
  }
  for (std::uint64_t at = begin; at < end; at += step) {
    const std::uint64_t stop = std::min(end, at + step);
    const Bytes piece = data_->read(layout_.offset + at * frame, (stop - at) * frame);
    for (const auto& request : requests) {
      const std::uint64_t from = std::max(at, request.first);
      const std::uint64_t to = std::min(stop, request.first + request.out.size());
      if (from >= to) continue;
      decode_samples(piece.data() + (from - at) * frame + request.channel * width, frame,
                     layout_.format, calibrations_[request.channel],
                     request.out.subspan(from - request.first, to - from));
    }
  }
}

template <typename T>
void ArrayRecording::read_planar(const ReadRequest<T>& request) const {
  const std::size_t width = layout_.format.bytes();
  const std::uint64_t start =
      layout_.offset + (request.channel * layout_.samples + request.first) * width;
  const std::size_t step = kReadPiece / width;
  for (std::size_t done = 0; done < request.out.size(); done += step) {
    const auto out = request.out.subspan(done, std::min(step, request.out.size() - done));
    const Bytes piece = data_->read(start + done * width, out.size() * width);
    decode_samples(piece.data(), width, layout_.format, calibrations_[request.channel], out);
  }
}

template void ArrayRecording::run(std::span<const ReadRequest<float>> requests) const;
template void ArrayRecording::run(std::span<const ReadRequest<double>> requests) const;

}  // namespace prep::signal
