#include <catch2/catch.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/frequency_axis.h"

namespace prep::signal::signal_frequency_axis_test {
namespace {

SpectrogramSettings settings_of(std::size_t nfft) {
  SpectrogramSettings settings;
  settings.stft.nperseg = settings.stft.nfft = nfft;
  return settings;
}

TEST_CASE("Bins, all or cut, limits included") {
  SpectrogramSettings settings = settings_of(8);
  CHECK(make_frequency_axis(settings, 16).centres == std::vector<double>{0, 2, 4, 6, 8});
  settings.fmin = 2;
  settings.fmax = 6;
  const FrequencyAxis axis = make_frequency_axis(settings, 16);
  CHECK(axis.bins == Range{1, 4});
  CHECK(axis.centres == std::vector<double>{2, 4, 6});
  CHECK_FALSE(axis.bank);
  settings.fmin = 2.5;
  settings.fmax = 3.5;
  CHECK_THROWS_AS(make_frequency_axis(settings, 16), Error);
}

TEST_CASE("Bands stand for their middle") {
  SpectrogramSettings settings = settings_of(100);
  settings.bands = parse_bands("alpha,20-30");
  const FrequencyAxis axis = make_frequency_axis(settings, 100);
  CHECK(axis.rows() == 2);
  CHECK(axis.centres == std::vector<double>{10.5, 25});
  CHECK(axis.bins == Range{8, 30});
  CHECK_THROWS_AS(make_frequency_axis(settings, 15), Error);
}

TEST_CASE("Mels stand for their peaks") {
  SpectrogramSettings settings = settings_of(256);
  settings.mels = 4;
  settings.fmax = 20;
  const FrequencyAxis axis = make_frequency_axis(settings, 200);
  // Up to 1 kHz Slaney's scale is linear: five equal steps from 0 to 20 Hz.
  REQUIRE(axis.rows() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(axis.centres[i] == Approx(4.0 * (i + 1.0)));
  settings.mels = 1;
  CHECK(make_frequency_axis(settings, 200).centres[0] == Approx(10));
}

}  // namespace
}  // namespace prep::signal::signal_frequency_axis_test
