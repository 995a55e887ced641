#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/timeline.h"
#include "tests/unit/made_recording.h"

namespace prep::signal::signal_timeline_test {
namespace {

std::shared_ptr<MadeRecording> counting(
    const std::vector<std::pair<double, std::uint64_t>>& segments) {
  std::uint64_t samples = 0;
  for (const auto& [start, count] : segments) samples += count;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < samples; ++i) values.push_back(static_cast<double>(i));
  auto recording = std::make_shared<MadeRecording>(10, std::vector<std::string>{"Fp1"},
                                                   std::vector<std::vector<double>>{values});
  recording->set_segments(segments);
  return recording;
}

// -1 for NaN.
std::vector<double> read(const Recording& recording, const Timeline& line, Range range) {
  std::vector<double> out(static_cast<std::size_t>(range.size()), -7);
  std::vector<ReadRequest<double>> requests;
  line.request(range, out.data(), requests);
  recording.read(std::span<const ReadRequest<double>>(requests));
  for (double& value : out) {
    if (std::isnan(value)) value = -1;
  }
  return out;
}

TEST_CASE("A segment by itself begins at 0") {
  const auto recording = counting({{0, 5}, {2, 4}});
  const Timeline line(recording->info(), 0, 1);
  CHECK(line.length() == 4);
  CHECK(read(*recording, line, {1, 4}) == std::vector<double>{6, 7, 8});
}

TEST_CASE("Over all segments there is NaN in the gaps") {
  const auto recording = counting({{0, 5}, {0.8, 4}, {1.2, 2}, {1.6, 1}});
  const Timeline line(recording->info(), 0, std::nullopt);
  CHECK(line.length() == 17);
  CHECK(read(*recording, line, {0, 17}) ==
        std::vector<double>{0, 1, 2, 3, 4, -1, -1, -1, 5, 6, 7, 8, 9, 10, -1, -1, 11});
  CHECK(read(*recording, line, {4, 9}) == std::vector<double>{4, -1, -1, -1, 5});
  CHECK(read(*recording, line, {6, 7}) == std::vector<double>{-1});
  CHECK(read(*recording, line, {10, 15}) == std::vector<double>{7, 8, 9, 10, -1});
  CHECK_FALSE(line.has_samples({5, 8}));
  CHECK(line.has_samples({5, 9}));
  CHECK(line.has_samples({4, 8}));
}

TEST_CASE("Times that are rounded do not lose a sample, those that go back are refused") {
  const auto early = counting({{0, 5}, {0.46, 4}});
  const Timeline line(early->info(), 0, std::nullopt);
  CHECK(line.length() == 9);
  CHECK(read(*early, line, {3, 7}) == std::vector<double>{3, 4, 5, 6});

  const auto back = counting({{0, 5}, {0.3, 4}});
  CHECK_THROWS_AS(Timeline(back->info(), 0, std::nullopt), Error);
  const auto far = counting({{0, 5}, {90'000, 4}});
  CHECK_THROWS_AS(Timeline(far->info(), 0, std::nullopt), Error);
  CHECK(Timeline(far->info(), 0, 1).length() == 4);
}

}  // namespace
}  // namespace prep::signal::signal_timeline_test
