#include "lib/image/baseline_decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/image/jpeg_coefficients.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/recompress.h"
#include "pictures.h"

namespace prep::image::baseline_decoder_test {
namespace {

using test::Buffer;
using test::Image;
using test::JpegSpec;
using Sampling = std::vector<std::pair<int, int>>;

Image noise(int width, int height, int channels, unsigned seed = 1) {
  std::minstd_rand random(seed);
  return test::draw(width, height, channels, [&](int x, int y, int c) {
    return static_cast<int>(random() % 64) + 2 * x + y + 30 * c;
  });
}

// All that reading a file leads to: its coefficients and warnings, or the error.
struct Outcome {
  std::vector<std::int16_t> levels;
  std::vector<int> shape;
  std::vector<QuantTable> steps;
  std::vector<std::string> warnings;
  std::optional<Code> code;
  std::string message;

  bool operator==(const Outcome&) const = default;
};

void describe(const JpegCoefficients& coefficients, Outcome& outcome) {
  for (const CoefficientPlane& plane : coefficients.planes()) {
    outcome.shape.insert(outcome.shape.end(), {plane.h, plane.v, plane.across, plane.down});
    outcome.steps.push_back(plane.steps);
    for (const DctBlock* row : plane.rows) {
      outcome.levels.insert(outcome.levels.end(), row[0], row[plane.across]);
    }
  }
}

// `ordinary`, if given, is told whether the decoder did it.
Outcome read(const Buffer& data, BaselineDecoder* decoder, bool* ordinary = nullptr) {
  Outcome outcome;
  if (ordinary) *ordinary = false;
  try {
    const Bytes bytes = test::bytes(data);
    const JpegInfo info = read_jpeg_info(bytes, 100);
    const JpegCoefficients coefficients(bytes, info, decoder, outcome.warnings);
    if (ordinary) *ordinary = coefficients.ordinary();
    describe(coefficients, outcome);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.message = error.what();
  }
  return outcome;
}

// Whether the decoder took the file; what it says must be libjpeg's word.
bool takes(const Buffer& data, BaselineDecoder& decoder) {
  bool ordinary = false;
  const Outcome outcome = read(data, &decoder, &ordinary);
  const bool same = outcome == read(data, nullptr);
  CHECK(same);
  return ordinary;
}

bool takes(const Buffer& data) {
  BaselineDecoder decoder;
  return takes(data, decoder);
}

// Where the entropy-coded data of a file with one scan begin.
std::size_t scan_start(const Buffer& data) {
  const Buffer marker{0xFF, 0xDA};
  const auto at = std::search(data.begin(), data.end(), marker.begin(), marker.end());
  const auto position = static_cast<std::size_t>(at - data.begin());
  return position + 2 + static_cast<std::size_t>(data[position + 2] << 8 | data[position + 3]);
}

Buffer small_jpeg(int restart_interval = 0) {
  JpegSpec spec;
  spec.quality = 90;
  spec.sampling = {{2, 1}, {1, 1}, {1, 1}};
  spec.restart_interval = restart_interval;
  return test::make_jpeg(noise(37, 21, 3), spec);
}

TEST_CASE("Ordinary files are read, with libjpeg's coefficients") {
  const auto sampling =
      GENERATE(Sampling{{1, 1}, {1, 1}, {1, 1}}, Sampling{{2, 2}, {1, 1}, {1, 1}},
               Sampling{{2, 1}, {1, 1}, {1, 1}}, Sampling{{1, 2}, {1, 1}, {1, 1}},
               Sampling{{4, 1}, {1, 1}, {1, 1}}, Sampling{{2, 2}, {2, 1}, {1, 2}});
  const auto [width, height] =
      GENERATE(std::pair{64, 48}, std::pair{65, 49}, std::pair{1, 1}, std::pair{7, 130});
  BaselineDecoder decoder;
  for (const int quality : {1, 50, 90, 100}) {
    for (const int restart_interval : {0, 1, 3}) {
      JpegSpec spec;
      spec.quality = quality;
      spec.sampling = sampling;
      spec.restart_interval = restart_interval;
      CHECK(takes(test::make_jpeg(noise(width, height, 3), spec), decoder));
    }
  }
}

TEST_CASE("Grey with any factors, and four components") {
  for (const Sampling& sampling : {Sampling{{1, 1}}, Sampling{{2, 2}}, Sampling{{3, 1}}}) {
    JpegSpec spec;
    spec.sampling = sampling;
    CHECK(takes(test::make_jpeg(noise(51, 35, 1), spec)));
  }
  JpegSpec cmyk;
  cmyk.color = JpegSpec::Color::cmyk;
  CHECK(takes(test::make_jpeg(noise(40, 30, 4), cmyk)));
}

TEST_CASE("Tables made for an image, from picture to picture with one decoder") {
  RecompressOptions options;
  options.min_gain = 0;
  Recompressor recompressor(options);
  BaselineDecoder decoder;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Image image = noise(90, 70, 3, seed);
    const RecompressResult result = recompressor.recompress(test::bytes(test::make_jpeg(image)));
    REQUIRE(result.kind == RecompressResult::Kind::recompressed);
    CHECK(takes(Buffer(result.data.data(), result.data.data() + result.data.size()), decoder));
  }
}

TEST_CASE("What is out of the ordinary is libjpeg's") {
  JpegSpec spec;
  spec.progressive = true;
  CHECK_FALSE(takes(test::make_jpeg(noise(50, 40, 3), spec)));
  Buffer endless = small_jpeg();
  endless.resize(endless.size() - 2);
  CHECK_FALSE(takes(endless));
  Buffer early = small_jpeg();
  early.insert(early.end() - 2, {0x12, 0x34});
  CHECK_FALSE(takes(early));
  // Bytes behind the end are nobody's business here.
  Buffer trailing = small_jpeg();
  test::append(trailing, {1, 2, 3});
  CHECK(takes(trailing));
}

TEST_CASE("A table number that libjpeg only looks at later") {
  Buffer data = small_jpeg();
  const std::size_t numbers = scan_start(data) - 6;  // of the second component
  REQUIRE(data[numbers] == 0x11);
  for (const int wrong : {0x21, 0x12, 0xF1, 0x1F, 0x41, 0x14}) {
    data[numbers] = static_cast<std::uint8_t>(wrong);
    CHECK_FALSE(takes(data));
  }
}

TEST_CASE("A picture that its data can't hold costs no memory") {
  BaselineScan scan;
  scan.mcus_across = scan.mcus_down = 8188;
  ScanComponent component;
  component.across = component.down = 8188;
  component.dc = standard_huffman_table(CodeKind::dc, false);
  component.ac = standard_huffman_table(CodeKind::ac, false);
  scan.components = {component};
  const Buffer data(1000, 0);
  scan.data = data;
  BaselineDecoder decoder;
  CHECK_FALSE(decoder.decode(scan));
}

TEST_CASE("Damage of every byte has libjpeg's outcome") {
  for (const int restart_interval : {0, 2}) {
    const Buffer sound = small_jpeg(restart_interval);
    BaselineDecoder decoder;
    REQUIRE(takes(sound, decoder));
    int different = 0;
    for (std::size_t at = 2; at < sound.size(); ++at) {
      for (const int mask : {0x01, 0x80, 0xFF}) {
        Buffer damaged = sound;
        damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ mask);
        different += read(damaged, &decoder) != read(damaged, nullptr);
      }
    }
    CHECK(different == 0);
  }
}

TEST_CASE("Files cut anywhere have libjpeg's outcome, with and without an end marker") {
  const Buffer sound = small_jpeg();
  BaselineDecoder decoder;
  int different = 0;
  for (std::size_t size = 3; size < sound.size(); ++size) {
    Buffer damaged(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size));
    different += read(damaged, &decoder) != read(damaged, nullptr);
    test::append(damaged, {0xFF, 0xD9});
    different += read(damaged, &decoder) != read(damaged, nullptr);
  }
  CHECK(different == 0);
}

TEST_CASE("Lookup: no table but a sound one of 8-bit pictures") {
  HuffmanLookup lookup;
  const HuffmanTable& dc = standard_huffman_table(CodeKind::dc, true);
  const HuffmanTable& ac = standard_huffman_table(CodeKind::ac, true);
  CHECK(lookup.assign(CodeKind::dc, dc));
  CHECK_FALSE(lookup.assign(CodeKind::dc, ac));
  CHECK(lookup.assign(CodeKind::ac, ac));
  CHECK_FALSE(lookup.assign(CodeKind::ac, {}));
  HuffmanTable table;
  table.count[1] = 2;  // uses up the code of ones
  table.symbols = {0x00, 0x01};
  CHECK_FALSE(lookup.assign(CodeKind::ac, table));
  table.count[1] = 3;
  table.symbols = {0x00, 0x01, 0x02};
  CHECK_FALSE(lookup.assign(CodeKind::ac, table));
  table.count[1] = 1;
  table.count[2] = 1;
  table.symbols = {0x00, 0x0B};  // 11 bits
  CHECK_FALSE(lookup.assign(CodeKind::ac, table));
  table.symbols = {0x00, 0x10};  // neither an end nor 16 zeros
  CHECK_FALSE(lookup.assign(CodeKind::ac, table));
  table.symbols = {0x00};  // fewer than counted
  CHECK_FALSE(lookup.assign(CodeKind::ac, table));
}

TEST_CASE("Lookup: every code is found, short and long") {
  for (const CodeKind kind : {CodeKind::dc, CodeKind::ac}) {
    const HuffmanTable& table = standard_huffman_table(kind, false);
    HuffmanLookup lookup;
    REQUIRE(lookup.assign(kind, table));
    const auto codes = make_codes(table);
    for (const std::uint8_t symbol : table.symbols) {
      const HuffmanCode code = codes[symbol];
      for (const std::uint64_t behind : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        const std::uint64_t bits =
            std::uint64_t{code.bits} << (64 - code.length) | behind >> code.length;
        const HuffmanLookup::Entry entry = lookup.find(bits);
        CHECK(entry.size() == (symbol & 15u));
        CHECK(entry.total() == code.length + (symbol & 15u));
        const unsigned advance = symbol == 0 ? 0 : (symbol >> 4) + 1u;
        CHECK(entry.advance() == (kind == CodeKind::dc ? 0 : advance));
      }
    }
    CHECK(lookup.find(~std::uint64_t{0}).none());
  }
}

}  // namespace
}  // namespace prep::image::baseline_decoder_test
