#include "formats/example_sample.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "formats/example.h"
#include "formats/example_schema.h"
#include "formats/numbers_text.h"

namespace prep {
namespace {

using namespace example_names;

// Texts made of numbers up to this size are kept as literals.
constexpr std::size_t kLiteral = 1 << 10;

// A value in a record that is in memory, and, where the file can be read again, in that.
class SliceContent final : public Content {
 public:
  SliceContent(Bytes bytes, std::optional<FileRange> range, std::string origin,
               std::int64_t mtime_ns)
      : bytes_(std::move(bytes)),
        range_(std::move(range)),
        origin_(std::move(origin)),
        mtime_ns_(mtime_ns) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override {
    const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes_.size());
    return bytes_.slice(begin, std::min<std::uint64_t>(length, bytes_.size() - begin));
  }
  std::int64_t mtime_ns() const override { return mtime_ns_; }
  std::uint64_t resident_bytes() const override { return bytes_.size(); }
  std::optional<FileRange> range() const override { return range_; }
  std::string origin() const override { return origin_; }

 private:
  Bytes bytes_;
  std::optional<FileRange> range_;
  std::string origin_;
  std::int64_t mtime_ns_;
};

bool is_single(const Feature* feature, FeatureType type) {
  return feature && feature->type == type && feature->count == 1;
}

// "shards/train.tfrecord-00000-of-00010", 7 → "train-tfrecord-00000-of-00010-000000007".
std::string numbered_key(const std::string& file, std::uint64_t number) {
  std::string base(base_name(file));
  std::replace(base.begin(), base.end(), '.', '-');
  return fmt::format("{}-{:09}", base, number);
}

// As a key it must come back from a container that tells key and parts by the first dot.
std::string checked_key(std::string_view text) {
  std::string key = clean_path(text);
  if (base_name(key).find('.') != std::string_view::npos) {
    fail(Code::name, "the key '{}' has a dot in its last step, where parts begin", printable(key));
  }
  return key;
}

// By the picture's first bytes, or else by what image/format says.
std::string extension_of(std::string_view format, std::string_view picture) {
  using Pair = std::pair<std::string_view, std::string_view>;
  static constexpr Pair kMagics[] = {
      {"\xFF\xD8\xFF", "jpg"}, {"\x89PNG\r\n\x1A\n", "png"}, {"GIF8", "gif"}};
  static constexpr Pair kFormats[] = {{"JPEG", "jpg"}, {"PNG", "png"}, {"WEBP", "webp"},
                                      {"GIF", "gif"},  {"BMP", "bmp"}, {"TIFF", "tif"}};
  for (const auto& [magic, extension] : kMagics) {
    if (picture.starts_with(magic)) return std::string(extension);
  }
  const auto same = [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; };
  for (const auto& [name, extension] : kFormats) {
    if (std::equal(format.begin(), format.end(), name.begin(), name.end(), same)) {
      return std::string(extension);
    }
  }
  return "";
}

class SampleMaker {
 public:
  SampleMaker(const TfRecord& record, std::uint64_t number, const RecordFile& file, Tally& left_out)
      : record_(record), number_(number), file_(file), left_out_(left_out) {}

  Sample make() {
    sample_.key = numbered_key(file_.name, number_);
    try {
      fill();
    } catch (const Error& error) {
      sample_.parts = {{"", std::make_shared<MemoryContent>(Bytes(), origin(""))}};
      sample_.fault =
          Error(error.code(), fmt::format("{}: record {} at byte {}: {}", printable(file_.name),
                                          number_, record_.offset, error.what()));
    }
    return std::move(sample_);
  }

 private:
  void fill() {
    const Example example = parse();
    has_picture_ = is_single(example.find(kEncoded), FeatureType::bytes);
    if (has_picture_) filename_ = text_of(example.find(kFilename));
    set_key(example);
    for (const Feature& feature : example.features) add(feature, example);
    if (sample_.parts.empty()) fail(Code::empty, "there is no feature in it that could be a part");
    sort_parts();
  }

  Example parse() {
    Example example;
    try {
      example = parse_example(record_.data.view());
    } catch (const Error& error) {
      fail(error.code(), "not a tf.train.Example: {}", error.what());
    }
    if (example.has_feature_lists) {
      fail(Code::unsupported, "a SequenceExample, or something else that is no Example");
    }
    if (example.unknown_fields > 0) {
      left_out_["field of a record that an Example does not have"] += example.unknown_fields;
    }
    return example;
  }

  static std::string_view text_of(const Feature* feature) {
    return is_single(feature, FeatureType::bytes) ? as_text(feature->only_bytes()) : "";
  }

  void set_key(const Example& example) {
    if (const Feature* key = example.find(kKey)) {
      if (!is_single(key, FeatureType::bytes)) fail(Code::corrupt, "its __key__ is not one text");
      sample_.key = checked_key(as_text(key->only_bytes()));
    } else if (!filename_.empty()) {
      sample_.key = checked_key(split_key(clean_path(filename_)).first);
    }
  }

  void add(const Feature& feature, const Example& example) {
    if (feature.name == kKey) return;
    if (feature.type == FeatureType::none) {
      ++left_out_["feature without a value"];
    } else if (has_picture_ && describes_picture(feature.name)) {
      ++left_out_["feature that only describes the picture"];
    } else if (has_picture_ && feature.name == kEncoded) {
      add_slice(picture_name(feature, example), feature.only_bytes());
    } else {
      add_part(part_name(feature), feature);
    }
  }

  static bool describes_picture(std::string_view name) {
    return name == kFormat || name == kHeight || name == kWidth || name == kChannels ||
           name == kColorspace || name == kFilename;
  }

  // What the file name says, if it is about this sample, or looks like an extension.
  std::string picture_name(const Feature& picture, const Example& example) const {
    constexpr std::size_t kLongest = 32;
    constexpr std::string_view kUsual =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const std::string_view part = split_key(filename_).second;
    const bool is_own = !part.empty() && part_path(sample_.key, part) == filename_;
    const bool is_usual =
        part.size() <= kLongest && part.find_first_not_of(kUsual) == std::string_view::npos;
    if (!part.empty() && (is_own || is_usual)) return std::string(part);
    std::string extension =
        extension_of(text_of(example.find(kFormat)), as_text(picture.only_bytes()));
    return extension.empty() ? part_name(picture) : extension;
  }

  static std::string part_name(const Feature& feature) {
    if (feature.name == kLabel && feature.type == FeatureType::int64) {
      return std::string(kLabelPart);
    }
    if (feature.name == kClassText && feature.type == FeatureType::bytes) {
      return std::string(kClassTextPart);
    }
    std::string name(feature.name);
    std::replace(name.begin(), name.end(), '/', '.');
    if (name.empty() || name.find('\0') != std::string::npos) {
      fail(Code::name, "the feature '{}' cannot be a part: {}", printable(feature.name),
           name.empty() ? "it has no name" : "a NUL byte in its name");
    }
    return name;
  }

  void add_part(std::string name, const Feature& feature) {
    if (feature.type == FeatureType::bytes) {
      if (feature.count == 1) return add_slice(std::move(name), feature.only_bytes());
      return add_text(std::move(name), texts_as_json(feature));
    }
    NumbersText text;
    if (feature.type == FeatureType::int64) {
      feature.for_each_int64([&](std::int64_t value) { text.add(value); });
    } else {
      feature.for_each_float([&](float value) { text.add(value); });
    }
    add_text(std::move(name), std::move(text).finish());
  }

  static std::string texts_as_json(const Feature& feature) {
    std::string json;
    feature.for_each_bytes([&](ByteView value) {
      if (!is_utf8(as_text(value))) {
        fail(Code::unsupported,
             "the feature '{}' holds {} values that are no texts; a part can hold only one",
             printable(feature.name), feature.count);
      }
      json += json.empty() ? '[' : ',';
      json += nlohmann::json(as_text(value)).dump();
    });
    return json.empty() ? "[]" : json + "]";
  }

  std::string origin(std::string_view part) const {
    return fmt::format("{}: {}", file_.name, part_path(sample_.key, part));
  }

  void add_slice(std::string name, ByteView value) {
    const auto begin = static_cast<std::size_t>(value.data() - record_.data.data());
    std::optional<FileRange> range;
    if (file_.file) range = FileRange{file_.file, "", record_.data_offset() + begin, value.size()};
    auto content = std::make_shared<SliceContent>(record_.data.slice(begin, value.size()),
                                                  std::move(range), origin(name), file_.mtime_ns);
    sample_.parts.push_back({std::move(name), std::move(content)});
  }

  void add_text(std::string name, std::string text) {
    std::shared_ptr<const Content> content;
    if (text.size() <= kLiteral) {
      content = std::make_shared<LiteralContent>(std::move(text), origin(name), file_.mtime_ns);
    } else {
      content = std::make_shared<MemoryContent>(Bytes::take(std::move(text)), origin(name),
                                                file_.mtime_ns);
    }
    sample_.parts.push_back({std::move(name), std::move(content)});
  }

  void sort_parts() {
    std::sort(sample_.parts.begin(), sample_.parts.end(),
              [](const Part& a, const Part& b) { return a.name < b.name; });
    const auto twin =
        std::adjacent_find(sample_.parts.begin(), sample_.parts.end(),
                           [](const Part& a, const Part& b) { return a.name == b.name; });
    if (twin != sample_.parts.end()) {
      fail(Code::duplicate, "two features would be the part '{}'", printable(twin->name));
    }
  }

  const TfRecord& record_;
  const std::uint64_t number_;
  const RecordFile& file_;
  Tally& left_out_;
  bool has_picture_ = false;
  std::string_view filename_;
  Sample sample_;
};

}  // namespace

Sample sample_of_record(const TfRecord& record, std::uint64_t number, const RecordFile& file,
                        Tally& left_out) {
  return SampleMaker(record, number, file, left_out).make();
}

}  // namespace prep
