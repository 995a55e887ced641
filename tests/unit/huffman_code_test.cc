#include "lib/image/huffman_code.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <vector>

// jpeglib.h needs FILE.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace prep::image::huffman_code_test {
namespace {

using Frequency = std::array<std::uint32_t, 256>;

std::uint64_t bits_for(const HuffmanTable& table, const Frequency& frequency) {
  const auto codes = make_codes(table);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 256; ++i) bits += std::uint64_t{frequency[i]} * codes[i].length;
  return bits;
}

// What Huffman's codes take without a limit, the reserved one being one more symbol of frequency 0.
std::uint64_t fewest_bits(const Frequency& frequency) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
  queue.push(0);
  for (const std::uint32_t n : frequency) {
    if (n > 0) queue.push(n);
  }
  std::uint64_t bits = 0;
  while (queue.size() > 1) {
    const std::uint64_t first = queue.top();
    queue.pop();
    const std::uint64_t both = first + queue.top();
    queue.pop();
    queue.push(both);
    bits += both;
  }
  return bits;
}

// Kraft's sum in units of 2^-16; a table that leaves the code of ones free has less than 1.
unsigned room_taken(const HuffmanTable& table) {
  unsigned sum = 0;
  for (std::size_t length = 1; length <= 16; ++length) {
    sum += unsigned{table.count[length]} << (16 - length);
  }
  return sum;
}

void check_sound(const HuffmanTable& table, const Frequency& frequency) {
  const int count = std::accumulate(table.count.begin(), table.count.end(), 0);
  REQUIRE(static_cast<std::size_t>(count) == table.symbols.size());
  CHECK(room_taken(table) < 1u << 16);
  const auto codes = make_codes(table);
  for (std::size_t i = 0; i < 256; ++i) CHECK((codes[i].length > 0) == (frequency[i] > 0));
}

TEST_CASE("The standard's tables are libjpeg's") {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  cinfo.in_color_space = JCS_RGB;
  cinfo.input_components = 3;
  jpeg_set_defaults(&cinfo);
  for (const bool chroma : {false, true}) {
    for (const CodeKind kind : {CodeKind::dc, CodeKind::ac}) {
      const JHUFF_TBL* theirs =
          (kind == CodeKind::dc ? cinfo.dc_huff_tbl_ptrs : cinfo.ac_huff_tbl_ptrs)[chroma];
      const HuffmanTable& ours = standard_huffman_table(kind, chroma);
      CHECK(std::equal(ours.count.begin() + 1, ours.count.end(), theirs->bits + 1));
      CHECK(std::equal(ours.symbols.begin(), ours.symbols.end(), theirs->huffval));
      CHECK(ours.symbols.size() == (kind == CodeKind::dc ? 12 : 162));
    }
  }
  jpeg_destroy_compress(&cinfo);
}

TEST_CASE("Codes are canonical") {
  const auto codes = make_codes(standard_huffman_table(CodeKind::dc, false));
  CHECK(codes[0].bits == 0b00);
  CHECK(codes[0].length == 2);
  CHECK(codes[1].bits == 0b010);
  CHECK(codes[6].bits == 0b1110);
  CHECK(codes[11].bits == 0b111111110);
  CHECK(codes[11].length == 9);
  CHECK(codes[12].length == 0);
}

TEST_CASE("An optimal table takes as few bits as Huffman's construction") {
  std::mt19937 random(1);
  for (int symbols : {1, 2, 3, 10, 100, 162, 256}) {
    Frequency frequency{};
    for (int i = 0; i < symbols; ++i) frequency[static_cast<std::size_t>(i)] = 1 + random() % 1000;
    const HuffmanTable table = optimal_huffman_table(frequency);
    check_sound(table, frequency);
    CHECK(bits_for(table, frequency) == fewest_bits(frequency));
  }
}

TEST_CASE("No code is longer than 16 bits") {
  // Fibonacci's numbers make the deepest tree.
  Frequency frequency{};
  std::uint32_t a = 1, b = 1;
  for (std::size_t i = 0; i < 40; ++i) {
    frequency[i] = a;
    b += a;
    std::swap(a, b);
  }
  const HuffmanTable table = optimal_huffman_table(frequency);
  check_sound(table, frequency);
  const std::uint64_t fewest = fewest_bits(frequency);
  CHECK(bits_for(table, frequency) >= fewest);
  CHECK(bits_for(table, frequency) < fewest + fewest / 100);
}

TEST_CASE("Equal frequencies give one table, whatever the library's sort does") {
  Frequency frequency{};
  for (std::size_t i = 0; i < 6; ++i) frequency[i * 7] = 5;
  const HuffmanTable table = optimal_huffman_table(frequency);
  CHECK(table.symbols == std::vector<std::uint8_t>{0, 7, 14, 21, 28, 35});
  CHECK(table.count[2] == 1);
  CHECK(table.count[3] == 5);
}

}  // namespace
}  // namespace prep::image::huffman_code_test
