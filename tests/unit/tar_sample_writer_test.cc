#include "formats/tar_sample_writer.h"

#include <catch2/catch.hpp>

#include "formats/tar_header.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "tests/unit/samples.h"
#include "tests/unit/temp_dir.h"

namespace prep::tar_sample_writer_test {

using test::literal_sample;
using test::StringWriter;
using test::TempDir;
using test::write_file;

namespace {

Code refusal(const std::string& key, const test::Parts& parts) {
  try {
    TarSampleWriter::check(literal_sample(key, parts));
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;  // none
}

}  // namespace

TEST_CASE("A sample's place is told as its members lie") {
  StringWriter out;
  TarSampleWriter tar(out);
  tar.add(literal_sample("first", {{"txt", "x"}}));
  const PlacedSample placed =
      tar.add(literal_sample("d/a", {{"jpg", std::string(600, 'j')}, {"seg.png", ""}}));
  CHECK(placed.key == "d/a");
  CHECK(placed.begin == 1024);
  REQUIRE(placed.parts.size() == 2);
  CHECK(placed.parts[0].path == "d/a.jpg");
  CHECK(placed.parts[0].offset == 1536);
  CHECK(placed.parts[0].size == 600);
  CHECK(placed.parts[1].name == "seg.png");
  CHECK(placed.parts[1].offset == 1536 + 1024 + 512);
  CHECK(placed.end == 1536 + 1024 + 512);
  CHECK(tar.offset() == placed.end);
  tar.finish();
  CHECK(out.text.size() == placed.end + 1024);
  CHECK(out.text.substr(1536, 600) == std::string(600, 'j'));
  CHECK(tar.pax_members() == 0);
}

TEST_CASE("A member's size is known before it is written") {
  for (const std::size_t length : {std::size_t{1}, std::size_t{96}, std::size_t{97},
                                   std::size_t{101}, std::size_t{260}, std::size_t{1000}}) {
    for (const std::size_t size : {0, 1, 511, 512, 513, 5000}) {
      StringWriter out;
      TarSampleWriter tar(out);
      const std::string key(length, 'k');
      tar.add(literal_sample(key, {{"jpg", std::string(size, 'x')}}));
      CHECK(out.text.size() == TarSampleWriter::member_size(key + ".jpg", size));
      CHECK(tar.pax_members() == (length + 4 > 100 ? 1 : 0));
    }
  }
  // A prefix and a name that ustar can hold.
  CHECK(TarSampleWriter::member_size(std::string(150, 'd') + "/" + std::string(99, 'n'), 0) == 512);
}

TEST_CASE("Names that loaders would misread are refused") {
  CHECK(refusal("a/b", {{"jpg", ""}, {"seg.png", ""}}) == Code::internal);
  CHECK(refusal("with space, ünï\xff\n", {{"jpg", ""}}) == Code::internal);
  CHECK(refusal("a", {{"", ""}}) == Code::name);
  CHECK(refusal("d/.a", {{"jpg", ""}}) == Code::name);
  CHECK(refusal("d/", {{"jpg", ""}}) == Code::name);
  CHECK(refusal("a.b", {{"jpg", ""}}) == Code::name);
  CHECK(refusal("a", {{"x/y", ""}}) == Code::name);
  CHECK(refusal("a", {{"jpg", ""}, {"JPG", ""}}) == Code::duplicate);
  CHECK(refusal(std::string(1 << 17, 'a'), {{"jpg", ""}}) == Code::name);
  CHECK(refusal(std::string("a\0b", 3), {{"jpg", ""}}) == Code::name);
}

TEST_CASE("A part that cannot be read leaves nothing of its sample") {
  const TempDir directory;
  write_file(directory / "a.jpg", "x");
  Sample sample = literal_sample("a", {{"cls", "1"}});
  sample.parts.push_back({"jpg", std::make_shared<FileContent>(directory / "missing.jpg")});
  Sample large = literal_sample("b", {{"cls", "1"}});
  large.parts.push_back({"jpg", std::make_shared<FileContent>(directory / "a.jpg", 5'000'000)});
  StringWriter out;
  TarSampleWriter tar(out);
  CHECK_THROWS_AS(tar.add(sample), BadSample);
  CHECK_THROWS_AS(tar.add(large), BadSample);
  CHECK(out.text.empty());
  CHECK(tar.offset() == 0);
}

}  // namespace prep::tar_sample_writer_test
