#include "formats/example_schema.h"

#include <algorithm>

#include "formats/numbers_text.h"
#include "formats/tfrecord_record.h"
#include "lib/core/error.h"

namespace prep {
namespace {

using namespace example_names;
using Json = nlohmann::ordered_json;

// Upper bounds for the values that are made: an int64, and what a describer says.
constexpr std::uint64_t kMaxVarint = 10;
constexpr std::uint64_t kMaxWord = 32;

constexpr FeatureType kTypes[] = {FeatureType::bytes, FeatureType::float32, FeatureType::int64};

std::optional<FeatureType> type_named(std::string_view name) {
  for (const FeatureType type : kTypes) {
    if (feature_type_name(type) == name) return type;
  }
  return std::nullopt;
}

std::string_view feature_name(std::string_view part, FeatureType type) {
  if (part == kLabelPart && type == FeatureType::int64) return kLabel;
  if (part == kClassTextPart && type == FeatureType::bytes) return kClassText;
  return part;
}

// What can be told of a picture without a describer.
std::optional<ImageShape> sniff_format(ByteView bytes) {
  const std::string_view head = as_text(bytes);
  ImageShape shape;
  if (head.starts_with("\xFF\xD8\xFF")) {
    shape.format = "JPEG";
  } else if (head.starts_with("\x89PNG\r\n\x1A\n")) {
    shape.format = "PNG";
  } else {
    return std::nullopt;
  }
  return shape;
}

std::optional<ImageShape> shape_of(const ExampleOptions& options, ByteView bytes) {
  return options.describe_image ? options.describe_image(bytes) : sniff_format(bytes);
}

// A label as the conventions have it: one integer, and no more.
bool is_label(const Content& content) {
  constexpr std::uint64_t kLongest = 64;
  if (content.size() > kLongest) return false;
  try {
    return parse_int64s(content.load().text()).size() == 1;
  } catch (const Error& error) {
    if (error.code() != Code::corrupt) throw;
    return false;
  }
}

}  // namespace

std::vector<PartType> parse_part_types(std::string_view text) {
  std::vector<PartType> types;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = word.find('=');
    const auto type = type_named(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    if (!type || equals == 0) {
      fail(Code::usage, "'{}': give PART=bytes, PART=int64 or PART=float, with commas between",
           printable(word));
    }
    const std::string part(word.substr(0, equals));
    if (std::any_of(types.begin(), types.end(), [&](auto& t) { return t.part == part; })) {
      fail(Code::usage, "'{}': part '{}' has a type already", printable(text), printable(part));
    }
    types.push_back({part, *type});
  }
  return types;
}

// --- deciding ---------------------------------------------------------------------------------

void ExampleSchema::check_part_name(std::string_view key, std::string_view part) {
  if (!part.empty() && is_utf8(part)) return;
  fail(Code::name, "{}: cannot be a feature of an Example: {}", printable(part_path(key, part)),
       part.empty() ? "its name has no dot, so the part has no name"
                    : "the part's name is not UTF-8");
}

ExampleSchema ExampleSchema::decide(const Sample& first, ExampleOptions options) {
  ExampleSchema schema;
  schema.options_ = std::move(options);
  schema.first_key_ = first.key;
  schema.add_field(kKey, FeatureType::bytes);
  for (const Part& part : first.parts) check_part_name(first.key, part.name);
  schema.decide_picture(first);
  for (const Part& part : first.parts) schema.decide_part(part);
  for (const PartType& type : schema.options_.types) {
    const auto has_name = [&](const Part& part) { return part.name == type.part; };
    if (std::none_of(first.parts.begin(), first.parts.end(), has_name)) {
      fail(Code::usage, "{}: the first sample has no part '{}', for which a type was given",
           printable(first.key), printable(type.part));
    }
  }
  schema.finish();
  return schema;
}

void ExampleSchema::add_field(std::string_view name, FeatureType type, std::string_view part) {
  fields_.push_back({std::string(name), type, std::string(part)});
}

// Of several pictures, one whose name is but an extension is more likely to be the photo than a
// "seg.png"; of several such ones it is the first.
void ExampleSchema::decide_picture(const Sample& first) {
  const Part* picture = nullptr;
  for (const Part& part : first.parts) {
    const auto has_type = [&](const PartType& type) { return type.part == part.name; };
    const bool is_plain = part.name.find('.') == std::string::npos;
    const bool is_better = !picture || (is_plain && picture->name.find('.') != std::string::npos);
    if (!is_better || std::any_of(options_.types.begin(), options_.types.end(), has_type)) continue;
    if (shape_of(options_, part.content->load().view())) picture = &part;
  }
  if (!picture) return;
  picture_ = picture->name;
  add_field(kFilename, FeatureType::bytes);
  add_field(kFormat, FeatureType::bytes);
  if (!options_.describe_image) return;
  for (const std::string_view name : {kHeight, kWidth, kChannels}) {
    add_field(name, FeatureType::int64);
  }
  add_field(kColorspace, FeatureType::bytes);
}

void ExampleSchema::decide_part(const Part& part) {
  if (part.name == picture_) return add_field(kEncoded, FeatureType::bytes, part.name);
  FeatureType type = FeatureType::bytes;
  const auto given = std::find_if(options_.types.begin(), options_.types.end(),
                                  [&](const PartType& t) { return t.part == part.name; });
  if (given != options_.types.end()) {
    type = given->type;
  } else if (part.name == kLabelPart && is_label(*part.content)) {
    type = FeatureType::int64;
  }
  const std::string_view name = feature_name(part.name, type);
  add_field(name, type, part.name);
  if (name == kLabel && options_.class_names) add_field(kClassText, FeatureType::bytes);
}

void ExampleSchema::finish() {
  std::sort(fields_.begin(), fields_.end(), [](auto& a, auto& b) { return a.name < b.name; });
  const auto twin = std::adjacent_find(fields_.begin(), fields_.end(),
                                       [](auto& a, auto& b) { return a.name == b.name; });
  if (twin != fields_.end()) {
    fail(Code::duplicate,
         "{}: part '{}' would be the feature '{}', and so would something else of the sample",
         printable(first_key_), printable(std::max(twin[0].part, twin[1].part)),
         printable(twin->name));
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!fields_[i].part.empty()) parts_.push_back(i);
    if (fields_[i].name == kEncoded) picture_ = fields_[i].part;
  }
  std::sort(parts_.begin(), parts_.end(),
            [&](std::size_t a, std::size_t b) { return fields_[a].part < fields_[b].part; });
}

// --- as JSON ----------------------------------------------------------------------------------

Json ExampleSchema::to_json() const {
  Json fields = Json::array();
  for (const ExampleField& field : fields_) {
    Json& one = fields.emplace_back();
    one["name"] = field.name;
    one["type"] = feature_type_name(field.type);
    if (!field.part.empty()) one["part"] = field.part;
  }
  return fields;
}

ExampleSchema ExampleSchema::parse(const Json& json, std::string_view name,
                                   ExampleOptions options) {
  ExampleSchema schema;
  schema.options_ = std::move(options);
  if (!json.is_array()) fail(Code::corrupt, "{}: the schema is not an array", printable(name));
  const auto text = [](const Json& field, const char* key) {
    const auto found = field.find(key);
    return found == field.end() || !found->is_string() ? "" : found->get<std::string>();
  };
  for (const Json& field : json) {
    const auto type = field.is_object() ? type_named(text(field, "type")) : std::nullopt;
    if (!type || text(field, "name").empty() ||
        (field.contains("part") && text(field, "part").empty())) {
      fail(Code::corrupt, "{}: schema: '{}' is not a field with a name and a type", printable(name),
           printable(field.dump()));
    }
    schema.add_field(text(field, "name"), *type, text(field, "part"));
  }
  schema.finish();
  return schema;
}

// --- checking ---------------------------------------------------------------------------------

namespace {

// Parts of several numbers give as many values as they hold; all else is one value.
bool may_have_any_count(const ExampleField& field) {
  return field.type != FeatureType::bytes && field.name != kLabel && !field.part.empty();
}

}  // namespace

void ExampleSchema::check(const Example& example) const {
  auto feature = example.features.begin();
  for (const ExampleField& field : fields_) {
    if (feature != example.features.end() && feature->name < field.name) break;
    if (feature == example.features.end() || feature->name != field.name) {
      fail(Code::corrupt, "the feature '{}' of the schema is missing", printable(field.name));
    }
    if (feature->type != field.type) {
      fail(Code::corrupt, "the feature '{}' holds {} where the schema has {}",
           printable(field.name), feature_type_name(feature->type), feature_type_name(field.type));
    }
    if (feature->count != 1 && !may_have_any_count(field)) {
      fail(Code::corrupt, "the feature '{}' holds {} values instead of one", printable(field.name),
           feature->count);
    }
    ++feature;
  }
  if (feature != example.features.end()) {
    fail(Code::corrupt, "the feature '{}' is not in the schema", printable(feature->name));
  }
}

void ExampleSchema::fail_parts(const Sample& sample, std::string_view what,
                               std::string_view part) const {
  const std::string whose =
      first_key_.empty()
          ? "the same features"
          : fmt::format("the features of the first sample, '{}'", printable(first_key_));
  fail(Code::unsupported, "{}: {} the part '{}'; all records must have {}", printable(sample.key),
       what, printable(part), whose);
}

// The sample's parts in the order of parts_.
std::vector<const Part*> ExampleSchema::match(const Sample& sample) const {
  std::vector<const Part*> parts;
  for (const Part& part : sample.parts) parts.push_back(&part);
  std::sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t i = 0; i < std::max(parts.size(), parts_.size()); ++i) {
    if (i == parts.size()) fail_parts(sample, "has not", fields_[parts_[i]].part);
    if (i == parts_.size()) fail_parts(sample, "has", parts[i]->name);
    const std::string& expected = fields_[parts_[i]].part;
    if (parts[i]->name < expected) fail_parts(sample, "has", parts[i]->name);
    if (parts[i]->name > expected) fail_parts(sample, "has not", expected);
  }
  return parts;
}

// --- encoding ---------------------------------------------------------------------------------

void ExampleSchema::encode(const Sample& sample, ExampleRecord& record) const {
  const std::vector<const Part*> parts = match(sample);
  std::uint64_t size = 0;
  for (const Part* part : parts) size += part->content->size();
  const auto check_size = [&] {
    if (size <= kMaxTfRecord) return;
    fail(Code::limit, "{}: makes a record of {} bytes; an Example must be smaller than 2 GiB",
         printable(sample.key), size);
  };
  check_size();  // before all of it is read
  record.encoder_.add_bytes(kKey, as_bytes(sample.key));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    encode_part(fields_[parts_[i]], *parts[i], sample, record);
  }
  record.pieces_ = record.encoder_.finish();
  size = 0;
  for (const ByteView piece : record.pieces_) size += piece.size();
  check_size();
}

namespace {

// Says whose numbers they are, and what they should be.
template <typename F>
auto parse_part(const ExampleField& field, const Part& part, F parse) -> decltype(parse()) {
  try {
    return parse();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}; the feature '{}' is of the type {}",
         printable(part.content->origin()), error.what(), printable(field.name),
         feature_type_name(field.type));
  }
}

std::int64_t parse_label(std::string_view text) {
  const std::vector<std::int64_t> numbers = parse_int64s(text);
  if (numbers.size() != 1) fail(Code::corrupt, "{} integers instead of one", numbers.size());
  return numbers[0];
}

}  // namespace

void ExampleSchema::encode_part(const ExampleField& field, const Part& part, const Sample& sample,
                                ExampleRecord& record) const {
  const Bytes& bytes = record.contents_.emplace_back(part.content->load());
  if (field.name == kLabel && field.type == FeatureType::int64) {
    encode_label(parse_part(field, part, [&] { return parse_label(bytes.text()); }), part, record);
  } else if (field.type == FeatureType::int64) {
    record.encoder_.add_int64(field.name,
                              parse_part(field, part, [&] { return parse_int64s(bytes.text()); }));
  } else if (field.type == FeatureType::float32) {
    record.encoder_.add_float(field.name,
                              parse_part(field, part, [&] { return parse_floats(bytes.text()); }));
  } else {
    record.encoder_.add_bytes(field.name, bytes.view());
    if (field.name == kEncoded) encode_picture(part, sample, record);
  }
}

void ExampleSchema::encode_picture(const Part& part, const Sample& sample,
                                   ExampleRecord& record) const {
  const auto shape = shape_of(options_, record.contents_.back().view());
  if (!shape) {
    fail(Code::unsupported, "{}: is no picture, as part '{}' of the first sample is",
         printable(part.content->origin()), printable(part.name));
  }
  const auto add_text = [&](std::string_view name, std::string text) {
    if (makes(name)) record.encoder_.add_bytes(name, as_bytes(record.texts_.emplace_back(text)));
  };
  const auto add_number = [&](std::string_view name, std::int64_t number) {
    if (makes(name)) record.encoder_.add_int64(name, {&number, 1});
  };
  add_text(kFilename, part_path(sample.key, part.name));
  add_text(kFormat, shape->format);
  add_number(kHeight, shape->height);
  add_number(kWidth, shape->width);
  add_number(kChannels, shape->channels);
  add_text(kColorspace, shape->colorspace);
}

void ExampleSchema::encode_label(std::int64_t label, const Part& part,
                                 ExampleRecord& record) const {
  record.encoder_.add_int64(kLabel, {&label, 1});
  if (!makes(kClassText)) return;
  const auto& names = *options_.class_names;
  if (label < 0 || static_cast<std::uint64_t>(label) >= names.size()) {
    fail(Code::corrupt, "{}: the label {} is none of the {} classes",
         printable(part.content->origin()), label, names.size());
  }
  record.encoder_.add_bytes(kClassText, as_bytes(names[static_cast<std::size_t>(label)]));
}

// Whether the schema has this feature, not from a part.
bool ExampleSchema::makes(std::string_view name) const {
  const auto found = std::lower_bound(
      fields_.begin(), fields_.end(), name,
      [](const ExampleField& field, std::string_view n) { return field.name < n; });
  return found != fields_.end() && found->name == name && found->part.empty();
}

// --- planning ---------------------------------------------------------------------------------

namespace {

// Of the encoded value. Every number takes a character, and all but the last one a separator.
std::uint64_t max_value_size(const ExampleField& field, std::uint64_t part_size) {
  const std::uint64_t numbers = field.name == kLabel ? 1 : part_size / 2 + part_size % 2;
  switch (field.type) {
    case FeatureType::int64:
      return kMaxVarint * numbers;
    case FeatureType::float32:
      return sizeof(float) * numbers;
    default:
      return part_size;
  }
}

}  // namespace

std::uint64_t ExampleSchema::max_made_size(const ExampleField& field,
                                           std::size_t key_length) const {
  if (field.name == kKey) return key_length;
  if (field.name == kFilename) return key_length + 1 + picture_.size();
  if (field.type == FeatureType::int64) return kMaxVarint;
  return field.name == kClassText ? longest_class_ : kMaxWord;
}

std::uint64_t ExampleSchema::max_record_size(std::size_t key_length,
                                             std::span<const PartSize> parts) const {
  std::uint64_t size = 0;
  for (const ExampleField& field : fields_) {
    if (!field.part.empty()) continue;
    size += ExampleEncoder::feature_size(field.name.size(), max_made_size(field, key_length));
  }
  for (const PartSize& part : parts) {
    const auto found = std::find_if(parts_.begin(), parts_.end(),
                                    [&](std::size_t i) { return fields_[i].part == part.name; });
    size += found == parts_.end()
                ? ExampleEncoder::feature_size(part.name.size(), part.size)
                : ExampleEncoder::feature_size(fields_[*found].name.size(),
                                               max_value_size(fields_[*found], part.size));
  }
  return size + ExampleEncoder::frame_size(size) + kTfRecordOverhead;
}

}  // namespace prep
