// How samples become the records of a TFRecord: which part is which feature, of which type.
// docs/tfrecord.md has the rules.
//
// Decided once, from the first sample, since readers (tf.io.parse_single_example) expect the same
// features of the same types in every record; then every sample is held to it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/example.h"
#include "formats/part_names.h"
#include "lib/core/image_shape.h"
#include "lib/core/sample.h"

namespace prep {

// The features that a picture is known by, and the parts that stand for them.
namespace example_names {
inline constexpr std::string_view kKey = "__key__";
inline constexpr std::string_view kEncoded = "image/encoded";
inline constexpr std::string_view kFormat = "image/format";
inline constexpr std::string_view kHeight = "image/height";
inline constexpr std::string_view kWidth = "image/width";
inline constexpr std::string_view kChannels = "image/channels";
inline constexpr std::string_view kColorspace = "image/colorspace";
inline constexpr std::string_view kFilename = "image/filename";
inline constexpr std::string_view kLabel = "image/class/label";
inline constexpr std::string_view kClassText = "image/class/text";
inline constexpr std::string_view kClassTextPart = "cls.txt";
}  // namespace example_names

struct PartType {
  std::string part;
  FeatureType type;
};
// "cls=int64,bbox=float,meta=bytes". throws Error usage.
std::vector<PartType> parse_part_types(std::string_view text);

struct ExampleOptions {
  std::vector<PartType> types;    // instead of what would be decided
  ImageDescriber describe_image;  // null: only a JPEG's and a PNG's format is told, no sizes
  // By label: gives records an image/class/text. May be null.
  std::shared_ptr<const std::vector<std::string>> class_names;
};

struct ExampleField {
  std::string name;  // the feature's
  FeatureType type = FeatureType::bytes;
  std::string
      part;  // whose content it holds; "" if it is made of the key, the picture or the label
};

// A sample's record. Not copied or moved: its pieces are views of it.
class ExampleRecord {
 public:
  ExampleRecord() = default;
  ExampleRecord(const ExampleRecord&) = delete;
  ExampleRecord& operator=(const ExampleRecord&) = delete;

  // For TfRecordWriter::add().
  std::span<const ByteView> pieces() const { return pieces_; }

 private:
  friend class ExampleSchema;
  std::vector<Bytes> contents_;
  std::deque<std::string> texts_;
  ExampleEncoder encoder_;
  std::vector<ByteView> pieces_;
};

class ExampleSchema {
 public:
  // throws Error name for a part that cannot be a feature: without a name, or not UTF-8.
  static void check_part_name(std::string_view key, std::string_view part);

  // throws Error as check_part_name(), duplicate for two
  // that would be the same one, usage for a type of a part that is not there, and what reading the
  // parts throws.
  static ExampleSchema decide(const Sample& first, ExampleOptions options);

  // [{"name": "image/encoded", "type": "bytes", "part": "jpg"}, {"name": "image/height", …}];
  // fields by name, and no "part" for what is made of the key, the picture or the label.
  nlohmann::ordered_json to_json() const;
  // The options, of which `types` does not matter, are for encode(). throws Error corrupt; `name`
  // is the document's, for messages.
  static ExampleSchema parse(const nlohmann::ordered_json& json, std::string_view name,
                             ExampleOptions options = {});

  const std::vector<ExampleField>& fields() const { return fields_; }  // by name

  // throws Error, which names the sample, the part and what was expected: unsupported (a part is
  // missing or one too many, the picture is none), corrupt (no number), limit (over 2 GiB), and
  // what reading the parts throws. From many threads at once.
  void encode(const Sample& sample, ExampleRecord& record) const;

  struct PartSize {
    std::string_view name;
    std::uint64_t size;
  };
  // What a sample's record, framing included, takes at most, told by sizes alone. Parts that the
  // schema does not have count as bytes.
  std::uint64_t max_record_size(std::size_t key_length, std::span<const PartSize> parts) const;

  // throws Error corrupt if a record's features are not those of the schema.
  void check(const Example& example) const;

 private:
  void add_field(std::string_view name, FeatureType type, std::string_view part = {});
  void decide_part(const Part& part);
  void decide_picture(const Sample& first);
  void finish();
  bool makes(std::string_view name) const;
  std::vector<const Part*> match(const Sample& sample) const;
  [[noreturn]] void fail_parts(const Sample& sample, std::string_view what,
                               std::string_view part) const;
  void encode_part(const ExampleField& field, const Part& part, const Sample& sample,
                   ExampleRecord& record) const;
  void encode_picture(const Part& part, const Sample& sample, ExampleRecord& record) const;
  void encode_label(std::int64_t label, const Part& part, ExampleRecord& record) const;
  std::uint64_t max_made_size(const ExampleField& field, std::size_t key_length) const;

  ExampleOptions options_;
  std::vector<ExampleField> fields_;  // by name
  std::vector<std::size_t> parts_;    // those of fields_ that have a part, by its name
  std::string picture_;               // the part that is image/encoded
  std::size_t longest_class_ = 0;     // of the class names
  std::string first_key_;             // of the sample that decided
};

}  // namespace prep
