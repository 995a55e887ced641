// Short-time Fourier transforms of one channel: scipy.signal.spectrogram's conventions, and those
// of torch.stft and librosa.
//
// Frame s is the `nperseg` samples from s * hop on. It is detrended, multiplied with the window,
// filled up with zeros to `nfft` and transformed; what remains at the end of the signal is dropped.
// With X[k] the transform, fs the rate and w the window:
//
//     density   c = 1 / (fs sum w^2)     psd        c |X|^2, doubled where a bin stands for two:
//     spectrum  c = 1 / (sum w)^2                   everywhere but at k = 0 and, nfft being even,
//     none      c = 1                               at nfft / 2; never with scaling none
//                                        magnitude  sqrt(c) |X|
//                                        complex    sqrt(c) X
//
// A frame that holds a NaN or an infinity is NaN in all of its bins, and no other frame is.
//
// The results are the same on every machine and with every instruction set, whichever way a signal
// is divided over calls and threads: each frame is computed by itself, always by the same
// operations in the same order (see fft_plan.h). In float the mean and the trend are still found
// and taken off in double.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/signal/window.h"

namespace prep::signal {

enum class Detrend { none, constant, linear };
enum class Center { none, reflect, zero };
enum class Scaling { density, spectrum, none };
enum class Mode { psd, magnitude, complex };

inline constexpr std::size_t kMaxTransform = std::size_t{1} << 17;

struct StftSettings {
  double rate = 1;  // Hz
  Window window;
  std::size_t nperseg = 256;  // 1 to nfft
  std::size_t hop = 128;      // at least 1
  std::size_t nfft = 256;     // at most kMaxTransform
  Detrend detrend = Detrend::constant;
  // torch's and librosa's frames: nfft samples long, with the window in their middle. Detrending
  // still looks at nothing but the samples under the window.
  bool window_centred = false;
  // Other than none, half a frame of mirrored samples (without the edge itself) or of zeros is
  // thought of before the first and after the last sample: frame s is centred on sample s * hop.
  Center center = Center::none;
  Scaling scaling = Scaling::density;
  Mode mode = Mode::psd;
};

// [first, last)
struct Range {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const { return last - first; }
  bool operator==(const Range&) const = default;
};

// The part of a channel that is in memory: samples [first, first + samples.size()) of `total`.
template <typename T>
struct ChannelPart {
  std::span<const T> samples;
  std::int64_t first = 0;
  std::int64_t total = 0;
};

template <typename T>
struct StftTables;

// T is float or double. Costly to make (a window, a table of roots), cheap to copy; any number of
// threads may use it at once. A call takes working memory for as long as it runs: some 400 bytes
// times nfft at the most, and three times that where nfft has a prime factor above 31.
template <typename T>
class Stft {
 public:
  explicit Stft(const StftSettings& settings);  // throws Error(usage)

  const StftSettings& settings() const;
  std::size_t bins() const { return settings().nfft / 2 + 1; }
  double frequency(std::size_t bin) const;  // Hz
  double time(std::int64_t frame) const;    // of its centre, in seconds from the first sample on
  std::int64_t frames(std::int64_t samples) const;  // 0 where the signal is too short for one
  // throws Error(unsupported) where frames() is 0, with a message that says how long it had to be.
  void check_length(std::int64_t samples) const;

  // The samples out of `total` from which these frames are made; may be empty.
  Range samples_for(Range frames, std::int64_t total) const;

  // Bin b of frame f goes to out[(b - bins.first) * row_stride + (f - frames.first)]; row_stride is
  // at least the number of frames. The part must hold samples_for(frames). Frames that NaNs or
  // infinities touch are appended to `touched`. For the modes psd and magnitude.
  void run(const ChannelPart<T>& part, Range frames, Range bins, T* out, std::size_t row_stride,
           std::vector<std::int64_t>* touched) const;
  // The same for mode complex.
  void run(const ChannelPart<T>& part, Range frames, Range bins, std::complex<T>* out,
           std::size_t row_stride, std::vector<std::int64_t>* touched) const;

 private:
  std::shared_ptr<const StftTables<T>> tables_;
};

extern template class Stft<float>;
extern template class Stft<double>;

// Which instruction set is in use, for tests.
std::string_view stft_target();

}  // namespace prep::signal
