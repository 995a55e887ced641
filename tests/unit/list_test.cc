#include "formats/list.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace prep::list_test {

namespace {

using Texts = std::vector<std::string>;
using Separator = ListSource::Separator;

Fd file_of(const std::string& text) {
  Fd file(memfd_create("list", MFD_CLOEXEC));
  write_fully(file.get(), as_bytes(text), "list");
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// "key part@path part@path", or "key !message".
Texts read_all(Source& source) {
  Texts texts;
  Sample sample;
  while (source.next(sample)) {
    std::string text = sample.key;
    if (sample.fault) {
      text += std::string(" !") + sample.fault->what();
    } else {
      for (const Part& part : sample.parts)
        text += fmt::format(" {}@{}", part.name, part.content->origin());
    }
    texts.push_back(text);
  }
  CHECK_FALSE(source.next(sample));
  return texts;
}

Texts read_list(const std::string& text, Separator separator, Tally* left_out = nullptr) {
  ListSource source(file_of(text), "files.txt", separator);
  const Texts texts = read_all(source);
  CHECK(source.expected_bytes() == text.size());
  CHECK(source.consumed_bytes() == text.size());
  if (left_out) *left_out = source.left_out();
  return texts;
}

Code failure_of(const std::string& text, Separator separator) {
  try {
    read_list(text, separator);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("files.txt: "));
    return error.code();
  }
  FAIL("no error");
  return Code::internal;
}

}  // namespace

TEST_CASE("Paths that follow each other and share a key are one sample") {
  const Texts expected{"d/a jpg@d/a.jpg cls@d/a.cls", "d/b jpg@d/b.jpg", "d/a txt@d/a.txt"};
  CHECK(read_list("d/a.jpg\nd/a.cls\nd/b.jpg\nd/a.txt\n", Separator::newline) == expected);
  CHECK(read_list("d/a.jpg\nd/a.cls\nd/b.jpg\nd/a.txt", Separator::newline) == expected);
  const std::string nuls("d/a.jpg\0d/a.cls\0d/b.jpg\0d/a.txt\0", 32);
  CHECK(read_list(nuls, Separator::nul) == expected);
  CHECK(read_list(nuls.substr(0, 31), Separator::nul) == expected);
  CHECK(read_list("", Separator::newline).empty());
}

TEST_CASE("Names are opaque") {
  CHECK(read_list("a b.jpg\r\n'\"%d.jpg\n\xFF.jpg\n", Separator::newline) ==
        Texts{"a b jpg\r@a b.jpg\r", "'\"%d jpg@'\"%d.jpg", "\xFF jpg@\xFF.jpg"});
  CHECK(read_list(std::string("a\nb.jpg\0", 8), Separator::nul) == Texts{"a\nb jpg@a\nb.jpg"});
}

TEST_CASE("Keys are paths without what leads out of the output") {
  CHECK(read_list("./a.jpg\n/abs/b.jpg\n../../up/c.jpg\n.././/../d.jpg\nnoext\n",
                  Separator::newline) == Texts{"a jpg@./a.jpg", "abs/b jpg@/abs/b.jpg",
                                               "up/c jpg@../../up/c.jpg", "d jpg@.././/../d.jpg",
                                               "noext @noext"});
}

TEST_CASE("Empty entries and hidden files are left out and counted") {
  Tally left_out;
  CHECK(read_list("\n\na.jpg\n\nd/._a.jpg\n.cache/b.jpg\n", Separator::newline, &left_out) ==
        Texts{"a jpg@a.jpg", ".cache/b jpg@.cache/b.jpg"});
  CHECK(left_out == Tally{{"empty entry in a list", 3}, {"hidden file", 1}});
}

TEST_CASE("What cannot be a sample is a faulty one, in its place") {
  CHECK(
      read_list("a.jpg\nd/../b.jpg\nc.jpg\ndir/\n", Separator::newline) ==
      Texts{"a jpg@a.jpg",
            "d/../b.jpg !files.txt: d/../b.jpg: a name with '..' could leave the output; not taken",
            "c jpg@c.jpg", "dir/ !files.txt: dir/: is a directory"});
}

TEST_CASE("A list of the wrong kind is refused") {
  CHECK(failure_of(std::string("a.jpg\0b.jpg\0", 12), Separator::newline) == Code::usage);
  CHECK(failure_of(std::string(65'537, 'x'), Separator::newline) == Code::limit);
  CHECK(failure_of("a\n" + std::string(1'000'000, 'x') + "\n", Separator::newline) == Code::limit);
  CHECK(failure_of(std::string(65'537, '\n'), Separator::nul) == Code::limit);
  const std::string longest(65'536, 'x');
  CHECK(read_list(longest + "\n", Separator::newline) == Texts{longest + " @" + longest});
  CHECK_THROWS_AS(ListSource("/", Separator::newline), Error);
  CHECK_THROWS_WITH(ListSource("/nonexistent/list", Separator::newline),
                    Catch::StartsWith("/nonexistent/list: "));
}

TEST_CASE("A list longer than the buffer") {
  std::string text;
  Texts expected;
  for (int i = 0; i < 50'000; ++i) {
    text += fmt::format("dir/{:06}.jpg\n", i);
    expected.push_back(fmt::format("dir/{:06} jpg@dir/{:06}.jpg", i, i));
  }
  CHECK(read_list(text, Separator::newline) == expected);
}

TEST_CASE("Files named one by one are called by their base names") {
  FilesSource source({"x/a.jpg", "y/a.cls", "/z/b.seg.png", "x/.hidden.jpg"});
  CHECK(read_all(source) ==
        Texts{"a jpg@x/a.jpg cls@y/a.cls", "b seg.png@/z/b.seg.png", ".hidden.jpg @x/.hidden.jpg"});
  FilesSource twins({"x/a.jpg", "y/a.jpg"});
  const Texts texts = read_all(twins);
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].starts_with("a !y/a.jpg: the name comes twice"));
}

TEST_CASE("A last entry without a separator is whole, however long") {
  CHECK(read_list("a.jpg\nlong-directory/another-name.jpg", Separator::newline) ==
        Texts{"a jpg@a.jpg", "long-directory/another-name jpg@long-directory/another-name.jpg"});
}

TEST_CASE("A sample of too many files is an error, and does no harm") {
  std::string list;
  for (int i = 0; i < 10'002; ++i) list += fmt::format("x.{}\n", i);
  const Texts texts = read_list(list, Separator::newline);
  REQUIRE(texts.size() >= 2);
  CHECK(texts[1].find("more than 10000 files") != std::string::npos);
}

}  // namespace prep::list_test
