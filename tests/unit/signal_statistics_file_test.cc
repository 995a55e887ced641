#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/statistics_file.h"

namespace prep::signal::signal_statistics_file_test {
namespace {

const std::vector<double> kFrequencies{0, 4};

Statistics statistics_of(const std::vector<std::vector<float>>& rows) {
  Statistics statistics(rows.size() / 2, 2);
  for (std::size_t i = 0; i < rows.size(); ++i) statistics.add(i / 2, i % 2, rows[i]);
  return statistics;
}

std::string gathered() {
  StatisticsCollector collector;
  collector.add({"Fp1", "Fp2"}, kFrequencies, statistics_of({{1, 3}, {5}, {7}, {9}}));
  collector.add({"Fp2"}, kFrequencies, statistics_of({{9}, {9}}));
  CHECK(collector.arrays() == 2);
  return collector.text(SpectrogramSettings());
}

Code code_of(const std::string& text, const SpectrogramSettings& settings = {}) {
  try {
    StatisticsFile(text, "s.json", settings);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

TEST_CASE("What was gathered by name comes back by name") {
  const StatisticsFile file(gathered(), "s.json", SpectrogramSettings());
  const std::vector<Moments>& first = file.of("Fp1", kFrequencies);
  CHECK(first[0].count == 2);
  CHECK(first[0].mean == 2);
  CHECK(first[0].deviation == 1);
  CHECK(first[1].mean == 5);
  CHECK(file.of("Fp2", kFrequencies)[0].mean == 8);
  CHECK(file.of("Fp2", {0, 4 * (1 + 1e-12)})[1].count == 2);
  CHECK_THROWS_AS(file.of("O1", kFrequencies), Error);
  CHECK_THROWS_AS(file.of("Fp1", {0, 5}), Error);
}

TEST_CASE("Nothing, or several sets of frequencies, make no file") {
  StatisticsCollector collector;
  CHECK_THROWS_AS(collector.text(SpectrogramSettings()), Error);
  collector.add({"Fp1"}, kFrequencies, statistics_of({{1}, {2}}));
  collector.add({"Fp1"}, {0, 5}, statistics_of({{1}, {2}}));
  CHECK_THROWS_AS(collector.text(SpectrogramSettings()), Error);
}

TEST_CASE("A file of other settings, and one that is none") {
  const std::string text = gathered();
  SpectrogramSettings other;
  other.log = LogScale::decibels;
  CHECK(code_of(text, other) == Code::usage);
  other = {};
  other.hms = true;
  CHECK(code_of(text, other) == Code::usage);
  CHECK(code_of("") == Code::corrupt);
  CHECK(code_of("[1]") == Code::corrupt);
  CHECK(code_of(text.substr(0, text.size() / 2)) == Code::corrupt);
  const auto changed = [&](const std::string& place, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(text);
    json[nlohmann::json::json_pointer(place)] = value;
    return code_of(json.dump());
  };
  CHECK(changed("/version", 2) == Code::corrupt);
  CHECK(changed("/settings", 2) == Code::corrupt);
  CHECK(changed("/channels", 2) == Code::corrupt);
  CHECK(changed("/channels/Fp1/mean", {1}) == Code::corrupt);
  CHECK(changed("/channels/Fp1/deviation", {1, -1}) == Code::corrupt);
  CHECK(changed("/channels/Fp1/count", {1, "x"}) == Code::corrupt);
}

}  // namespace
}  // namespace prep::signal::signal_statistics_file_test
