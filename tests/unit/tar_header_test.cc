#include "formats/tar_header.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "lib/core/error.h"

namespace prep::tar_header_test {

namespace {

// A block with the checksum put right after `change`.
std::string header_with(const std::function<void(std::string&)>& change) {
  std::string block;
  append_tar_header("a.jpg", 1234, block);
  change(block);
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return block;
}

TarHeader parse(const std::string& block) { return parse_tar_header(as_bytes(block)); }

Code failure_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return Code::internal;
}

Code parse_failure(const std::string& block) {
  return failure_of([&] { parse(block); });
}

TarExtension pax(const std::string& payload) {
  TarExtension extension;
  parse_pax(as_bytes(payload), extension);
  return extension;
}

Code pax_failure(const std::string& payload) {
  return failure_of([&] { pax(payload); });
}

}  // namespace

TEST_CASE("A written header has exactly these bytes") {
  std::string block;
  CHECK_FALSE(append_tar_header("dir/a.jpg", 1234, block));
  REQUIRE(block.size() == 512);
  std::string expected(512, '\0');
  expected.replace(0, 9, "dir/a.jpg");
  expected.replace(100, 7, "0000644");
  expected.replace(108, 7, "0000000");
  expected.replace(116, 7, "0000000");
  expected.replace(124, 11, "00000002322");
  expected.replace(136, 11, "00000000000");
  expected.replace(148, 8, std::string("007444\0 ", 8));
  expected[156] = '0';
  expected.replace(257, 8,
                   std::string("ustar\0"
                               "00",
                               8));
  CHECK(block == expected);
  CHECK(has_tar_checksum(as_bytes(block)));
  const TarHeader header = parse(block);
  CHECK(header.type == '0');
  CHECK(header.name == "dir/a.jpg");
  CHECK(header.size == 1234);
  CHECK(header.mtime_ns == 0);
}

TEST_CASE("Names go into ustar as long as they fit") {
  const std::string d155(155, 'd'), n100(100, 'n');
  for (const std::string& name : {n100, d155 + "/" + n100, "a/b/" + n100, std::string("\xFF.jpg"),
                                  std::string(99, 'd') + "/" + std::string(99, 'n')}) {
    std::string block;
    CHECK_FALSE(append_tar_header(name, 0, block));
    REQUIRE(block.size() == 512);
    CHECK(parse(block).name == name);
  }
}

TEST_CASE("Names that ustar cannot hold and large sizes go into PAX") {
  const std::string d156(156, 'd'), n101(101, 'n'), bad = std::string(101, 'n') + "\xFF";
  for (const std::string& name :
       {n101, "d/" + n101, d156 + "/n", std::string(kMaxTarName, 'x'), bad, "/" + n101}) {
    std::string blocks;
    CHECK(append_tar_header(name, 7, blocks));
    REQUIRE(blocks.size() % 512 == 0);
    const TarHeader header = parse(blocks.substr(0, 512));
    CHECK(header.type == 'x');
    const TarExtension extension = pax(blocks.substr(512, header.size));
    CHECK(extension.path == name);
    CHECK_FALSE(extension.size);
    CHECK((blocks.find("hdrcharset=BINARY\n") != std::string::npos) == (name == bad));
    CHECK(parse(blocks.substr(blocks.size() - 512)).size == 7);
  }
  std::string blocks;
  const std::uint64_t first_large = std::uint64_t{1} << 33;
  CHECK_FALSE(append_tar_header("a.bin", first_large - 1, blocks));
  CHECK(parse(blocks).size == first_large - 1);
  blocks.clear();
  CHECK(append_tar_header("a.bin", first_large, blocks));
  CHECK(blocks.substr(512, 19) == "19 size=8589934592\n");
  CHECK(parse(blocks.substr(1024)).size == first_large);
}

TEST_CASE("A PAX record's length counts its own digits") {
  // 9 + 90 = 99 bytes with a length of two digits; one more needs three, and so is 101.
  for (const std::size_t size : {std::size_t{91}, std::size_t{101}, std::size_t{102},
                                 std::size_t{988}, std::size_t{989}, std::size_t{990}}) {
    const std::string name(size, 'n');
    std::string blocks;
    if (append_tar_header(name, 0, blocks)) {
      CHECK(pax(blocks.substr(512, parse(blocks.substr(0, 512)).size)).path == name);
    }
  }
}

TEST_CASE("Names and sizes that no tar can hold are refused") {
  std::string out;
  const auto failure = [&](std::string_view name, std::uint64_t size) {
    return failure_of([&] { append_tar_header(name, size, out); });
  };
  CHECK(failure("", 0) == Code::name);
  CHECK(failure(std::string_view("a\0b", 3), 0) == Code::name);
  CHECK(failure(std::string(kMaxTarName + 1, 'x'), 0) == Code::name);
  CHECK(failure("a", kMaxTarSize + 1) == Code::limit);
  CHECK(out.empty());
}

TEST_CASE("Numbers are read as every writer writes them") {
  const auto size = [](const std::string& field) {
    return parse(header_with([&](std::string& b) { b.replace(124, 12, field); })).size;
  };
  CHECK(size("00000002322 ") == 1234);
  CHECK(size("       2322 ") == 1234);
  CHECK(size(std::string("2322\0\0\0\0\0\0\0\0", 12)) == 1234);
  CHECK(size(std::string("2322\0garbage", 12)) == 1234);
  CHECK(size("777777777777") == 0777777777777);
  CHECK(size(std::string(12, '\0')) == 0);
  CHECK(size(std::string("\x80\0\0\0\0\0\0\2\0\0\0\1", 12)) == 0x200000001);
  CHECK(size(std::string("\x80\0\0\0\x40\0\0\0\0\0\0\0", 12)) == kMaxTarSize);
}

TEST_CASE("Absurd numbers are refused") {
  const auto failure = [](const std::string& field) {
    return parse_failure(header_with([&](std::string& b) { b.replace(124, 12, field); }));
  };
  CHECK(failure("0000000x322 ") == Code::corrupt);
  CHECK(failure("-0000000001 ") == Code::corrupt);
  CHECK(failure("00000000008 ") == Code::corrupt);
  CHECK(failure(std::string(12, '\xFF')) == Code::corrupt);
  CHECK(failure(std::string("\x80\0\0\0\x40\0\0\0\0\0\0\1", 12)) == Code::limit);
  CHECK(failure("\x80" + std::string(11, '\xFF')) == Code::limit);
}

TEST_CASE("Times that make no sense are no error") {
  const auto time = [](const std::string& field) {
    return parse(header_with([&](std::string& b) { b.replace(136, 12, field); })).mtime_ns;
  };
  CHECK(time("14524770400 ") == 1'700'000'000 * std::int64_t{1'000'000'000});
  CHECK(time("garbage     ") == 0);
  CHECK(time(std::string(12, '\xFF')) == 0);
  CHECK(time("\x80" + std::string(11, '\xFF')) == 0);
}

TEST_CASE("The prefix belongs to ustar alone") {
  const auto name = [](const std::string& magic) {
    return parse(header_with([&](std::string& b) {
             b.replace(257, 8, magic);
             b.replace(345, 3, "pre");
           }))
        .name;
  };
  CHECK(name(std::string("ustar\0"
                         "00",
                         8)) == "pre/a.jpg");
  CHECK(name(std::string("ustar  \0", 8)) == "a.jpg");
  CHECK(name(std::string(8, '\0')) == "a.jpg");
}

TEST_CASE("Checksums are taken unsigned or signed, and anything else is corrupt") {
  std::string block = header_with([](std::string& b) { b.replace(0, 5, "\xE9\xE9.jp"); });
  CHECK(parse(block).name == "\xE9\xE9.jp");
  block.replace(148, 8, 8, ' ');
  int sum = 0;
  for (const char c : block) sum += static_cast<signed char>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  CHECK(parse(block).name == "\xE9\xE9.jp");
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    std::string damaged = block;
    damaged[i] ^= 4;
    CHECK_FALSE(has_tar_checksum(as_bytes(damaged)));
  }
  CHECK(parse_failure(std::string(512, '\0')) == Code::corrupt);
  CHECK(parse_failure(std::string(512, 'x')) == Code::corrupt);
}

TEST_CASE("Types") {
  CHECK(parse(header_with([](std::string& b) { b[156] = '\0'; })).type == '0');
  CHECK(parse(header_with([](std::string& b) { b[156] = '5'; })).type == '5');
  CHECK(tar_type_has_data('0'));
  CHECK(tar_type_has_data('7'));
  CHECK(tar_type_has_data('x'));
  CHECK_FALSE(tar_type_has_data('1'));
  CHECK_FALSE(tar_type_has_data('5'));
  const auto sparse = parse(header_with([](std::string& b) {
    b[156] = 'S';
    b[482] = 1;
  }));
  CHECK(sparse.more_sparse_blocks);
}

TEST_CASE("PAX records") {
  const TarExtension e =
      pax("13 path=a\nb=\n21 linkpath=some/one\n"
          "12 size=345\n30 mtime=1700000000.123456789\n11 hello=x\n");
  CHECK(e.path == "a\nb=");
  CHECK(e.link == "some/one");
  CHECK(e.size == 345);
  CHECK(e.mtime_ns == 1'700'000'000'123'456'789);
  CHECK_FALSE(e.sparse);
  CHECK_FALSE(pax("8 path=\n").path);
  CHECK_FALSE(pax("9 path=a\n8 path=\n").path);
  CHECK(pax("9 path=a\n9 path=b\n").path == "b");
  CHECK(pax(std::string("12 path=a\0b\n\0\0", 14)).path == std::string("a\0b", 3));
  CHECK(pax("13 mtime=1.5\n").mtime_ns == 1'500'000'000);
  CHECK(pax("14 mtime=-1.5\n").mtime_ns == 0);
  CHECK(pax("15 mtime=later\n").mtime_ns == 0);
  CHECK(pax("").path == std::nullopt);
}

TEST_CASE("PAX sparse files keep their real name") {
  const TarExtension e =
      pax("22 GNU.sparse.major=1\n28 GNU.sparse.name=real.bin\n20 path=made/up.bin\n");
  CHECK(e.sparse);
  CHECK(e.path == "real.bin");
}

TEST_CASE("Malformed PAX records are corrupt") {
  for (const char* payload : {"9 path=a",
                              "9 path=ab\n",
                              "8 path=a\n",
                              "path=a\n",
                              "0 path=a\n",
                              "3 \n",
                              "4 =\n",
                              "5 =a\n",
                              "7 patha\n",
                              " 9 path=a\n",
                              "9path=aa\n",
                              "-9 path=a\n",
                              "99999999999999999999 path=a\n",
                              "4294967305 path=a\n",
                              "1",
                              "10",
                              "2 ",
                              "9 path=a\nx",
                              "9 size=x\n",
                              "10 size=-1\n",
                              "10 size=1 \n"}) {
    CAPTURE(payload);
    CHECK(pax_failure(payload) == Code::corrupt);
  }
  CHECK(pax_failure(std::string("9 path=a\n\0x", 11)) == Code::corrupt);
}

TEST_CASE("PAX names and sizes have limits") {
  const std::string name(kMaxTarName + 1, 'n');
  CHECK(pax_failure(fmt::format("{} path={}\n", name.size() + 12, name)) == Code::limit);
  CHECK(pax_failure("29 size=99999999999999999999\n") == Code::limit);
  CHECK(pax_failure("28 size=4611686018427387905\n") == Code::limit);
}

TEST_CASE("GNU's long names end at the first NUL") {
  CHECK(parse_gnu_name(as_bytes(std::string_view("abc\0def", 7))) == "abc");
  CHECK(parse_gnu_name(as_bytes("abc")) == "abc");
  CHECK(failure_of([] { parse_gnu_name(as_bytes(std::string(kMaxTarName + 1, 'n'))); }) ==
        Code::limit);
}

TEST_CASE("Zero blocks and padding") {
  CHECK(is_zero(as_bytes(std::string(512, '\0'))));
  for (const std::size_t i : {0, 1, 255, 511}) {
    std::string block(512, '\0');
    block[i] = 1;
    CHECK_FALSE(is_zero(as_bytes(block)));
  }
  CHECK(is_zero({}));
  CHECK(tar_padding(0) == 0);
  CHECK(tar_padding(1) == 511);
  CHECK(tar_padding(512) == 0);
  CHECK(tar_padding(513) == 511);
}

}  // namespace prep::tar_header_test
