#include "lib/image/jpeg_info.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "lib/core/error.h"

namespace prep::image::jpeg_info_test {
namespace {

using namespace std::string_literals;

std::string big16(int value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
}

std::string segment(int marker, const std::string& payload) {
  return "\xFF"s + static_cast<char>(marker) + big16(static_cast<int>(payload.size()) + 2) +
         payload;
}

const std::string kSoi = "\xFF\xD8"s, kEoi = "\xFF\xD9"s;
const std::string kJfif = segment(0xE0, "JFIF\0\1\2\0\0\1\0\1\0\0"s);

std::string adobe(int transform) {
  return segment(0xEE, "Adobe\0\x64\0\0\0\0"s + static_cast<char>(transform));
}

// A frame header; components are three bytes each: id, sampling, table.
std::string frame(int marker, int width, int height, const std::string& components,
                  int precision = 8) {
  return segment(marker, static_cast<char>(precision) + big16(height) + big16(width) +
                             static_cast<char>(components.size() / 3) + components);
}
const std::string kYcc420 = "\1\x22\0\2\x11\1\3\x11\1"s;

std::string scan(int components) {
  std::string payload(1, static_cast<char>(components));
  for (int i = 1; i <= components; ++i) payload += std::string{static_cast<char>(i), '\0'};
  return segment(0xDA, payload + "\0\x3f\0"s);
}

std::string exif(const std::string& tiff) { return segment(0xE1, "Exif\0\0"s + tiff); }
// A TIFF block, little-endian, with an orientation.
std::string tiff(int orientation) {
  return "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0"s + static_cast<char>(orientation) +
         "\0\0\0\0\0\0\0"s;
}
std::string big_endian_tiff(int orientation) {
  return "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0"s + static_cast<char>(orientation) +
         "\0\0\0\0\0\0"s;
}

std::string icc_chunk(int number, int count, const std::string& data) {
  return segment(0xE2,
                 "ICC_PROFILE\0"s + static_cast<char>(number) + static_cast<char>(count) + data);
}

// A whole file around `header`, which stands between SOI and the frame.
std::string file(const std::string& header, const std::string& tail = kEoi) {
  return kSoi + header + frame(0xC0, 31, 17, kYcc420) + scan(3) + "abc\xFF\0de"s + tail;
}

JpegInfo read(const std::string& text, int max_scans = 100, bool header_only = false) {
  return read_jpeg_info(Bytes::take(std::string(text)), max_scans, header_only);
}

Code code_of(const std::string& text, int max_scans = 100, bool header_only = false) {
  try {
    read(text, max_scans, header_only);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

std::string profile(const JpegInfo& info) { return {info.icc.begin(), info.icc.end()}; }

TEST_CASE("A plain file") {
  const JpegInfo info = read(file(kJfif));
  CHECK(info.width == 31);
  CHECK(info.height == 17);
  CHECK(info.precision == 8);
  CHECK_FALSE(info.progressive);
  CHECK_FALSE(info.arithmetic);
  CHECK_FALSE(info.lossless);
  CHECK(info.color == JpegColor::ycc);
  REQUIRE(info.components.size() == 3);
  CHECK(info.components[0].h == 2);
  CHECK(info.components[0].v == 2);
  CHECK(info.components[2].id == 3);
  CHECK(info.components[2].quant_table == 1);
  CHECK(info.scans == 1);
  CHECK(info.jfif);
  CHECK_FALSE(info.restarts);
  CHECK(info.orientation == 1);
  CHECK(info.ends);
  CHECK(info.end_offset == file(kJfif).size());
  CHECK(info.warnings.empty());
}

TEST_CASE("Magic bytes") {
  CHECK(is_jpeg(as_bytes("\xFF\xD8\xFF\xE0")));
  CHECK_FALSE(is_jpeg(as_bytes("\xFF\xD8")));
  CHECK_FALSE(is_jpeg(as_bytes("\x89PNG")));
  CHECK(code_of("\x89PNG\r\n") == Code::corrupt);
  CHECK(code_of("") == Code::corrupt);
}

TEST_CASE("The colour model is libjpeg's choice") {
  const auto color = [](const std::string& header, const std::string& components) {
    return read(kSoi + header + frame(0xC0, 8, 8, components) +
                scan(static_cast<int>(components.size() / 3)))
        .color;
  };
  const std::string rgb_ids = "R\x11\0G\x11\0B\x11\0"s;
  const std::string odd_ids = "\0\x11\0\1\x11\0\2\x11\0"s;
  const std::string four = "\1\x11\0\2\x11\0\3\x11\0\4\x11\0"s;
  CHECK(color("", "\1\x11\0"s) == JpegColor::grey);
  CHECK(color("", kYcc420) == JpegColor::ycc);
  CHECK(color("", odd_ids) == JpegColor::ycc);
  CHECK(color("", rgb_ids) == JpegColor::rgb);
  CHECK(color(kJfif, rgb_ids) == JpegColor::ycc);
  CHECK(color(adobe(0), kYcc420) == JpegColor::rgb);
  CHECK(color(adobe(1), rgb_ids) == JpegColor::ycc);
  CHECK(color(adobe(7), kYcc420) == JpegColor::ycc);
  CHECK(color(kJfif + adobe(0), kYcc420) == JpegColor::ycc);
  CHECK(color("", four) == JpegColor::cmyk);
  CHECK(color(adobe(0), four) == JpegColor::cmyk);
  CHECK(color(adobe(2), four) == JpegColor::ycck);
  CHECK(color("", "\1\x11\0\2\x11\0"s) == JpegColor::unknown);
  // Too short to be JFIF's or Adobe's.
  CHECK(color(segment(0xE0, "JFIF\0\1\2"s), rgb_ids) == JpegColor::rgb);
  CHECK(color(segment(0xEE, "Adobe\0\x64"s), rgb_ids) == JpegColor::rgb);
}

TEST_CASE("Kinds of frames") {
  const auto of = [](int marker) {
    return read(kSoi + frame(marker, 8, 8, "\1\x11\0"s) + scan(1) + kEoi);
  };
  CHECK(of(0xC2).progressive);
  CHECK(of(0xC9).arithmetic);
  CHECK_FALSE(of(0xC9).progressive);
  CHECK(of(0xCA).progressive);
  CHECK(of(0xCA).arithmetic);
  CHECK(of(0xC3).lossless);
  CHECK(read(kSoi + frame(0xC1, 8, 8, "\1\x11\0"s, 12) + scan(1)).precision == 12);
  for (const int marker : {0xC5, 0xC6, 0xC7, 0xCD, 0xCE, 0xCF}) {
    CHECK(code_of(kSoi + frame(marker, 8, 8, "\1\x11\0"s) + scan(1)) == Code::unsupported);
  }
  CHECK(code_of(kSoi + segment(0xDE, "\x08\0\x08\0\x08\1\1\x11\0"s)) == Code::unsupported);
}

TEST_CASE("EXIF orientation") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CHECK(read(file(exif(tiff(orientation)))).orientation == orientation);
    CHECK(read(file(exif(big_endian_tiff(orientation)))).orientation == orientation);
  }
  CHECK(read(file(exif(tiff(0)))).orientation == 1);
  CHECK(read(file(exif(tiff(9)))).orientation == 1);
  CHECK(read(file(exif(""))).orientation == 1);
  CHECK(read(file(exif("II*\0\xFF\xFF\xFF\xFF"s))).orientation == 1);
  CHECK(read(file(exif(tiff(6).substr(0, 18)))).orientation == 1);
  CHECK(read(file(exif("") + exif(tiff(6)))).orientation == 6);
  CHECK(read(file(exif(tiff(6)) + exif(tiff(3)))).orientation == 6);
}

TEST_CASE("EXIF is a view of what follows its header, even a doubled one") {
  const JpegInfo info = read(file(exif(tiff(8))));
  CHECK(info.exif.text() == tiff(8));
  const JpegInfo doubled = read(file(exif("Exif\0\0"s + tiff(8))));
  CHECK(doubled.exif.text() == tiff(8));
  CHECK(doubled.orientation == 8);
}

TEST_CASE("An ICC profile is joined by its chunks' numbers") {
  CHECK(profile(read(file(icc_chunk(1, 1, "whole")))) == "whole");
  CHECK(profile(read(file(icc_chunk(1, 2, "one") + icc_chunk(2, 2, "two")))) == "onetwo");
  CHECK(profile(read(file(icc_chunk(2, 2, "two") + icc_chunk(1, 2, "one")))) == "onetwo");
  CHECK(read(file(icc_chunk(1, 1, "whole"))).warnings.empty());
}

TEST_CASE("ICC chunks that do not fit together are ignored with a warning") {
  for (const std::string& chunks :
       {icc_chunk(0, 1, "x"), icc_chunk(1, 2, "x"), icc_chunk(1, 2, "x") + icc_chunk(1, 2, "x"),
        icc_chunk(1, 2, "x") + icc_chunk(3, 2, "x"), icc_chunk(1, 2, "x") + icc_chunk(2, 3, "x"),
        icc_chunk(0, 2, "x") + icc_chunk(1, 2, "x")}) {
    const JpegInfo info = read(file(chunks));
    CHECK(info.icc.empty());
    REQUIRE(info.warnings.size() == 1);
    CHECK(info.warnings[0].find("ICC") != std::string::npos);
  }
}

TEST_CASE("Quantization tables of 8 and 16 bits") {
  std::string narrow(1, '\1'), wide(1, '\x13');
  for (int i = 0; i < 64; ++i) {
    narrow += static_cast<char>(i + 1);
    wide += big16(1000 + i);
  }
  const JpegInfo info = read(file(segment(0xDB, narrow + wide)));
  CHECK(info.quant[1][0] == 1);
  CHECK(info.quant[1][63] == 64);
  CHECK(info.quant[3][0] == 1000);
  CHECK(info.quant[3][63] == 1063);
  CHECK(info.quant[0][0] == 0);
  CHECK(code_of(file(segment(0xDB, narrow.substr(0, 64)))) == Code::corrupt);
  std::string fifth = narrow;
  fifth[0] = 4;
  CHECK(code_of(file(segment(0xDB, fifth))) == Code::corrupt);
}

TEST_CASE("Trailing bytes, and data without an end") {
  const JpegInfo video = read(file("", kEoi + "ftypmp42"));
  CHECK(video.ends);
  CHECK(video.end_offset == file("").size());
  REQUIRE(video.warnings.size() == 1);
  CHECK(video.warnings[0] == "8 bytes after the end of the image");

  const JpegInfo cut = read(file("", ""));
  CHECK_FALSE(cut.ends);
  CHECK(cut.end_offset == file("", "").size());
  CHECK(cut.scans == 1);

  // A second picture directly behind entropy-coded data is not part of the first.
  const JpegInfo joined = read(file("", file("")));
  CHECK_FALSE(joined.ends);
  CHECK(joined.scans == 1);
}

TEST_CASE("Fill bytes, junk between segments, restarts and damaged codes") {
  CHECK(read(kSoi + "\xFF\xFF"s + kJfif + file("").substr(2)).jfif);
  const JpegInfo junk = read(file(kJfif + "junk"s + adobe(1)));
  CHECK(junk.adobe_transform == 1);
  REQUIRE(junk.warnings.size() == 1);
  CHECK(junk.warnings[0].substr(0, 8) == "4 bytes ");

  const JpegInfo restarts =
      read(file(segment(0xDD, "\0\x08"s), "x\xFF\xD0y\xFF\xFF\xD1z\xFF\x02w"s + kEoi));
  CHECK(restarts.restarts);
  CHECK(restarts.ends);
  CHECK_FALSE(read(file(segment(0xDD, "\0\0"s))).restarts);
}

TEST_CASE("Damage before the image data is an error") {
  const std::string whole = file(kJfif + exif(tiff(3)));
  const std::size_t header = whole.size() - 2 - 7;
  for (std::size_t size = 3; size < header; ++size) {
    INFO("cut to " << size);
    REQUIRE(code_of(whole.substr(0, size)) == Code::truncated);
  }
  CHECK(code_of(kSoi + kSoi + file("").substr(2)) == Code::corrupt);
  CHECK(code_of(kSoi + kEoi) == Code::corrupt);
  CHECK(code_of(kSoi + scan(3)) == Code::corrupt);
  CHECK(code_of(kSoi + "\xFF\xE0\0\1"s) == Code::corrupt);
  CHECK(code_of(file("\xFF\x02"s + "\0\2"s)) == Code::corrupt);
  const std::string one = frame(0xC0, 8, 8, "\1\x11\0"s);
  CHECK(code_of(kSoi + one + one + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + frame(0xC0, 0, 8, "\1\x11\0"s) + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + frame(0xC0, 8, 8, "\1\x51\0"s) + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + frame(0xC0, 8, 8, "\1\x10\0"s) + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + frame(0xC0, 8, 8, "\1\x11\4"s) + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + frame(0xC0, 8, 8, "") + scan(1)) == Code::corrupt);
  CHECK(code_of(kSoi + segment(0xC0, "\x08\0\x08\0\x08\2\1\x11\0"s) + scan(1)) == Code::corrupt);
}

TEST_CASE("A height left to DNL is said to be the reason") {
  try {
    read(kSoi + frame(0xC0, 8, 0, "\1\x11\0"s) + scan(1) + segment(0xDC, "\0\x08"s));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::unsupported);
    CHECK(std::string(error.what()).find("DNL") != std::string::npos);
  }
}

TEST_CASE("The number of scans is limited") {
  std::string many = kSoi + frame(0xC2, 8, 8, "\1\x11\0"s);
  for (int i = 0; i < 101; ++i)
    many += segment(0xC4, "\0"s + std::string(16, '\0')) + scan(1) + "xy";
  many += kEoi;
  CHECK(read(many, 101).scans == 101);
  CHECK(code_of(many, 100) == Code::limit);
  CHECK(code_of(many, 100, true) == Code::limit);
  // A sequential file whose scans hold one component each can have as many.
  std::string split = kSoi + frame(0xC0, 8, 8, kYcc420);
  for (int i = 0; i < 101; ++i) split += scan(1) + "xy";
  CHECK(code_of(split, 100, true) == Code::limit);
}

TEST_CASE("Only the header, where one scan is all") {
  const JpegInfo info = read(file(kJfif, kEoi + "tail"), 100, true);
  CHECK(info.width == 31);
  CHECK(info.color == JpegColor::ycc);
  CHECK(info.end_offset == 0);
  CHECK_FALSE(info.ends);
  CHECK(info.warnings.empty());
}

TEST_CASE("Quality by the luma table") {
  // libjpeg's luma tables in zigzag order: 75 and 90 as `cjpeg -quality` writes them.
  const std::string q90 =
      "\3\2\2\3\2\2\3\3\3\3\4\3\3\4\5\x08\5\5\4\4\5\x0A\7\7\6\x08\x0C\x0A\x0C\x0C\x0B\x0A"
      "\x0B\x0B\x0D\x0E\x12\x10\x0D\x0E\x11\x0E\x0B\x0B\x10\x16\x10\x11\x13\x14\x15\x15\x15"
      "\x0C\x0F\x17\x18\x16\x14\x18\x12\x14\x15\x14"s;
  REQUIRE(q90.size() == 64);
  CHECK(estimate_quality(read(file(segment(0xDB, "\0"s + q90)))) == 90);
  std::string near = q90;
  near[40] = '\x12';
  CHECK(estimate_quality(read(file(segment(0xDB, "\0"s + near)))) == 90);
  CHECK(estimate_quality(read(file(segment(0xDB, "\0"s + std::string(64, '\1'))))) == 100);
  CHECK(estimate_quality(read(file(segment(0xDB, "\0"s + std::string(64, '\xFF'))))) == 1);
}

}  // namespace
}  // namespace prep::image::jpeg_info_test
