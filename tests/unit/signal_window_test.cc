#include <catch2/catch.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/window.h"

namespace prep::signal::signal_window_test {
namespace {

std::vector<double> made(const char* name, std::size_t length) {
  return make_window(parse_window(name), length);
}

TEST_CASE("Windows have scipy's values") {
  CHECK(made("boxcar", 3) == std::vector<double>{1, 1, 1});
  CHECK(made("hann", 4) == std::vector<double>{0, 0.5, 1, 0.5});
  CHECK(made("hamming", 4)[0] == Approx(0.08));
  CHECK(made("hamming", 4)[2] == 1);
  // scipy.signal.get_window(("tukey", 0.5), 8), (("dpss", 2.5), 8) and (("dpss", 2.5), 7)
  const std::vector<double> tukey = {0, 0.5, 1, 1, 1, 1, 1, 0.5};
  CHECK(made("tukey:0.5", 8) == tukey);
  CHECK(made("tukey:0", 5) == std::vector<double>(5, 1.0));
  CHECK(made("tukey:1", 8) == made("hann", 8));
}

TEST_CASE("A Slepian window has scipy's values") {
  const std::vector<double> odd = {
      0.0408088710638165, 0.201854177104208, 0.512164771950553, 0.85034762398289, 1,
      0.850347623982891,  0.512164771950553, 0.201854177104208};
  const std::vector<double> even = {0.0524043608539944, 0.263186043481112, 0.639750596958442,
                                    0.962406015037594,  0.962406015037594, 0.639750596958442,
                                    0.263186043481112};
  const std::vector<double> of_8 = made("dpss:2.5", 8), of_7 = made("dpss:2.5", 7);
  REQUIRE(of_8.size() == 8);
  REQUIRE(of_7.size() == 7);
  for (std::size_t i = 0; i < 8; ++i) CHECK(of_8[i] == Approx(odd[i]).epsilon(1e-12));
  for (std::size_t i = 0; i < 7; ++i) CHECK(of_7[i] == Approx(even[i]).epsilon(1e-12));
}

TEST_CASE("A window of one sample is 1") {
  for (const char* name : {"boxcar", "hann", "hamming", "tukey:0.5", "dpss:3"}) {
    CHECK(made(name, 1) == std::vector<double>{1});
  }
}

TEST_CASE("A window's name can be read again") {
  for (const char* name : {"boxcar", "hann", "hamming", "tukey:0.25", "dpss:2.5"}) {
    CHECK(window_name(parse_window(name)) == name);
  }
}

TEST_CASE("Windows that there are not") {
  for (const char* name : {"", "hanning", "hann:1", "hann:", "tukey", "tukey:", "tukey:x",
                           "dpss:nan", "tukey:0.5 ", "dpss:inf", "dpss:1,5"}) {
    CHECK_THROWS_AS(parse_window(name), Error);
  }
  CHECK_THROWS_AS(made("tukey:1.5", 8), Error);
  CHECK_THROWS_AS(made("tukey:-1", 8), Error);
  CHECK_THROWS_AS(made("dpss:4", 8), Error);
  CHECK_THROWS_AS(made("dpss:0", 8), Error);
  CHECK_THROWS_AS(made("hann", 0), Error);
}

}  // namespace
}  // namespace prep::signal::signal_window_test
