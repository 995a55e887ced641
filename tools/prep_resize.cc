// prep-resize: shrinks images so that the short side is 256 (or what --short or --long say).

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "lib/core/spares.h"
#include "lib/core/tool.h"
#include "lib/image/image_shape.h"
#include "lib/image/resize.h"
#include "tools/picture_options.h"
#include "tools/picture_stage.h"

namespace prep {
namespace {

using image::Format;
using image::ResizeResult;

bool is_palette_png(ByteView head) {
  return image::sniff(head) == Format::png && head.size() > 25 && head[25] == 3;
}

class ResizeStage final : public PictureStage {
 public:
  ResizeStage(image::ResizeOptions options, std::vector<std::string> nearest)
      : options_(std::move(options)), nearest_(std::move(nearest)) {}

  std::vector<std::string> output_names(const std::string& part) const override {
    const Format target = options_.to == image::OutputFormat::png ? Format::png : Format::jpeg;
    std::vector<std::string> names;
    for (std::string name :
         {name_for_format(part, target), part, name_for_format(part, Format::png),
          name_for_format(part, Format::jpeg)}) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
    return names;
  }

 protected:
  // What cannot be decoded says so, rather than going through at its old size.
  bool takes(Format) const override { return true; }
  bool must_be_picture(const Part& part) const override { return is_nearest(part); }

  void treat(Part& part, std::string_view, ByteView head, Notes& notes) const override {
    const bool nearest = is_nearest(part);
    if (!nearest && is_palette_png(head)) {
      notes.warn("palette PNG resized like a photo; a label map needs --nearest " +
                 printable(part.name));
    }
    take(part, run(part.content->load(), nearest), notes);
  }

 private:
  bool is_nearest(const Part& part) const {
    return std::find(nearest_.begin(), nearest_.end(), part.name) != nearest_.end();
  }

  ResizeResult run(const Bytes& input, bool nearest) const {
    const auto resizer = resizers_.borrow(options_);
    return nearest ? resizer->resize_nearest(input) : resizer->resize(input);
  }

  static void take(Part& part, ResizeResult result, Notes& notes) {
    for (std::string& warning : result.warnings) notes.warn(std::move(warning));
    if (result.kind == ResizeResult::Kind::skipped) {
      notes.skip_reason = result.reason;
      return;
    }
    notes.counts.push_back(result.kind == ResizeResult::Kind::resized
                               ? "images resized"
                               : "images that were right already, unchanged");
    part.name = name_for_format(part.name, result.format);
    part.content = std::make_shared<MemoryContent>(std::move(result.data), part.content->origin(),
                                                   part.content->mtime_ns());
  }

  const image::ResizeOptions options_;
  const std::vector<std::string> nearest_;
  mutable Spares<image::Resizer> resizers_;
};

const Choices<image::Filter> kFilters{{"bilinear", image::Filter::bilinear},
                                      {"bicubic", image::Filter::bicubic},
                                      {"lanczos", image::Filter::lanczos},
                                      {"box", image::Filter::box}};
const Choices<image::SubsamplingChoice> kSubsamplings{{"420", image::SubsamplingChoice::s420},
                                                      {"444", image::SubsamplingChoice::s444},
                                                      {"keep", image::SubsamplingChoice::keep}};
const Choices<image::OutputFormat> kOutputFormats{{"jpeg", image::OutputFormat::jpeg},
                                                  {"png", image::OutputFormat::png},
                                                  {"keep", image::OutputFormat::keep}};
const Choices<image::IccChoice> kIccChoices{{"srgb", image::IccChoice::srgb},
                                            {"keep", image::IccChoice::keep},
                                            {"ignore", image::IccChoice::ignore}};

// "white", "black", "#rrggbb" or "r,g,b".
std::array<std::uint8_t, 3> parse_color(const std::string& text) {
  if (text == "white") return {255, 255, 255};
  if (text == "black") return {0, 0, 0};
  unsigned r = 0, g = 0, b = 0;
  char extra = 0;
  const bool hex =
      text.size() == 7 && std::sscanf(text.c_str(), "#%2x%2x%2x%c", &r, &g, &b, &extra) == 3;
  const bool decimal = std::sscanf(text.c_str(), "%3u,%3u,%3u%c", &r, &g, &b, &extra) == 3;
  if ((!hex && !decimal) || std::max({r, g, b}) > 255) {
    fail(Code::usage, "--background {}: give white, black, #rrggbb or r,g,b", printable(text));
  }
  return {static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(b)};
}

class ResizeTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-resize", "Shrink images so that the short side is 256, once, before training.",
        "What is small enough, upright and a JPEG already passes byte for byte; parts that are no\n"
        "pictures (labels, JSON, captions) go through unchanged, so samples stay whole.\n\n"
        "Examples:\n"
        "  prep-resize photos/ -o small/\n"
        "  find photos -name '*.jpg' -print0 | prep-resize list0:- -o small/\n"
        "  prep-resize 'raw-{000..099}.tar' -o small.tar --max-errors 1%\n"
        "  prep-resize photos/ -o - | prep-ls -\n"
        "  prep-resize voc/ -o voc-256/ --nearest seg.png\n\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
        "--max-errors allows."};
  }

  void add_options(CLI::App& app) override {
    auto* short_side = app.add_option("--short", short_side_, "short side in pixels")
                           ->check(CLI::Range(1, 65500))
                           ->option_text("N");
    app.add_option("--long", long_side_, "long side in pixels, instead of --short")
        ->check(CLI::Range(1, 65500))
        ->option_text("N")
        ->excludes(short_side);
    add_choice(app, "--filter", filter_, kFilters, "resampling filter, antialiased");
    app.add_option("-q,--quality", options_.quality, "JPEG quality")
        ->check(CLI::Range(1, 100))
        ->option_text("N");
    add_choice(app, "--subsampling", subsampling_, kSubsamplings,
               "chroma of the output (keep: 444 stays, all else becomes 420)");
    add_choice(app, "--to", to_, kOutputFormats, "format of the output");
    app.add_flag("--enlarge", options_.enlarge, "enlarge what is smaller, too");
    app.add_option("--nearest", nearest_, "a part that holds masks: nearest neighbour, stays PNG")
        ->option_text("PART")
        ->expected(1)
        ->take_all();
    add_choice(app, "--icc", icc_, kIccChoices, "colour profiles");
    app.add_option("--background", background_,
                   "colour under transparent pixels: white, black, #rrggbb or r,g,b")
        ->option_text("COLOR");
    app.add_flag("--keep-exif", options_.keep_exif, "copy EXIF, with the orientation set upright");
    app.add_flag("--allow-truncated", options_.allow_truncated, "keep pictures that end early");
    add_picture_limits(app, options_.max_pixels, options_.max_scans);
    app.add_option("--min-side", options_.min_side,
                   "leave out pictures with a shorter short side (0: off)")
        ->check(CLI::Range(0, 65500))
        ->option_text("N");
    app.add_option("--max-aspect", options_.max_aspect,
                   "leave out pictures with a larger long:short ratio (0: off)")
        ->check(CLI::Range(0.0, 1e6))
        ->option_text("X");
  }

  std::unique_ptr<Stage> make_stage() override {
    image::ResizeOptions options = options_;
    options.short_side = long_side_ ? std::nullopt : std::optional(short_side_);
    options.long_side = long_side_;
    options.filter = kFilters.at(filter_);
    options.subsampling = kSubsamplings.at(subsampling_);
    options.to = kOutputFormats.at(to_);
    options.icc = kIccChoices.at(icc_);
    options.background = parse_color(background_);
    options.validate();
    return std::make_unique<ResizeStage>(options, nearest_);
  }

  ImageDescriber image_describer() const override { return image::describe_image; }

 private:
  image::ResizeOptions options_;
  int short_side_ = 256;
  std::optional<int> long_side_;
  std::string filter_ = "bilinear", subsampling_ = "420", to_ = "jpeg", icc_ = "srgb";
  std::string background_ = "white";
  std::vector<std::string> nearest_;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::ResizeTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
