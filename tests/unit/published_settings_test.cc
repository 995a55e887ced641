#include "formats/published_settings.h"

#include <catch2/catch.hpp>

namespace prep::published_settings_test {

using prep::parse_spec;
using prep::published_settings;

TEST_CASE("A manifest tells the options that say something, as they were given") {
  const auto published = published_settings(
      {parse_spec("raw/"), parse_spec("@list\xff")}, parse_spec("tar:s/%d.tar"),
      R"({"tool":"prep-pack","version":"1","inputs":["/home/me/raw"],"--shards":["4"],)"
      R"("--shuffle":["0"],"--max-count":["0"],"--equal":["no"],"--stratify":["false"],)"
      R"("--index":["dali"],"--parts":["jpg","cls"],"--labels":[""],"--format":["auto"]})");
  CHECK(published.dump() == R"({"inputs":["raw/","@list\\xff"],"output":"tar:s/%d.tar",)"
                            R"("shards":"4","shuffle":"0","index":["dali"],)"
                            R"("parts":["jpg","cls"]})");
}

}  // namespace prep::published_settings_test
