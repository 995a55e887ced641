#include "lib/image/resize.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "lib/core/error.h"
#include "lib/image/orient.h"
#include "pictures.h"

namespace prep::resize_test {

using namespace prep::image;
using namespace prep::test;
using Kind = ResizeResult::Kind;

namespace {

ResizeOptions to_short(int side) {
  ResizeOptions options;
  options.short_side = side;
  options.quality = 95;
  return options;
}

ResizeResult run(const Buffer& file, const ResizeOptions& options = to_short(64)) {
  return Resizer(options).resize(bytes(file));
}

Image jpeg_of(const ResizeResult& result) {
  REQUIRE(result.kind == Kind::resized);
  REQUIRE(result.format == Format::jpeg);
  return read_jpeg(result.data.view());
}

Image png_of(const ResizeResult& result) {
  REQUIRE(result.kind == Kind::resized);
  REQUIRE(result.format == Format::png);
  return read_png(result.data.view()).image();
}

Error failure(const Buffer& file, const ResizeOptions& options = to_short(64)) {
  try {
    Resizer(options).resize(bytes(file));
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return Error(Code::internal, "");
}

bool warns(const ResizeResult& result, const std::string& text) {
  return std::any_of(result.warnings.begin(), result.warnings.end(),
                     [&](const std::string& w) { return w.find(text) != std::string::npos; });
}

void check_solid(const Image& image, const std::vector<int>& color, int tolerance = 2) {
  REQUIRE(image.channels == int(color.size()));
  INFO("first pixel " << int(image.at(0, 0, 0)) << ' ' << int(image.at(0, 0, image.channels - 1)));
  CHECK(max_difference(image, solid(image.width, image.height, color)) <= tolerance);
}

// Smooth, without a symmetry, with steep chroma in both directions.
Image scene(int width, int height, int channels = 3) {
  return draw(width, height, channels, [&](int x, int y, int c) {
    const double u = (x + 0.5) / width, v = (y + 0.5) / height;
    const double values[] = {0.1 + 0.8 * u, 0.15 + 0.5 * v + 0.2 * u * v, 0.9 - 0.7 * u * (1 - v)};
    return int(std::lround(255 * values[c]));
  });
}

// The mean of the differences, with their sign: a shift of a gradient shows in it, noise doesn't.
double bias(const Image& a, const Image& b, int channel) {
  double sum = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) sum += a.at(x, y, channel) - b.at(x, y, channel);
  }
  return sum / (double(a.width) * a.height);
}

}  // namespace

TEST_CASE("sizes are torchvision's, in integers", "[resize]") {
  ResizeOptions options;
  CHECK(output_size(500, 375, options) == std::pair(341, 256));
  CHECK(output_size(375, 500, options) == std::pair(256, 341));
  CHECK(output_size(640, 640, options) == std::pair(256, 256));
  // 256 * 347 / 347 in floating point can be 255.99…
  for (int side = 257; side < 6000; ++side) {
    REQUIRE(output_size(side, side, options) == std::pair(256, 256));
    REQUIRE(output_size(side, side + 1, options).first == 256);
  }
  CHECK(output_size(200, 300, options) == std::pair(200, 300));
  CHECK(output_size(1, 3000, options) == std::pair(1, 3000));
  options.enlarge = true;
  CHECK(output_size(200, 300, options) == std::pair(256, 384));
  CHECK(output_size(1, 3000, options) == std::pair(256, 768000));
  CHECK(output_size(1, 2'000'000'000, options).second == 2'147'483'647);
  options = {};
  options.short_side.reset();
  options.long_side = 100;
  CHECK(output_size(1000, 333, options) == std::pair(100, 33));
  CHECK(output_size(333, 1000, options) == std::pair(33, 100));
  CHECK(output_size(10000, 3, options) == std::pair(100, 1));
  CHECK(output_size(100, 3, options) == std::pair(100, 3));
}

TEST_CASE("options that do not go together", "[resize]") {
  const auto usage = [](auto change) {
    ResizeOptions options;
    change(options);
    try {
      options.validate();
    } catch (const Error& error) {
      return error.code() == Code::usage;
    }
    return false;
  };
  CHECK_NOTHROW(ResizeOptions().validate());
  CHECK(usage([](ResizeOptions& o) { o.long_side = 9; }));
  CHECK(usage([](ResizeOptions& o) { o.short_side.reset(); }));
  CHECK(usage([](ResizeOptions& o) { o.short_side = 0; }));
  CHECK(usage([](ResizeOptions& o) { o.quality = 101; }));
  CHECK(usage([](ResizeOptions& o) { o.max_aspect = 0.5; }));
}

TEST_CASE("formats by magic", "[resize]") {
  const auto of = [](const std::string& head) { return sniff(as_bytes(head)); };
  CHECK(of("\xff\xd8\xff\xe0") == Format::jpeg);
  CHECK(of("\x89PNG\r\n\x1a\n....") == Format::png);
  CHECK(of("RIFF....WEBPVP8 ") == Format::webp);
  CHECK(of("RIFF....WAVEfmt ") == Format::unknown);
  CHECK(of(std::string("II*\0....", 8)) == Format::tiff);
  CHECK(of(std::string("MM\0*....", 8)) == Format::tiff);
  CHECK(of(std::string("MM\0+....", 8)) == Format::bigtiff);
  CHECK(of("GIF89a......") == Format::gif);
  CHECK(of(std::string("BM............\x28\0\0\0", 18)) == Format::bmp);
  CHECK(of("BM is how this text starts") == Format::unknown);
  CHECK(of(std::string("\0\0\0\x18"
                       "ftypheic\0\0\0\0mif1heic",
                       24)) == Format::heic);
  CHECK(of(std::string("\0\0\0\x18"
                       "ftypmif1\0\0\0\0mif1avif",
                       24)) == Format::avif);
  CHECK(of(std::string("\0\0\0\x18"
                       "ftypisom\0\0\0\0isommp42",
                       24)) == Format::unknown);
  CHECK(of(std::string("\0\0\0\x0cJXL \r\n\x87\n", 12)) == Format::jxl);
  CHECK(of("\xff") == Format::unknown);
  CHECK(of("") == Format::unknown);
  CHECK(extension(Format::jpeg) == "jpg");
  CHECK(has_extension(Format::jpeg, "JPEG"));
  CHECK(has_extension(Format::tiff, "tiff"));
  CHECK(!has_extension(Format::png, "jpg"));
  CHECK(!has_extension(Format::unknown, ""));
}

TEST_CASE("what is no picture and what is refused", "[resize]") {
  const ResizeResult text = run({'4', '2', '\n'});
  CHECK(text.kind == Kind::not_an_image);
  CHECK(text.data.text() == "42\n");
  CHECK(failure({}).code() == Code::empty);
  const Error heic = failure({0, 0, 0, 24, 'f', 't', 'y', 'p', 'h', 'e', 'i', 'c', 0, 0, 0, 0});
  CHECK(heic.code() == Code::unsupported);
  CHECK(std::string(heic.what()) == "HEIC is not supported; convert it first");
}

TEST_CASE("gradients keep their place", "[resize]") {
  for (const auto& [width, height] : {std::pair(501, 375), {500, 376}, {1021, 767}, {2048, 1500}}) {
    for (const auto& sampling :
         std::vector<std::vector<std::pair<int, int>>>{{},
                                                       {{1, 1}, {1, 1}, {1, 1}},
                                                       {{2, 1}, {1, 1}, {1, 1}},
                                                       {{1, 2}, {1, 1}, {1, 1}},
                                                       {{4, 1}, {1, 1}, {1, 1}}}) {
      const Buffer file = make_jpeg(scene(width, height), {97, sampling});
      for (const auto choice : {SubsamplingChoice::s420, SubsamplingChoice::s444}) {
        ResizeOptions options = to_short(115);  // odd
        options.subsampling = choice;
        const Image out = jpeg_of(run(file, options));
        const auto [w, h] = output_size(width, height, options);
        REQUIRE(out.width == w);
        REQUIRE(out.height == h);
        const Image ideal = scene(w, h);
        INFO(width << 'x' << height << " sampling "
                   << (sampling.empty() ? 22 : sampling[0].first * 10 + sampling[0].second)
                   << " to " << (choice == SubsamplingChoice::s420 ? "420" : "444"));
        CHECK(mean_difference(out, ideal) < 1.2);
        for (int c = 0; c < 3; ++c) CHECK(std::abs(bias(out, ideal, c)) < 0.35);
      }
    }
  }
}

TEST_CASE("orientation is applied once, to pixels and sizes", "[resize]") {
  const std::vector<std::pair<int, int>> full{{1, 1}, {1, 1}, {1, 1}};
  for (const auto& [width, height] : {std::pair(301, 233), {300, 232}, {233, 301}}) {
    for (int o = 1; o <= 8; ++o) {
      for (const int kind : {0, 1, 2, 3}) {  // 4:2:0, 4:4:4, grey, PNG
        const Image upright = scene(width, height, kind == 2 ? 1 : 3);
        const Image stored = stored_as(upright, o);
        const Buffer file = kind == 3 ? make_png(stored, {png_chunk("eXIf", exif_with(o))})
                                      : make_jpeg(stored, {97, kind == 1 ? full : decltype(full){},
                                                           JpegSpec::Color::standard, true, o});
        ResizeOptions options = to_short(75);
        options.subsampling = kind == 1 ? SubsamplingChoice::keep : SubsamplingChoice::s420;
        const ResizeResult result = run(file, options);
        const Image out = jpeg_of(result);
        const auto [w, h] = output_size(width, height, options);
        INFO("orientation " << o << " kind " << kind << " of " << width << 'x' << height);
        REQUIRE(out.width == w);
        REQUIRE(out.height == h);
        const Image ideal = scene(w, h, upright.channels);
        CHECK(mean_difference(out, ideal) < 1.2);
        for (int c = 0; c < out.channels; ++c) CHECK(std::abs(bias(out, ideal, c)) < 0.35);
        CHECK(!jpeg_facts(result.data.view()).orientation);
        const bool is_full = jpeg_facts(result.data.view()).sampling[0] == std::pair(1, 1);
        CHECK(is_full == (kind == 1 || kind == 2));
      }
    }
  }
}

TEST_CASE("a border stays centred", "[resize]") {
  const Image bordered = draw(257, 257, 3, [](int x, int y, int) {
    return x == 0 || y == 0 || x == 256 || y == 256 ? 0 : 200;
  });
  for (const int side : {256, 128, 100, 60, 31}) {
    ResizeOptions options = to_short(side);
    options.quality = 100;
    const Image out = jpeg_of(run(make_jpeg(bordered, {100}), options));
    REQUIRE(out.width == side);
    // Up to 64 the decoder has shrunk the picture first, and a pair of columns is one.
    const int tolerance = side > 64 ? 4 : 8;
    for (int i = side / 4; i < 3 * side / 4; ++i) {
      INFO("side " << side << " at " << i);
      CHECK(std::abs(out.at(0, i) - out.at(side - 1, i)) <= tolerance);
      CHECK(std::abs(out.at(i, 0) - out.at(i, side - 1)) <= tolerance);
      CHECK(out.at(0, i) < 195);
    }
  }
}

TEST_CASE("small upright JPEGs pass byte for byte", "[resize]") {
  const Image small = scene(60, 50);
  for (const JpegSpec& spec : {JpegSpec{}, JpegSpec{80, {{1, 1}, {1, 1}, {1, 1}}},
                               JpegSpec{90, {}, JpegSpec::Color::rgb}}) {
    const Buffer file = make_jpeg(small, spec);
    for (const auto to : {OutputFormat::jpeg, OutputFormat::keep}) {
      ResizeOptions options = to_short(64);
      options.to = to;
      const ResizeResult result = run(file, options);
      CHECK(result.kind == Kind::unchanged);
      CHECK(Buffer(result.data.view().begin(), result.data.view().end()) == file);
    }
  }
  JpegSpec turned;
  turned.orientation = 6;
  const Image upright = jpeg_of(run(make_jpeg(small, turned)));
  CHECK(upright.width == 50);
  CHECK(upright.height == 60);
}

TEST_CASE("a small JPEG that is damaged does not pass", "[resize]") {
  const Buffer file = make_jpeg(scene(60, 50), {97});
  CHECK(failure(cut(file, 0.6)).code() == Code::truncated);
  ResizeOptions lenient = to_short(64);
  lenient.allow_truncated = true;
  const ResizeResult mended = run(cut(file, 0.6), lenient);
  CHECK(jpeg_of(mended).width == 60);
  CHECK(!mended.warnings.empty());

  Buffer trailing = file;
  append(trailing, Buffer(1000, 'x'));
  const ResizeResult shorter = run(trailing);
  CHECK(shorter.kind == Kind::resized);
  CHECK(!shorter.warnings.empty());
  CHECK(Buffer(shorter.data.view().begin(), shorter.data.view().end()) == file);

  Buffer before_end(file.begin(), file.end() - 2);
  append(before_end, {1, 2, 3, 4, 0xff, 0xd9});
  const ResizeResult encoded = run(before_end);
  CHECK(!encoded.warnings.empty());
  CHECK(mean_difference(jpeg_of(encoded), scene(60, 50)) < 2);
}

TEST_CASE("a large JPEG that is damaged", "[resize]") {
  const Buffer file = make_jpeg(scene(600, 500), {97});
  CHECK(failure(cut(file, 0.6)).code() == Code::truncated);
  ResizeOptions lenient = to_short(64);
  lenient.allow_truncated = true;
  const Image mended = jpeg_of(run(cut(file, 0.6), lenient));
  CHECK(std::abs(mended.at(30, 5, 0) - scene(mended.width, mended.height).at(30, 5, 0)) < 5);

  JpegSpec restarts{90};
  restarts.restart_interval = 10;
  Buffer lost = make_jpeg(scene(600, 500), restarts);
  for (std::size_t i = lost.size() / 2; i + 1 < lost.size(); ++i) {
    if (lost[i] == 0xff && lost[i + 1] >= 0xd0 && lost[i + 1] <= 0xd7) {
      lost.erase(lost.begin() + i, lost.begin() + i + 2);
      break;
    }
  }
  const ResizeResult resynced = run(lost);
  CHECK(!resynced.warnings.empty());
  CHECK(mean_difference(jpeg_of(resynced), scene(76, 64)) < 6);
}

TEST_CASE("CMYK and YCCK, with and without Adobe's marker", "[resize]") {
  // Stored values: Adobe's inversion, and what Pillow and browsers assume without the marker too.
  const Image stored = solid(200, 160, {180, 90, 60, 200});
  const std::vector<int> rgb{int(std::lround(180 * 200 / 255.0)),
                             int(std::lround(90 * 200 / 255.0)),
                             int(std::lround(60 * 200 / 255.0))};
  using Color = JpegSpec::Color;
  check_solid(jpeg_of(run(make_jpeg(stored, {98, {}, Color::cmyk, true}))), rgb, 3);
  check_solid(jpeg_of(run(make_jpeg(stored, {98, {}, Color::cmyk, false}))), rgb, 3);
  check_solid(
      jpeg_of(run(make_jpeg(stored, {98, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}, Color::ycck, true}))),
      rgb, 4);
  // Small ones are converted too: a training loader wants RGB.
  const ResizeResult small =
      run(make_jpeg(solid(40, 30, {180, 90, 60, 200}), {98, {}, Color::cmyk}));
  check_solid(jpeg_of(small), rgb, 3);
  CHECK(jpeg_facts(small.data.view()).components == 3);
}

TEST_CASE("RGB JPEGs and odd samplings", "[resize]") {
  const Image picture = scene(200, 160);
  const auto check = [&](const JpegSpec& spec, double tolerance) {
    const Image out = jpeg_of(run(make_jpeg(picture, spec)));
    CHECK(mean_difference(out, scene(80, 64)) < tolerance);
  };
  using Color = JpegSpec::Color;
  const std::vector<std::pair<int, int>> ones{{1, 1}, {1, 1}, {1, 1}};
  check({97, ones, Color::rgb, true}, 1.5);
  check({97, ones, Color::rgb, false}, 1.5);
  check({97, {{2, 4}, {1, 1}, {1, 1}}}, 1.5);
  check({97, {{2, 2}, {1, 2}, {1, 2}}}, 1.5);
  check({97, {{2, 2}, {2, 1}, {1, 2}}}, 1.5);
  check({97, {{1, 1}, {2, 2}, {2, 2}}}, 3);  // more chroma than luma
  JpegSpec progressive{97};
  progressive.progressive = true;
  check(progressive, 1.5);

  const Image grey = scene(200, 160, 1);
  const ResizeResult result = run(make_jpeg(grey, {97, {{2, 2}}}));
  const Image out = jpeg_of(result);
  CHECK(out.channels == 1);
  CHECK(mean_difference(out, scene(80, 64, 1)) < 1);
}

TEST_CASE("colour profiles", "[resize]") {
  const Image picture = solid(200, 160, {200, 100, 50});
  const Buffer p3 = rgb_profile(kP3Primaries), srgb = rgb_profile(kSrgbPrimaries);
  // 200, 100, 50 in Display P3, by CSS Color 4's matrix.
  const std::vector<int> converted{215, 95, 33};
  JpegSpec jpeg{98};
  jpeg.icc = p3;
  const ResizeResult result = run(make_jpeg(picture, jpeg));
  check_solid(jpeg_of(result), converted, 3);
  CHECK(jpeg_facts(result.data.view()).icc.empty());
  CHECK(result.warnings.empty());

  ResizeOptions keep = to_short(64);
  keep.icc = IccChoice::keep;
  const ResizeResult kept = run(make_jpeg(picture, jpeg), keep);
  check_solid(jpeg_of(kept), {200, 100, 50}, 3);
  CHECK(jpeg_facts(kept.data.view()).icc == p3);
  ResizeOptions ignore = to_short(64);
  ignore.icc = IccChoice::ignore;
  const ResizeResult ignored = run(make_jpeg(picture, jpeg), ignore);
  check_solid(jpeg_of(ignored), {200, 100, 50}, 3);
  CHECK(jpeg_facts(ignored.data.view()).icc.empty());

  // A small picture passes with sRGB's profile, not with another's.
  const Image small = solid(40, 30, {200, 100, 50});
  JpegSpec tagged{98};
  tagged.icc = srgb;
  CHECK(run(make_jpeg(small, tagged)).kind == Kind::unchanged);
  check_solid(jpeg_of(run(make_jpeg(small, jpeg))), converted, 3);

  JpegSpec wrong{98};
  wrong.icc = p3;
  const ResizeResult grey = run(make_jpeg(solid(200, 160, {77}), wrong));
  check_solid(jpeg_of(grey), {77});
  CHECK(warns(grey, "the colour profile is for RGB, the pixels are grey: ignored"));
  wrong.icc = Buffer(500, 3);
  CHECK(warns(run(make_jpeg(picture, wrong)), "the colour profile is broken: ignored"));
  JpegSpec gamma{98};
  gamma.icc = grey_profile(1.0);
  check_solid(jpeg_of(run(make_jpeg(solid(200, 160, {128}), gamma))), {188}, 2);

  TiffSpec tiff{200, 160, 8, 3, 2};
  tiff.icc = p3;
  check_solid(jpeg_of(run(make_tiff(tiff, [&](int, int, int c) { return picture.at(0, 0, c); }))),
              converted, 3);
  ResizeOptions png = to_short(64);
  png.to = OutputFormat::png;
  check_solid(png_of(run(make_jpeg(picture, jpeg), png)), converted, 3);
}

TEST_CASE("alpha goes over the background, 16 bits are scaled", "[resize]") {
  ResizeOptions options = to_short(64);
  check_solid(jpeg_of(run(make_png(solid(200, 160, {100, 0, 50, 128})), options)), {177, 127, 152},
              3);
  options.background = {0, 0, 200};
  check_solid(jpeg_of(run(make_png(solid(200, 160, {100, 0, 50, 128})), options)), {50, 0, 125}, 4);
  check_solid(jpeg_of(run(make_png(solid(200, 160, {100, 0})), options)), {0, 0, 200}, 4);
  options.background = {255, 255, 255};
  check_solid(jpeg_of(run(make_png(solid(200, 160, {100, 51})), options)), {224}, 2);
  // Colours under full transparency do not bleed into what is opaque.
  const Image half = draw(200, 160, 4, [](int x, int, int c) {
    return c == 3 ? (x < 100 ? 255 : 0) : x < 100 ? 250 : 0;
  });
  const Image out = jpeg_of(run(make_png(half), options));
  CHECK(*std::min_element(out.samples.begin(), out.samples.end()) >= 245);
  const auto deep = [](int, int, int c) { return 0x7fff + c; };
  check_solid(jpeg_of(run(make_png({200, 160, 16, 2}, deep), options)), {127, 128, 128}, 2);
  check_solid(jpeg_of(run(make_png({200, 160, 16, 0}, [](int, int, int) { return 300; }), options)),
              {1}, 1);
}

TEST_CASE("PNG output", "[resize]") {
  ResizeOptions options = to_short(64);
  options.to = OutputFormat::png;
  const Image picture = scene(200, 160);
  CHECK(mean_difference(png_of(run(make_jpeg(picture, {97}), options)), scene(80, 64)) < 1);
  CHECK(mean_difference(png_of(run(make_png(picture), options)), scene(80, 64)) < 0.6);
  CHECK(png_of(run(make_jpeg(scene(200, 160, 1)), options)).channels == 1);
  const Buffer small = make_png(scene(60, 50));
  CHECK(run(small, options).kind == Kind::unchanged);
  CHECK(max_difference(jpeg_of(run(small)), scene(60, 50)) < 12);  // asked for a JPEG
  // What an 8-bit reader would not see as it is becomes plain.
  const Image flat = png_of(run(make_png(solid(60, 50, {100, 0, 50, 128})), options));
  check_solid(flat, {177, 127, 152}, 1);

  ResizeOptions keep = to_short(64);
  keep.to = OutputFormat::keep;
  CHECK(run(make_jpeg(picture), keep).format == Format::jpeg);
  CHECK(run(make_png(picture), keep).format == Format::png);
  CHECK(run(make_webp(picture), keep).format == Format::png);
  CHECK(run(small, keep).kind == Kind::unchanged);
  CHECK(max_difference(png_of(run(make_webp(scene(60, 50)), keep)), scene(60, 50)) == 0);
}

TEST_CASE("EXIF is kept upright or dropped", "[resize]") {
  JpegSpec spec{95};
  spec.orientation = 6;
  const Buffer file = make_jpeg(scene(200, 160), spec);
  CHECK(!jpeg_facts(run(file).data.view()).orientation);
  ResizeOptions options = to_short(64);
  options.keep_exif = true;
  CHECK(jpeg_facts(run(file, options).data.view()).orientation == 1);
  const Buffer broken = make_png(scene(200, 160), {png_chunk("eXIf", {'I', 'I', 42, 0, 9, 9})});
  const ResizeResult dropped = run(broken, options);
  CHECK(!jpeg_facts(dropped.data.view()).orientation);
  CHECK(warns(dropped, "the EXIF block is damaged: dropped"));
  options.to = OutputFormat::png;
  const PngFacts png = read_png(run(file, options).data.view());
  CHECK(std::count(png.chunk_types.begin(), png.chunk_types.end(), "eXIf") == 1);
}

TEST_CASE("limits come from the header", "[resize]") {
  ResizeOptions options = to_short(64);
  options.max_pixels = 200 * 160 - 1;
  CHECK(failure(make_jpeg(scene(200, 160)), options).code() == Code::limit);
  CHECK(failure(make_png(scene(200, 160)), options).code() == Code::limit);
  CHECK(failure(make_webp(scene(200, 160)), options).code() == Code::limit);
  CHECK(failure(make_tiff({200, 160}, [](int, int, int) { return 0; }), options).code() ==
        Code::limit);
  CHECK(failure(make_bmp({200, 160}, [](int, int) { return 0u; }), options).code() == Code::limit);
  const GifSpec gif{200, 160, Buffer(6)};
  CHECK(failure(make_gif(gif, [](int, int) { return 0; }), options).code() == Code::limit);
  // A header that claims 30000 x 30000 pixels, with nothing behind it.
  Buffer bomb = make_png(scene(8, 8));
  bomb[18] = bomb[22] = 0x75;
  bomb[19] = bomb[23] = 0x30;
  CHECK(failure(bomb).code() == Code::limit);
  JpegSpec scans{90};
  scans.progressive = true;
  options = to_short(64);
  options.max_scans = 3;
  CHECK(failure(make_jpeg(scene(200, 160), scans), options).code() == Code::limit);

  options = to_short(256);
  options.enlarge = true;
  CHECK(failure(make_png(solid(1, 3000, {1, 2, 3})), options).code() == Code::limit);  // no JPEG
  options.max_pixels = 1'000'000;
  options.to = OutputFormat::png;
  CHECK(failure(make_png(solid(1, 3000, {1, 2, 3})), options).code() == Code::limit);

  options = to_short(64);
  options.min_side = 161;
  const ResizeResult small = run(make_jpeg(scene(200, 160)), options);
  CHECK(small.kind == Kind::skipped);
  CHECK(small.reason == "short side below the minimum");
  options.min_side = 160;
  options.max_aspect = 1.2;
  CHECK(run(make_png(scene(200, 160)), options).reason == "aspect ratio above the maximum");
  options.max_aspect = 1.25;
  CHECK(run(make_png(scene(200, 160)), options).kind == Kind::resized);
}

TEST_CASE("extreme shapes", "[resize]") {
  CHECK(run(make_jpeg(solid(1, 1, {9, 99, 200}))).kind == Kind::unchanged);
  CHECK(run(make_jpeg(solid(1000, 1, {9, 99, 200}))).kind == Kind::unchanged);
  ResizeOptions options;
  options.short_side.reset();
  options.long_side = 100;
  options.quality = 98;
  for (const auto& [w, h] : {std::pair(1000, 1), {1, 1000}, {3000, 2}, {999, 7}}) {
    const Image out = jpeg_of(run(make_jpeg(solid(w, h, {9, 99, 200}), {98}), options));
    CHECK(std::max(out.width, out.height) == 100);
    CHECK(std::min(out.width, out.height) == 1);
    check_solid(out, {9, 99, 200}, 4);
  }
  options.enlarge = true;
  for (const auto filter : {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
    options.filter = filter;
    options.long_side = 101;
    for (const int o : {1, 3, 7}) {
      JpegSpec spec{98};
      spec.orientation = o;
      check_solid(jpeg_of(run(make_jpeg(solid(5, 3, {9, 99, 200}), spec), options)), {9, 99, 200},
                  5);
    }
  }
}

TEST_CASE("masks keep type and values", "[resize]") {
  Resizer resizer(to_short(50));
  const Buffer palette = png_chunk("PLTE", {0, 0, 0, 200, 100, 50, 0, 0, 255, 1, 2, 3});
  const Buffer transparency = png_chunk("tRNS", {0, 255, 7});
  for (const int bits : {1, 2, 4, 8, 16}) {
    for (const int type : {0, 2, 3, 4, 6}) {
      if ((type == 3 && (bits == 16 || bits == 1)) || (type != 0 && type != 3 && bits < 8))
        continue;
      const auto sample = [&](int x, int y, int c) {
        const int v = (x / 7 * 5 + y / 3 * 11 + c) * (bits == 16 ? 259 : 1);
        return type == 3 ? v % 4 : v % (1 << bits);
      };
      std::vector<Buffer> chunks;
      if (type == 3) chunks = {palette, transparency};
      const ResizeResult result = resizer.resize_nearest(
          bytes(make_png({133, 97, bits, type, false, chunks, true}, sample)));
      REQUIRE(result.kind == Kind::resized);
      const PngFacts out = read_png(result.data.view());
      INFO("bits " << bits << " type " << type);
      CHECK(out.width == 68);
      CHECK(out.height == 50);
      CHECK(out.bit_depth == bits);
      CHECK(out.color_type == type);
      if (type == 3) {
        CHECK(out.palette == Buffer{0, 0, 0, 200, 100, 50, 0, 0, 255, 1, 2, 3});
        CHECK(out.transparency == Buffer{0, 255, 7});
      }
      const int channels = type == 2 ? 3 : type == 4 ? 2 : type == 6 ? 4 : 1;
      for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) {
          for (int c = 0; c < channels; ++c) {
            // The source pixel under the middle of this one.
            const int sx = int((x + 0.5) * 133 / 68), sy = int((y + 0.5) * 97 / 50);
            REQUIRE(out.samples[(y * out.width + x) * channels + c] == sample(sx, sy, c));
          }
        }
      }
    }
  }
}

TEST_CASE("masks that pass or are refused", "[resize]") {
  Resizer resizer(to_short(50));
  const Buffer small = make_png({40, 30, 4, 0}, [](int x, int, int) { return x % 16; });
  const ResizeResult same = resizer.resize_nearest(bytes(small));
  CHECK(same.kind == Kind::unchanged);
  CHECK(Buffer(same.data.view().begin(), same.data.view().end()) == small);
  CHECK(resizer.resize_nearest(bytes({'7', '\n'})).kind == Kind::not_an_image);
  const auto code = [&](const Buffer& file) {
    try {
      resizer.resize_nearest(bytes(file));
    } catch (const Error& error) {
      return error.code();
    }
    return Code::internal;
  };
  CHECK(code(make_jpeg(scene(200, 160))) == Code::unsupported);
  CHECK(code(cut(make_png(scene(200, 160)), 0.6)) == Code::truncated);
  CHECK(code({}) == Code::empty);
  // Turned with its picture.
  const auto sample = [](int x, int y, int) { return 3 * x + y; };
  const ResizeResult turned = resizer.resize_nearest(
      bytes(make_png({40, 30, 8, 0, false, {png_chunk("eXIf", exif_with(6))}, true}, sample)));
  REQUIRE(turned.kind == Kind::resized);
  const PngFacts out = read_png(turned.data.view());
  CHECK(out.width == 30);
  CHECK(out.height == 40);
  CHECK(out.samples[0] == sample(0, 29, 0));
}

TEST_CASE("pixels of every size are turned", "[resize]") {
  for (const int channels : {1, 2, 3, 4, 6, 8}) {
    const Image upright =
        draw(45, 70, channels, [](int x, int y, int c) { return (x * 5 + y * 3 + c * 31) % 256; });
    for (int o = 1; o <= 8; ++o) {
      Image stored = stored_as(upright, o);
      PlaneBuffer buffer;
      const Plane in{stored.samples.data(), stored.width, stored.height,
                     std::ptrdiff_t(stored.width) * channels, channels};
      const Plane out = orient(in, Orientation(o), buffer);
      REQUIRE(out.width == 45);
      REQUIRE(out.height == 70);
      CHECK(max_difference(draw(45, 70, channels,
                                [&](int x, int y, int c) { return out.row(y)[x * channels + c]; }),
                           upright) == 0);
    }
  }
}

TEST_CASE("one worker, one picture after the other", "[resize]") {
  Resizer resizer(to_short(64));
  const Buffer large = make_jpeg(scene(900, 700)), grey = make_jpeg(scene(200, 300, 1)),
               png = make_png(scene(150, 150));
  const auto fresh = [](const Buffer& file) { return run(file).data; };
  for (const Buffer& file : {large, grey, png, large, png, grey}) {
    CHECK_THROWS(resizer.resize(bytes(cut(file, 0.5))));
    CHECK(resizer.resize(bytes(file)).data.text() == fresh(file).text());
  }
}

}  // namespace prep::resize_test
