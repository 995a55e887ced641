// prep-recompress: brings JPEGs to a target quality, in the DCT domain.

#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "lib/core/spares.h"
#include "lib/core/tool.h"
#include "lib/image/image_shape.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/recompress.h"
#include "tools/picture_options.h"
#include "tools/picture_stage.h"

namespace prep {
namespace {

using image::RecompressOptions;
using image::RecompressResult;

// Some images are decoded before and after, to say what a loader gains: one in so many, and ever
// fewer, since a mean needs no more of a large data set than a few hundred.
constexpr std::uint64_t kTimedGap = 64, kTimedGrowth = 32;

std::int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What a loader pays for one JPEG, from bytes to RGB.
std::uint64_t decode_ns(const Bytes& jpeg, int max_scans, image::PlaneBuffer& pixels) {
  std::vector<std::string> warnings;
  const std::int64_t start = thread_cpu_ns();
  const image::JpegInfo info = image::read_jpeg_info(jpeg, max_scans, /*header_only=*/true);
  image::decode_interleaved(jpeg, info, {}, pixels, warnings);
  return static_cast<std::uint64_t>(thread_cpu_ns() - start);
}

std::string quality_range(int quality) {
  if (quality == 0) return "unknown";
  const int low = quality / 5 * 5;
  return low == 100 ? "100" : fmt::format("{:02}-{:02}", low, low + 4);
}

class RecompressStage final : public PictureStage {
 public:
  explicit RecompressStage(RecompressOptions options) : options_(std::move(options)) {}

  std::map<std::string, Tally> tables() const override {
    std::lock_guard lock(mutex_);
    std::map<std::string, Tally> tables;
    if (!qualities_.empty()) tables["source quality"] = qualities_;
    if (metadata_dropped_ > 0) tables["metadata dropped"] = {{"bytes", metadata_dropped_}};
    if (timed_ > 0) {
      tables[fmt::format("decoding an image, microseconds (mean of {})", timed_)] = {
          {"before", before_ns_ / timed_ / 1000}, {"after", after_ns_ / timed_ / 1000}};
    }
    return tables;
  }

 protected:
  bool takes(image::Format format) const override { return format == image::Format::jpeg; }

  void treat(Part& part, std::string_view, ByteView, Notes& notes) const override {
    const auto recompressor = recompressors_.borrow(options_);
    const Bytes input = part.content->load();
    RecompressResult result = recompressor->recompress(input);
    for (std::string& warning : result.warnings) notes.warn(std::move(warning));
    const bool is_new = result.kind == RecompressResult::Kind::recompressed;
    notes.counts.push_back(is_new ? "JPEGs recompressed" : "JPEGs copied: " + result.reason);
    count(result, is_new && is_next_timed() ? input : Bytes());
    part.content = std::make_shared<MemoryContent>(std::move(result.data), part.content->origin(),
                                                   part.content->mtime_ns());
  }

 private:
  // Counts one more result, and says whether its decoding is to be timed.
  bool is_next_timed() const {
    std::lock_guard lock(mutex_);
    if (recompressed_++ < next_timed_) return false;
    next_timed_ += kTimedGap + next_timed_ / kTimedGrowth;
    return true;
  }

  // `timed` is the source of a result whose decoding is to be timed, or empty.
  void count(const RecompressResult& result, const Bytes& timed) const {
    const bool is_timed = !timed.empty();
    std::uint64_t before = 0, after = 0;
    if (is_timed) {
      const auto pixels = pixels_.borrow();
      before = decode_ns(timed, options_.max_scans, *pixels);
      after = decode_ns(result.data, options_.max_scans, *pixels);
    }
    std::lock_guard lock(mutex_);
    ++qualities_[quality_range(result.source_quality)];
    metadata_dropped_ += result.metadata_dropped;
    timed_ += is_timed;
    before_ns_ += before;
    after_ns_ += after;
  }

  const RecompressOptions options_;
  mutable Spares<image::Recompressor> recompressors_;
  mutable Spares<image::PlaneBuffer> pixels_;
  mutable std::mutex mutex_;
  mutable std::uint64_t recompressed_ = 0, next_timed_ = 0;
  mutable Tally qualities_;
  mutable std::uint64_t metadata_dropped_ = 0, timed_ = 0, before_ns_ = 0, after_ns_ = 0;
};

const Choices<RecompressOptions::Subsampling> kSubsamplings{
    {"420", RecompressOptions::Subsampling::s420},
    {"444", RecompressOptions::Subsampling::s444},
    {"keep", RecompressOptions::Subsampling::keep}};
const Choices<RecompressOptions::Method> kMethods{{"auto", RecompressOptions::Method::automatic},
                                                  {"dct", RecompressOptions::Method::dct},
                                                  {"pixel", RecompressOptions::Method::pixel}};
const Choices<bool> kStripChoices{{"all", true}, {"none", false}};

// "5%" or "0.05".
double parse_gain(const std::string& text) {
  double value = 0;
  char percent = 0, extra = 0;
  const int read = std::sscanf(text.c_str(), "%lf%c%c", &value, &percent, &extra);
  if (read == 2 && percent == '%') value /= 100;
  if (read < 1 || read > 2 || (read == 2 && percent != '%') || !(value >= 0 && value < 1)) {
    fail(Code::usage, "--min-gain {}: give a share below 100%, such as 5%", printable(text));
  }
  return value;
}

class RecompressTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-recompress", "Bring JPEGs to a target quality, without going through pixels.",
        "What is at or below that quality already, or would not get smaller, is copied byte for\n"
        "byte; parts that are no JPEGs go through unchanged.\n\n"
        "Examples:\n"
        "  prep-recompress photos/ -o q70/\n"
        "  prep-recompress photos/ -o q85/ -q 85 --subsampling keep\n"
        "  prep-resize photos/ -o - -q 95 | prep-recompress - -o small.tar --target-ssim 0.98\n\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
        "--max-errors allows."};
  }

  void add_options(CLI::App& app) override {
    app.add_option("-q,--quality", options_.quality, "target quality")
        ->check(CLI::Range(1, 100))
        ->option_text("N");
    add_choice(app, "--subsampling", subsampling_, kSubsamplings, "chroma of the output");
    add_choice(app, "--method", method_, kMethods,
               "requantise coefficients, or decode and encode planes");
    app.add_flag("--progressive", options_.progressive, "for archives: smaller, slower to load");
    app.add_flag("--no-optimize", no_optimize_,
                 "no second look at what bits are worth: faster, larger");
    app.add_flag("--no-trellis", no_trellis_,
                 "keep coefficients that cost more than they are worth");
    add_choice(app, "--strip", strip_, kStripChoices,
               "metadata to drop (ICC and orientation always stay)");
    app.add_option("--min-gain", min_gain_, "copy what would not get smaller by this share")
        ->option_text("N%");
    app.add_option("--target-ssim", options_.target_ssim,
                   "the lowest quality, per image, that keeps this luma SSIM")
        ->check(CLI::Range(0.0, 1.0))
        ->option_text("X");
    add_picture_limits(app, options_.max_pixels, options_.max_scans);
  }

  std::unique_ptr<Stage> make_stage() override {
    RecompressOptions options = options_;
    options.subsampling = kSubsamplings.at(subsampling_);
    options.method = kMethods.at(method_);
    options.strip_all = kStripChoices.at(strip_);
    options.optimize = !no_optimize_;
    options.rate_distortion = !no_optimize_ && !no_trellis_;
    options.min_gain = parse_gain(min_gain_);
    options.validate();
    return std::make_unique<RecompressStage>(options);
  }

  ImageDescriber image_describer() const override { return image::describe_image; }

 private:
  RecompressOptions options_;
  std::string subsampling_ = "420", method_ = "auto", strip_ = "all", min_gain_ = "5%";
  bool no_optimize_ = false, no_trellis_ = false;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::RecompressTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
