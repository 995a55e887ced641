#include "lib/core/spec.h"

#include <catch2/catch.hpp>

namespace prep::spec_test {

using Strings = std::vector<std::string>;

TEST_CASE("specifiers are told by prefix") {
  CHECK(parse_spec("raw/").kind == SpecKind::automatic);
  CHECK(parse_spec("-").kind == SpecKind::standard_stream);
  CHECK(parse_spec("@files.txt").kind == SpecKind::list);
  CHECK(parse_spec("@files.txt").path == "files.txt");
  CHECK(parse_spec("list0:-").kind == SpecKind::list0);
  CHECK(parse_spec("list0:-").path == "-");
  CHECK(parse_spec("dir:tar:x").path == "tar:x");
  CHECK(parse_spec("csv:a;b.csv").kind == SpecKind::csv);
  CHECK(parse_spec("csv:a;b.csv").path == "a;b.csv");
  CHECK(parse_spec("tsv:-").kind == SpecKind::tsv);
  CHECK(parse_spec("jsonl:x").kind == SpecKind::jsonl);
  CHECK(parse_spec("x.csv").kind == SpecKind::automatic);
  CHECK(parse_spec("file:-").kind == SpecKind::file);
  CHECK(parse_spec("s3:x").kind == SpecKind::automatic);
  for (const char* bad : {"", "@", "tar:"}) CHECK_THROWS_AS(parse_spec(bad), Error);
}

TEST_CASE("braces expand as in a shell") {
  CHECK(expand_braces("a-{8..11}.tar") == Strings{"a-8.tar", "a-9.tar", "a-10.tar", "a-11.tar"});
  CHECK(expand_braces("{008..010}") == Strings{"008", "009", "010"});
  CHECK(expand_braces("{2..0}") == Strings{"2", "1", "0"});
  CHECK(expand_braces("{a,b}{1..2}") == Strings{"a1", "a2", "b1", "b2"});
  CHECK(expand_braces("{x,{1..2}}") == Strings{"x", "1", "2"});
  for (const char* plain : {"a", "{a}", "{}", "{", "}{", "{1..}", "{a..b}", "a{,"}) {
    CHECK(expand_braces(plain) == Strings{plain});
  }
  CHECK(expand_braces("{a}{1..2}") == Strings{"{a}1", "{a}2"});
  CHECK_THROWS_AS(expand_braces("{0..99999999999999999999}"), Error);
  CHECK_THROWS_AS(expand_braces("{0..18446744073709551615}"), Error);
  CHECK_THROWS_AS(expand_braces("{1..10}{1..10}", 99), Error);
  CHECK(expand_braces("{1..10}{1..10}", 100).size() == 100);
}

}  // namespace prep::spec_test
