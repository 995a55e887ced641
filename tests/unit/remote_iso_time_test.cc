#include <catch2/catch.hpp>
#include <string>

#include "lib/remote/iso_time.h"

namespace prep::remote_iso_time_test {

using prep::parse_iso_time;

TEST_CASE("times are read to the nanosecond") {
  CHECK(parse_iso_time("1970-01-01T00:00:00Z") == 0);
  CHECK(parse_iso_time("2009-10-12T17:50:30.000Z") == 1255369830'000'000'000);
  CHECK(parse_iso_time("2009-10-12T17:50:30.123Z") == 1255369830'123'000'000);
  CHECK(parse_iso_time("2009-10-12T17:50:30.123456789Z") == 1255369830'123'456'789);
  CHECK(parse_iso_time("2009-10-12T17:50:30.1234567899999Z") == 1255369830'123'456'789);
  CHECK(parse_iso_time("2024-02-29T23:59:60Z") == 1709251200'000'000'000);
  CHECK(parse_iso_time("2009-10-12T19:50:30+02:00") == 1255369830'000'000'000);
  CHECK(parse_iso_time("2009-10-12t12:20:30-05:30") == 1255369830'000'000'000);
  CHECK(parse_iso_time("1960-01-01T00:00:00Z") == -315619200'000'000'000);
}

TEST_CASE("other texts are no times") {
  const std::string text =
      GENERATE(std::string(""), "2009", "2009-10-12", "2009-10-12T17:50:30", "2009-10-12 17:50:30Z",
               "2009-13-12T17:50:30Z", "2009-02-29T17:50:30Z", "2009-10-12T24:00:00Z",
               "2009-10-12T17:60:30Z", "2009-10-12T17:50:61Z", "2009-10-12T17:50:30.Z",
               "2009-10-12T17:50:30ZZ", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
               "2009-10-12T17:50:30+0200", "-009-10-12T17:50:30Z", "Mon, 12 Oct 2009 17:50:30 GMT");
  CHECK_FALSE(parse_iso_time(text));
}

}  // namespace prep::remote_iso_time_test
