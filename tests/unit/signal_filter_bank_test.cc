#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/filter_bank.h"

namespace prep::signal::signal_filter_bank_test {
namespace {

TEST_CASE("Bins between two frequencies") {
  CHECK(bins_between(200, 256, 0, 100) == Range{0, 129});
  CHECK(bins_between(200, 1000, 0.2, 20) == Range{1, 101});
  CHECK(bins_between(173.61, 512, 10 * 173.61 / 512, 20 * 173.61 / 512) == Range{10, 21});
  CHECK(bins_between(200, 256, 30, 1000) == Range{39, 129});
  CHECK(bins_between(200, 1000, 5, 5) == Range{25, 26});
  CHECK_THROWS_WITH(bins_between(200, 100, 2.5, 3),
                    "no bin lies between 2.5 and 3 Hz: they are 2 Hz apart, up to 100 Hz");
  CHECK_THROWS_AS(bins_between(200, 100, 101, 120), Error);
  CHECK_THROWS_AS(bins_between(200, 100, 20, 10), Error);
  CHECK_THROWS_AS(bins_between(200, 100, -1, 10), Error);
}

TEST_CASE("Bands by name and by limits") {
  const std::vector<Band> bands = parse_bands("alpha,30-45.5");
  REQUIRE(bands.size() == 2);
  CHECK(bands[0].low == 8);
  CHECK(bands[0].high == 13);
  CHECK(bands[1].name == "30-45.5");
  CHECK(bands[1].high == 45.5);
  for (const char* list : {"", "mu", "8", "8-", "-8", "13-8", "8-8", "alpha,", "8-13x", "1-nan"}) {
    CHECK_THROWS_AS(parse_bands(list), Error);
  }
}

TEST_CASE("A band is the mean of its bins; a limit belongs to the upper band") {
  const FilterBank bank = make_band_bank(parse_bands("theta,alpha,gamma"), 100, 100);
  REQUIRE(bank.rows.size() == 3);
  CHECK(bank.rows[0].first_bin == 4);
  CHECK(bank.rows[0].weights.size() == 4);
  CHECK(bank.rows[1].first_bin == 8);
  CHECK(bank.rows[1].weights.size() == 5);
  CHECK(bank.rows[2].weights.size() == 21);  // up to half the rate
  CHECK(bank.bins() == Range{4, 51});
  std::vector<float> spectrum(47 * 2);
  for (std::size_t i = 0; i < spectrum.size(); ++i) spectrum[i] = static_cast<float>(i);
  std::vector<float> out(3 * 2);
  apply_bank(bank, 4, spectrum.data(), 2, 2, out.data(), 2);
  CHECK(out == std::vector<float>{3, 4, 12, 13, 72, 73});
  CHECK_THROWS_AS(make_band_bank(parse_bands("60-70"), 100, 100), Error);
  CHECK_THROWS_AS(make_band_bank(parse_bands("8.2-8.8"), 100, 100), Error);
}

TEST_CASE("Mels are triangles of area 1") {
  const FilterBank bank = make_mel_bank(40, 50, 8000, 16000, 4096);
  REQUIRE(bank.rows.size() == 40);
  for (const FilterBank::Row& row : bank.rows) {
    const double area = std::accumulate(row.weights.begin(), row.weights.end(), 0.0) * 16000 / 4096;
    CHECK(area == Approx(1).epsilon(0.01));
  }
  // A triangle narrower than a bin may be empty.
  std::size_t empty = 0;
  for (const FilterBank::Row& row : make_mel_bank(128, 0, 20, 200, 256).rows) {
    empty += row.weights.empty();
  }
  CHECK(empty > 64);
  CHECK_THROWS_AS(make_mel_bank(0, 0, 20, 200, 256), Error);
  CHECK_THROWS_AS(make_mel_bank(10, 0, 101, 200, 256), Error);
  CHECK_THROWS_AS(make_mel_bank(10, 20, 20, 200, 256), Error);
}

}  // namespace
}  // namespace prep::signal::signal_filter_bank_test
