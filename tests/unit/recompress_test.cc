#include "lib/image/recompress.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/quant_tables.h"
#include "lib/image/ssim.h"
#include "pictures.h"

namespace prep::image::recompress_test {
namespace {

using test::Buffer;
using test::Image;
using test::JpegSpec;
using Kind = RecompressResult::Kind;
using Subsampling = RecompressOptions::Subsampling;
using Method = RecompressOptions::Method;
using Sampling = std::vector<std::pair<int, int>>;

const Sampling k444 = {{1, 1}, {1, 1}, {1, 1}}, k420 = {{2, 2}, {1, 1}, {1, 1}},
               k422 = {{2, 1}, {1, 1}, {1, 1}}, k440 = {{1, 2}, {1, 1}, {1, 1}};

// Smooth colours with edges and some texture.
Image photo(int width, int height, int channels = 3) {
  return test::draw(width, height, channels, [](int x, int y, int c) {
    const double wave = 60 * std::sin(x / 9.0 + c) + 50 * std::cos(y / (7.0 + c));
    const int texture = (x * 7 + y * 13 + x * y % 11) % 9 - 4;
    return static_cast<int>(128 + wave + texture + (x > 2 * y ? 25 - 20 * c : 0));
  });
}

Buffer jpeg(const Image& image, int quality, const Sampling& sampling = k444) {
  JpegSpec spec;
  spec.quality = quality;
  if (image.channels == 3) spec.sampling = sampling;
  return test::make_jpeg(image, spec);
}

RecompressResult run(const Buffer& data, const RecompressOptions& options = {}) {
  return Recompressor(options).recompress(test::bytes(data));
}

Buffer buffer(const Bytes& data) { return {data.data(), data.data() + data.size()}; }

JpegInfo info_of(const Bytes& data) { return read_jpeg_info(data, 100); }

// The table of component `i`, in natural order.
QuantTable steps_of(const JpegInfo& info, std::size_t i) {
  QuantTable steps{};
  for (std::size_t k = 0; k < 64; ++k) {
    steps[kZigzag[k]] = info.quant[info.components[i].quant_table][k];
  }
  return steps;
}

double psnr(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    sum += std::pow(double(a.samples[i]) - b.samples[i], 2);
  }
  return 10 * std::log10(255.0 * 255 * double(a.samples.size()) / std::max(sum, 1e-9));
}

Code failure(const Buffer& data, const RecompressOptions& options = {}) {
  try {
    run(data, options);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

TEST_CASE("A 4:4:4 photo becomes a smaller baseline 4:2:0 of the target's tables") {
  const Image image = photo(233, 155);
  const Buffer source = jpeg(image, 96);
  const RecompressResult result = run(source);
  REQUIRE(result.kind == Kind::recompressed);
  CHECK(result.reason.empty());
  CHECK(result.source_quality == 96);
  CHECK(result.quality == 70);
  CHECK(result.data.size() < source.size() / 2);
  const JpegInfo info = info_of(result.data);
  CHECK(info.jfif);
  CHECK_FALSE(info.progressive);
  CHECK_FALSE(info.restarts);
  CHECK(info.scans == 1);
  CHECK(info.width == 233);
  CHECK(info.height == 155);
  CHECK(info.components[0].h == 2);
  CHECK(info.components[0].v == 2);
  CHECK(steps_of(info, 0) == standard_quant_table(StandardTable::luma, 70));
  CHECK(steps_of(info, 1) == standard_quant_table(StandardTable::chroma, 70));
  CHECK(steps_of(info, 2) == standard_quant_table(StandardTable::chroma, 70));
}

TEST_CASE("At the same subsampling the picture is as close as decoding and encoding makes it") {
  const Sampling sampling = GENERATE(k444, k420, k422, k440);
  const Image image = photo(200, 160);
  const Buffer source = jpeg(image, 95, sampling);
  const Image decoded = test::read_jpeg(source);
  RecompressOptions options;
  options.subsampling = Subsampling::keep;
  options.rate_distortion = false;
  const RecompressResult result = run(source, options);
  REQUIRE(result.kind == Kind::recompressed);
  const Buffer again = jpeg(decoded, 70, sampling);
  CHECK(psnr(decoded, test::read_jpeg(result.data.view())) >
        psnr(decoded, test::read_jpeg(again)) - 0.1);
  CHECK(test::jpeg_facts(result.data.view()).sampling == sampling);
}

TEST_CASE("Chroma halved in the DCT domain is where it was") {
  const Sampling sampling = GENERATE(k444, k422, k440);
  // Odd and even numbers of blocks, whole and not.
  const auto [width, height] = GENERATE(std::pair{64, 48}, std::pair{65, 49}, std::pair{72, 56},
                                        std::pair{71, 55}, std::pair{8, 8}, std::pair{3, 90});
  const Image image = test::draw(
      width, height, 3, [](int x, int y, int c) { return 128 + (c - 1) * (x / 2 - y / 3); });
  const Buffer source = jpeg(image, 98, sampling);
  RecompressOptions options;
  options.quality = 92;
  options.min_gain = 0;
  const RecompressResult result = run(source, options);
  if (result.kind == Kind::copied) return;  // too small to gain
  const Image decoded = test::read_jpeg(source);
  CHECK(psnr(decoded, test::read_jpeg(result.data.view())) > 36);
}

TEST_CASE("The rate-distortion choice makes files smaller at little loss") {
  const Image image = photo(300, 200);
  const Buffer source = jpeg(image, 96);
  RecompressOptions options;
  options.subsampling = Subsampling::keep;
  const RecompressResult with = run(source, options);
  options.rate_distortion = false;
  const RecompressResult without = run(source, options);
  const Image decoded = test::read_jpeg(source);
  CHECK(with.data.size() < without.data.size());
  CHECK(psnr(decoded, test::read_jpeg(with.data.view())) >
        psnr(decoded, test::read_jpeg(without.data.view())) - 1);
}

TEST_CASE("What was recompressed is copied the second time") {
  const auto method = GENERATE(Method::automatic, Method::dct, Method::pixel);
  const auto subsampling = GENERATE(Subsampling::s420, Subsampling::keep, Subsampling::s444);
  const bool progressive = GENERATE(false, true);
  for (const Sampling& sampling : {k444, k420, k422}) {
    RecompressOptions options;
    options.method = method;
    options.subsampling = subsampling;
    options.progressive = progressive;
    const RecompressResult first = run(jpeg(photo(90, 70), 95, sampling), options);
    if (first.kind == Kind::copied) continue;
    CHECK(info_of(first.data).progressive == progressive);
    const RecompressResult second = run(buffer(first.data), options);
    CHECK(second.kind == Kind::copied);
    CHECK(second.reason == "at or below the target quality already");
    CHECK(buffer(second.data) == buffer(first.data));
  }
}

TEST_CASE("A file at or below the target is copied, byte for byte") {
  RecompressOptions options;
  options.subsampling = Subsampling::keep;
  for (const int quality : {40, 65, 70}) {
    const Buffer source = jpeg(photo(90, 70), quality);
    const RecompressResult result = run(source, options);
    CHECK(result.kind == Kind::copied);
    CHECK(result.reason == "at or below the target quality already");
    CHECK(buffer(result.data) == source);
    CHECK(result.quality == quality);
  }
  options.min_gain = 0.5;
  CHECK(run(jpeg(photo(90, 70), 75), options).reason == "not 50 % smaller");
}

TEST_CASE("Tables are never finer than the source's") {
  // Luma is finer than the target, chroma coarser: what libjpeg's separate scaling can't make.
  const Buffer fine = jpeg(photo(120, 90), 95), coarse = jpeg(photo(120, 90), 50);
  Buffer mixed = fine;
  // The segment of table 1.
  const Buffer start{0xFF, 0xDB, 0, 67, 1};
  const auto find_chroma = [&](Buffer& data) {
    return std::search(data.begin(), data.end(), start.begin(), start.end()) + 5;
  };
  Buffer donor = coarse;
  std::copy_n(find_chroma(donor), 64, find_chroma(mixed));
  const RecompressResult result = run(mixed);
  REQUIRE(result.kind == Kind::recompressed);
  const JpegInfo info = info_of(result.data);
  CHECK(steps_of(info, 0) == standard_quant_table(StandardTable::luma, 70));
  CHECK(steps_of(info, 1) == standard_quant_table(StandardTable::chroma, 50));
}

TEST_CASE("A coarse 4:4:4 file may be subsampled, its luma stays exactly") {
  const Image image = photo(160, 120);
  const Buffer source = jpeg(image, 60);
  const RecompressResult result = run(source);
  REQUIRE(result.kind == Kind::recompressed);
  CHECK(result.quality == 60);
  PlanarScratch a, b;
  std::vector<std::string> warnings;
  const Planes before =
      decode_planes(test::bytes(source), info_of(test::bytes(source)), {}, a, warnings);
  const Planes after = decode_planes(result.data, info_of(result.data), {}, b, warnings);
  CHECK(ssim(as_const(before.plane[0]), as_const(after.plane[0])) == 1);
  CHECK(after.plane[1].width == 80);
}

TEST_CASE("Subsampling: 4:4:4 out of 4:2:0 takes pixels") {
  const Buffer source = jpeg(photo(200, 150), 98, k420);
  RecompressOptions options;
  options.subsampling = Subsampling::s444;
  const RecompressResult result = run(source, options);
  REQUIRE(result.kind == Kind::recompressed);
  CHECK(test::jpeg_facts(result.data.view()).sampling == k444);
  CHECK(psnr(test::read_jpeg(source), test::read_jpeg(result.data.view())) > 30);
  options.method = Method::dct;
  CHECK(run(source, options).reason ==
        "the chroma subsampling can only be changed by way of pixels");
}

TEST_CASE("By pixels and by coefficients much the same comes out") {
  const Buffer source = jpeg(photo(101, 83), 95);
  const Image decoded = test::read_jpeg(source);
  RecompressOptions options;
  options.rate_distortion = false;
  const Image dct = test::read_jpeg(run(source, options).data.view());
  options.method = Method::pixel;
  const RecompressResult result = run(source, options);
  const Image pixel = test::read_jpeg(result.data.view());
  CHECK(std::fabs(psnr(decoded, dct) - psnr(decoded, pixel)) < 0.5);
  CHECK(test::jpeg_facts(result.data.view()).sampling == k420);
}

TEST_CASE("Grey stays grey, whatever its sampling factors") {
  for (const Sampling& sampling : {Sampling{{1, 1}}, Sampling{{2, 2}}}) {
    JpegSpec spec;
    spec.quality = 95;
    spec.sampling = sampling;
    const Buffer source = test::make_jpeg(photo(77, 50, 1), spec);
    const RecompressResult result = run(source);
    REQUIRE(result.kind == Kind::recompressed);
    CHECK(info_of(result.data).color == JpegColor::grey);
    CHECK(psnr(test::read_jpeg(source), test::read_jpeg(result.data.view())) > 30);
  }
}

TEST_CASE("Progressive files and restarts become one baseline scan") {
  JpegSpec spec;
  spec.quality = 95;
  spec.sampling = k444;
  const RecompressResult plain = run(test::make_jpeg(photo(90, 70), spec));
  spec.progressive = true;
  CHECK(buffer(run(test::make_jpeg(photo(90, 70), spec)).data) == buffer(plain.data));
  spec.progressive = false;
  spec.restart_interval = 3;
  CHECK(buffer(run(test::make_jpeg(photo(90, 70), spec)).data) == buffer(plain.data));
}

TEST_CASE("Huffman tables: the standard's, the image's, and a progressive file's decode to one") {
  const Buffer source = jpeg(photo(150, 130), 95);
  RecompressOptions options;
  const RecompressResult optimized = run(source, options);
  options.optimize = false;
  const RecompressResult standard = run(source, options);
  options.progressive = true;
  const RecompressResult progressive = run(source, options);
  CHECK(optimized.data.size() < standard.data.size());
  const Image image = test::read_jpeg(optimized.data.view());
  CHECK(test::read_jpeg(standard.data.view()).samples == image.samples);
  CHECK(test::read_jpeg(progressive.data.view()).samples == image.samples);
}

TEST_CASE("Profile and orientation stay") {
  JpegSpec spec;
  spec.quality = 95;
  spec.orientation = 6;
  spec.icc = test::rgb_profile(test::kP3Primaries);
  const Buffer source = test::make_jpeg(photo(120, 90), spec);
  RecompressOptions options;
  for (const bool progressive : {false, true}) {
    for (const auto method : {Method::dct, Method::pixel}) {
      for (const bool strip : {true, false}) {
        options.progressive = progressive;
        options.method = method;
        options.strip_all = strip;
        const RecompressResult result = run(source, options);
        REQUIRE(result.kind == Kind::recompressed);
        const auto facts = test::jpeg_facts(result.data.view());
        CHECK(facts.icc == spec.icc);
        CHECK(facts.orientation == 6);
      }
    }
  }
}

TEST_CASE("Metadata are no gain, and counted when dropped") {
  RecompressOptions options;
  options.min_gain = 0.5;
  Buffer source = jpeg(photo(90, 70), 75, k420);
  const Buffer trailing(5000, 1);
  test::append(source, trailing);
  const RecompressResult copied = run(source, options);
  CHECK(copied.reason == "not 50 % smaller");
  CHECK(copied.metadata_dropped == 0);
  CHECK(copied.warnings.size() == 1);
  source = jpeg(photo(90, 70), 98, k420);
  test::append(source, trailing);
  const RecompressResult result = run(source, options);
  CHECK(result.kind == Kind::recompressed);
  CHECK(result.metadata_dropped == 5000);
}

TEST_CASE("What is no YCbCr or grey is copied with the reason") {
  const auto reason = [](JpegSpec::Color color, int channels, const Sampling& sampling = {}) {
    JpegSpec spec;
    spec.quality = 95;
    spec.color = color;
    spec.sampling = sampling;
    const Buffer source = test::make_jpeg(photo(40, 40, channels), spec);
    const RecompressResult result = run(source);
    CHECK(result.kind == Kind::copied);
    CHECK(buffer(result.data) == source);
    return result.reason;
  };
  CHECK(reason(JpegSpec::Color::cmyk, 4) == "CMYK");
  CHECK(reason(JpegSpec::Color::ycck, 4) == "YCCK");
  CHECK(reason(JpegSpec::Color::rgb, 3) == "RGB");
  CHECK(reason(JpegSpec::Color::standard, 3, {{4, 1}, {1, 1}, {1, 1}}) ==
        "unusual chroma subsampling");
  CHECK(reason(JpegSpec::Color::standard, 3, {{1, 1}, {2, 1}, {1, 1}}) ==
        "unusual chroma subsampling");
}

TEST_CASE("Cb and Cr of different resolution go by pixels, or stay") {
  const Buffer source = jpeg(photo(120, 90), 95, {{2, 2}, {2, 1}, {1, 1}});
  const RecompressResult result = run(source);
  REQUIRE(result.kind == Kind::recompressed);
  CHECK(test::jpeg_facts(result.data.view()).sampling == k420);
  RecompressOptions options;
  options.subsampling = Subsampling::keep;
  CHECK(run(source, options).reason == "unusual chroma subsampling");
  Buffer endless = source;
  endless.resize(endless.size() - 2);
  CHECK(run(endless, options).reason == "unusual chroma subsampling");
}

TEST_CASE("What is no JPEG, or nothing, is an error") {
  CHECK(failure({'c', 'a', 't'}) == Code::corrupt);
  CHECK(failure({}) == Code::empty);
}

TEST_CASE("Damage is an error, in files that would be copied too") {
  for (const int quality : {95, 50}) {
    const Buffer source = jpeg(photo(90, 70), quality, k420);
    CHECK(failure(test::cut(source, 0.6)) == Code::truncated);
    CHECK(failure(test::cut(source, 0.02)) == Code::truncated);
  }
  JpegSpec cmyk;
  cmyk.color = JpegSpec::Color::cmyk;
  CHECK(failure(test::cut(test::make_jpeg(photo(40, 40, 4), cmyk), 0.6)) == Code::truncated);
}

TEST_CASE("A file without an end is mended, though it is at the target") {
  Buffer source = jpeg(photo(90, 70), 60, k420);
  const Image before = test::read_jpeg(source);
  source.resize(source.size() - 2);
  const RecompressResult result = run(source);
  CHECK(result.kind == Kind::recompressed);
  CHECK(result.warnings == std::vector<std::string>{"the end marker is missing"});
  CHECK(test::read_jpeg(result.data.view()).samples == before.samples);
}

TEST_CASE("Mending makes nothing larger but for the end marker, and is done once") {
  for (const int quality : {50, 72}) {
    Buffer source = jpeg(photo(90, 70), quality, k420);
    const Image before = test::read_jpeg(source);
    source.resize(source.size() - 2);
    for (const auto subsampling : {Subsampling::s420, Subsampling::keep, Subsampling::s444}) {
      RecompressOptions options;
      options.subsampling = subsampling;
      options.optimize = options.rate_distortion = false;
      options.min_gain = 0.9;
      const RecompressResult result = run(source, options);
      CHECK(result.kind == Kind::recompressed);
      CHECK(result.quality == std::min(quality, 70));
      CHECK(result.data.size() <= source.size() + 2);
      CHECK(test::jpeg_facts(result.data.view()).sampling == k420);
      const Image after = test::read_jpeg(result.data.view());
      if (quality == 50) CHECK(after.samples == before.samples);
      CHECK(run(buffer(result.data), options).reason == "at or below the target quality already");
    }
  }
}

TEST_CASE("A file without an end is mended, though no lower quality has the wanted SSIM") {
  Buffer source = jpeg(photo(90, 70), 50, k420);
  source.resize(source.size() - 2);
  RecompressOptions options;
  options.target_ssim = 1;
  options.method = Method::pixel;
  const RecompressResult result = run(source, options);
  CHECK(result.kind == Kind::recompressed);
  CHECK(info_of(result.data).ends);
}

TEST_CASE("Limits") {
  const Buffer source = jpeg(photo(90, 70), 95);
  RecompressOptions options;
  options.max_pixels = 90 * 70 - 1;
  CHECK(failure(source, options) == Code::limit);
  options = {};
  options.max_scans = 2;
  JpegSpec progressive;
  progressive.progressive = true;
  CHECK(failure(test::make_jpeg(photo(90, 70), progressive), options) == Code::limit);
}

TEST_CASE("The lowest quality with the wanted SSIM is found") {
  const Buffer source = jpeg(photo(160, 120), 95, k420);
  RecompressOptions options;
  options.target_ssim = 0.97;
  const RecompressResult result = run(source, options);
  REQUIRE(result.kind == Kind::recompressed);
  const auto similarity = [&](const Bytes& data) {
    PlanarScratch a, b;
    std::vector<std::string> warnings;
    const Bytes before = test::bytes(source);
    return ssim(as_const(decode_planes(before, info_of(before), {}, a, warnings).plane[0]),
                as_const(decode_planes(data, info_of(data), {}, b, warnings).plane[0]));
  };
  CHECK(similarity(result.data) >= 0.97);
  RecompressOptions below;
  below.quality = result.quality - 1;
  below.min_gain = 0;
  CHECK(similarity(run(source, below).data) < 0.97);
  options.target_ssim = 1;
  CHECK(similarity(run(source, options).data) == 1);
}

TEST_CASE("Options that make no sense are refused") {
  const auto refused = [](const std::function<void(RecompressOptions&)>& change) {
    RecompressOptions options;
    change(options);
    try {
      options.validate();
    } catch (const Error& error) {
      return error.code() == Code::usage;
    }
    return false;
  };
  CHECK_FALSE(refused([](RecompressOptions&) {}));
  CHECK(refused([](RecompressOptions& o) { o.quality = 0; }));
  CHECK(refused([](RecompressOptions& o) { o.quality = 101; }));
  CHECK(refused([](RecompressOptions& o) { o.min_gain = 1; }));
  CHECK(refused([](RecompressOptions& o) { o.min_gain = -0.1; }));
  CHECK(refused([](RecompressOptions& o) { o.target_ssim = 1.5; }));
  CHECK(refused([](RecompressOptions& o) { o.max_scans = 0; }));
}

}  // namespace
}  // namespace prep::image::recompress_test
