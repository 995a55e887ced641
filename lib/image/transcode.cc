#include "lib/image/transcode.h"

#include <algorithm>
#include <array>
#include <optional>

#include "lib/image/rate_distortion.h"

namespace prep::image {
namespace {

DctBlock* blocks(std::vector<std::int16_t>& memory) {
  return reinterpret_cast<DctBlock*>(memory.data());
}

void make_room(std::vector<std::int16_t>& memory, int count) {
  const std::size_t needed = static_cast<std::size_t>(count) * 64;
  if (memory.size() < needed) memory.resize(needed);
}

// For each of the eight rows of a block and each set of its coefficients, the set by zigzag
// position.
using ZigzagTable = std::array<std::array<std::uint64_t, 256>, 8>;

ZigzagTable make_zigzag_table() {
  std::array<std::uint64_t, 64> bit_of{};
  for (std::size_t i = 0; i < 64; ++i) bit_of[kZigzag[i]] = std::uint64_t{1} << i;
  ZigzagTable table{};
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t set = 0; set < 256; ++set) {
      if (set >> (i % 8) & 1) table[i / 8][set] |= bit_of[i];
    }
  }
  return table;
}

std::uint64_t to_zigzag(std::uint64_t natural) {
  static const ZigzagTable table = make_zigzag_table();
  std::uint64_t zigzag = 0;
  for (std::size_t row = 0; natural != 0; ++row, natural >>= 8) zigzag |= table[row][natural & 255];
  return zigzag;
}

// One component on its way.
struct Component {
  const CoefficientPlane* plane;
  bool halve_across, halve_down;
  int across, down;  // blocks of the output
  Dequantizer dequantizer;
  Quantizer quantizer;
  std::optional<RateDistortion> rate_distortion;
};

class Transcoder {
 public:
  Transcoder(const std::vector<CoefficientPlane>& planes, int width, int height,
             const TranscodeOptions& options, TranscodeScratch& scratch);

  template <typename Stream>
  Bytes baseline(Stream& stream, ByteView metadata);
  Bytes progressive(ByteView metadata);

 private:
  void describe_frame(const std::vector<CoefficientPlane>& planes, int width, int height);
  void add_component(const CoefficientPlane& plane, bool chroma, std::size_t index);
  void allocate();
  void read_values(const Component& component, int row, DctBlock* values);
  DctBlock* read_source(const Component& component, int row, int slot);
  void make_row(std::size_t index, int row, int slot);
  void optimize_row(const Component& component, const DctBlock* values, DctBlock* levels,
                    std::uint64_t* nonzero) const;
  template <typename Stream>
  void add_mcu(Stream& stream, std::size_t index, int mcu_x, int mcu_y) const;

  const TranscodeOptions& options_;
  TranscodeScratch& scratch_;
  Frame frame_;
  std::vector<Component> components_;
};

Transcoder::Transcoder(const std::vector<CoefficientPlane>& planes, int width, int height,
                       const TranscodeOptions& options, TranscodeScratch& scratch)
    : options_(options), scratch_(scratch) {
  describe_frame(planes, width, height);
  for (std::size_t i = 0; i < planes.size(); ++i) add_component(planes[i], i > 0, i);
  allocate();
}

void Transcoder::describe_frame(const std::vector<CoefficientPlane>& planes, int width,
                                int height) {
  frame_.width = width;
  frame_.height = height;
  frame_.components.resize(planes.size());
  for (std::size_t i = 0; i < planes.size(); ++i) frame_.components[i].quant = options_.steps[i];
  if (planes.size() == 1) return;
  frame_.components[0].h = planes[0].h / planes[1].h * (options_.halve_across ? 2 : 1);
  frame_.components[0].v = planes[0].v / planes[1].v * (options_.halve_down ? 2 : 1);
}

void Transcoder::add_component(const CoefficientPlane& plane, bool chroma, std::size_t index) {
  const bool across = chroma && options_.halve_across, down = chroma && options_.halve_down;
  const QuantTable& steps = options_.steps[index];
  // Where nothing is requantised, nothing shall be lost.
  const bool lossless = !across && !down && plane.steps == steps;
  const bool choose = options_.rate_distortion && !lossless;
  const int price = choose ? bit_price(options_.steps[0]) : 0;
  Component component{&plane,
                      across,
                      down,
                      across ? (plane.across + 1) / 2 : plane.across,
                      down ? (plane.down + 1) / 2 : plane.down,
                      Dequantizer(plane.steps),
                      Quantizer(steps, price),
                      std::nullopt};
  if (choose) {
    // The codes that a first pass would find best lead to the same choices, near enough.
    const HuffmanTable& table = standard_huffman_table(CodeKind::ac, chroma);
    component.rate_distortion.emplace(steps, make_codes(table), price);
  }
  components_.push_back(component);
}

void Transcoder::allocate() {
  for (std::size_t i = 0; i < components_.size(); ++i) {
    const Component& component = components_[i];
    TranscodeScratch::Rows& rows = scratch_.rows[i];
    const int count = component.across * frame_.components[i].v;
    make_room(rows.values, component.across);
    make_room(rows.levels, count);
    rows.nonzero.resize(std::max(rows.nonzero.size(), static_cast<std::size_t>(count)));
    if (!component.halve_across && !component.halve_down) continue;
    for (auto& source : scratch_.source) make_room(source, component.plane->across + 1);
    make_room(scratch_.halved, component.plane->across + 1);
  }
}

// The values of a block row of the source; below the last one its mirror image.
DctBlock* Transcoder::read_source(const Component& component, int row, int slot) {
  const CoefficientPlane& plane = *component.plane;
  DctBlock* const values = blocks(scratch_.source[static_cast<std::size_t>(slot)]);
  if (row < plane.down) {
    dequantize(plane.rows[static_cast<std::size_t>(row)], static_cast<std::size_t>(plane.across),
               component.dequantizer, values);
    return values;
  }
  const DctBlock* const above = blocks(scratch_.source[0]);
  for (int x = 0; x < plane.across; ++x) mirror_down(above[x], values[x]);
  return values;
}

// The values of a block row of the output.
void Transcoder::read_values(const Component& component, int row, DctBlock* values) {
  const CoefficientPlane& plane = *component.plane;
  const auto across = static_cast<std::size_t>(plane.across);
  if (!component.halve_across && !component.halve_down) {
    dequantize(plane.rows[static_cast<std::size_t>(row)], across, component.dequantizer, values);
    return;
  }
  DctBlock* source = read_source(component, component.halve_down ? 2 * row : row, 0);
  if (component.halve_down) {
    const DctBlock* const below = read_source(component, 2 * row + 1, 1);
    DctBlock* const halved = component.halve_across ? blocks(scratch_.halved) : values;
    halve_down(source, below, across, halved);
    source = halved;
  }
  if (component.halve_across) {
    if (across % 2 != 0) mirror_across(source[across - 1], source[across]);
    halve_across(source, (across + 1) / 2 * 2, values);
  }
}

void Transcoder::optimize_row(const Component& component, const DctBlock* values, DctBlock* levels,
                              std::uint64_t* nonzero) const {
  for (int x = 0; x < component.across; ++x) {
    nonzero[x] = to_zigzag(nonzero[x]);
    if (component.rate_distortion) {
      nonzero[x] = component.rate_distortion->optimize(values[x], levels[x], nonzero[x]);
    }
  }
}

void Transcoder::make_row(std::size_t index, int row, int slot) {
  const Component& component = components_[index];
  TranscodeScratch::Rows& rows = scratch_.rows[index];
  DctBlock* const values = blocks(rows.values);
  DctBlock* const levels = blocks(rows.levels) + slot * component.across;
  std::uint64_t* const nonzero = rows.nonzero.data() + slot * component.across;
  read_values(component, row, values);
  quantize(values, static_cast<std::size_t>(component.across), component.quantizer, levels,
           nonzero);
  optimize_row(component, values, levels, nonzero);
}

template <typename Stream>
void Transcoder::add_mcu(Stream& stream, std::size_t index, int mcu_x, int mcu_y) const {
  const Component& component = components_[index];
  const FrameComponent& factors = frame_.components[index];
  TranscodeScratch::Rows& rows = scratch_.rows[index];
  for (int v = 0; v < factors.v; ++v) {
    for (int h = 0; h < factors.h; ++h) {
      const int x = mcu_x * factors.h + h, y = mcu_y * factors.v + v;
      if (x >= component.across || y >= component.down) {
        stream.add_padding(static_cast<int>(index));
        continue;
      }
      const int at = v * component.across + x;
      stream.add(static_cast<int>(index), blocks(rows.levels)[at],
                 rows.nonzero[static_cast<std::size_t>(at)]);
    }
  }
}

template <typename Stream>
Bytes Transcoder::baseline(Stream& stream, ByteView metadata) {
  const FrameComponent& luma = frame_.components[0];
  const int mcus_across = (components_[0].across + luma.h - 1) / luma.h;
  const int mcus_down = (components_[0].down + luma.v - 1) / luma.v;
  const std::size_t blocks_in_row =
      static_cast<std::size_t>(mcus_across) *
      static_cast<std::size_t>(luma.h * luma.v + (components_.size() > 1 ? 2 : 0));
  stream.clear();
  for (int mcu_y = 0; mcu_y < mcus_down; ++mcu_y) {
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const int v = frame_.components[i].v;
      for (int slot = 0; slot < v && mcu_y * v + slot < components_[i].down; ++slot) {
        make_row(i, mcu_y * v + slot, slot);
      }
    }
    stream.reserve(blocks_in_row);
    for (int mcu_x = 0; mcu_x < mcus_across; ++mcu_x) {
      for (std::size_t i = 0; i < components_.size(); ++i) add_mcu(stream, i, mcu_x, mcu_y);
    }
  }
  return write_baseline(frame_, metadata, stream);
}

Bytes Transcoder::progressive(ByteView metadata) {
  std::vector<CoefficientPlane> planes(components_.size());
  std::vector<std::vector<std::int16_t>> levels(components_.size());
  for (std::size_t i = 0; i < components_.size(); ++i) {
    const Component& component = components_[i];
    planes[i].across = component.across;
    planes[i].down = component.down;
    levels[i].resize(static_cast<std::size_t>(component.across) *
                     static_cast<std::size_t>(component.down) * 64);
    for (int row = 0; row < component.down; ++row) {
      make_row(i, row, 0);
      DctBlock* const kept =
          blocks(levels[i]) + static_cast<std::ptrdiff_t>(row) * component.across;
      std::copy_n(scratch_.rows[i].levels.data(), static_cast<std::size_t>(component.across) * 64,
                  *kept);
      planes[i].rows.push_back(kept);
    }
  }
  return write_progressive(frame_, planes, metadata);
}

}  // namespace

Bytes transcode(const std::vector<CoefficientPlane>& planes, int width, int height,
                const TranscodeOptions& options, ByteView metadata, TranscodeScratch& scratch) {
  Transcoder transcoder(planes, width, height, options, scratch);
  if (options.progressive) return transcoder.progressive(metadata);
  return options.optimize ? transcoder.baseline(scratch.tokens, metadata)
                          : transcoder.baseline(scratch.codes, metadata);
}

}  // namespace prep::image
