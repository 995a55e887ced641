#include "lib/image/baseline_encoder.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "lib/image/jpeg_coefficients.h"
#include "lib/image/jpeg_info.h"

namespace prep::image::baseline_encoder_test {
namespace {

struct Block {
  alignas(16) DctBlock levels = {};
};

std::uint64_t zigzag_set(const DctBlock& levels) {
  std::uint64_t set = 0;
  for (std::size_t i = 1; i < 64; ++i) {
    if (levels[kZigzag[i]] != 0) set |= std::uint64_t{1} << i;
  }
  return set;
}

// Grey blocks side by side as a file.
template <typename Stream>
Bytes encode(Stream& stream, const std::vector<Block>& blocks) {
  Frame frame;
  frame.width = 8 * static_cast<int>(blocks.size());
  frame.height = 8;
  frame.components.resize(1);
  frame.components[0].quant.fill(1);
  stream.clear();
  for (const Block& block : blocks) {
    stream.reserve(1);
    stream.add(0, block.levels, zigzag_set(block.levels));
  }
  return write_baseline(frame, {}, stream);
}

// Whether libjpeg reads these blocks, and nothing that it would warn of.
bool holds(const Bytes& jpeg, const std::vector<Block>& blocks) {
  std::vector<std::string> warnings;
  const JpegCoefficients read(jpeg, read_jpeg_info(jpeg, 1), nullptr, warnings);
  if (!warnings.empty() || read.planes()[0].across != static_cast<int>(blocks.size())) return false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (std::memcmp(read.planes()[0].rows[0][i], blocks[i].levels, sizeof(DctBlock)) != 0) {
      return false;
    }
  }
  return true;
}

void check_both(const std::vector<Block>& blocks) {
  TokenStream tokens;
  CodeStream codes;
  CHECK(holds(encode(codes, blocks), blocks));
  CHECK(holds(encode(tokens, blocks), blocks));
  // A stream that is used again has forgotten the last image.
  CHECK(encode(codes, blocks).text() == encode(codes, blocks).text());
  CHECK(encode(tokens, blocks).text() == encode(tokens, blocks).text());
}

TEST_CASE("Flat blocks, single coefficients at every place") {
  std::vector<Block> blocks(65);
  for (std::size_t i = 0; i < 64; ++i)
    blocks[i].levels[i] = static_cast<std::int16_t>(i % 2 ? 1 : -1);
  check_both(blocks);
}

TEST_CASE("The largest levels, everywhere at once") {
  std::vector<Block> blocks(40);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const int sign = b % 2 ? 1 : -1;
    for (std::size_t i = 0; i < 64; ++i) {
      const int level = i == 0 ? 1023 : (b % 3 == 0 ? 1023 : 512);
      blocks[b].levels[i] = static_cast<std::int16_t>(sign * level);
    }
  }
  check_both(blocks);
}

TEST_CASE("Any levels: every length of runs, bytes of ones, all sizes") {
  std::minstd_rand random(3);
  std::vector<Block> blocks(2000);
  for (Block& block : blocks) {
    const unsigned share = 1 + random() % 40;
    for (std::int16_t& level : block.levels) {
      if (random() % share != 0) continue;
      const int size = static_cast<int>(random() % 11);
      level = static_cast<std::int16_t>(static_cast<int>(random() % (1u << size)) *
                                        (random() % 2 ? 1 : -1));
    }
  }
  check_both(blocks);
}

TEST_CASE("Padding is flat, and like the block before") {
  std::vector<Block> blocks(3);
  for (Block& block : blocks) block.levels[0] = -77;
  blocks[0].levels[9] = 5;
  TokenStream tokens;
  CodeStream codes;
  const auto encode_padded = [&](auto& stream) {
    Frame frame;
    frame.width = 24;
    frame.height = 8;
    frame.components.resize(1);
    frame.components[0].quant.fill(1);
    stream.clear();
    stream.reserve(3);
    stream.add(0, blocks[0].levels, zigzag_set(blocks[0].levels));
    stream.add_padding(0);
    stream.add_padding(0);
    return write_baseline(frame, {}, stream);
  };
  CHECK(holds(encode_padded(codes), blocks));
  CHECK(holds(encode_padded(tokens), blocks));
}

}  // namespace
}  // namespace prep::image::baseline_encoder_test
