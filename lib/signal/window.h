// Window functions, as scipy.signal.get_window makes them: periodic, that is, computed for one
// sample more than asked for, and without that sample. Sources: scipy 1.10 signal/windows; for the
// discrete prolate spheroidal sequence (Slepian window) Percival & Walden 1993, page 386.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prep::signal {

struct Window {
  enum class Kind { boxcar, hann, hamming, tukey, dpss };
  Kind kind = Kind::hann;
  // tukey: the share of the window that is tapered, 0 (boxcar) to 1 (hann).
  // dpss: the half bandwidth NW, in bins; the window is the sequence of order 0, scaled to a
  // maximum of 1 (scipy's norm="approximate").
  double parameter = 0;

  bool operator==(const Window&) const = default;
};

// "boxcar", "hann", "hamming", "tukey:0.25", "dpss:2.5". throws Error(usage).
Window parse_window(std::string_view text);
// The same text again.
std::string window_name(const Window& window);

// `length` values, at least 1. throws Error(usage) for a parameter that the window cannot have.
std::vector<double> make_window(const Window& window, std::size_t length);

}  // namespace prep::signal
