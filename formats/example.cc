#include "formats/example.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/core/error.h"

namespace prep {
namespace {

static_assert(std::endian::native == std::endian::little);

// Source of the encoding: https://protobuf.dev/programming-guides/encoding.
enum WireType : unsigned {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// Field numbers of the definition.
constexpr unsigned kExampleFeatures = 1;
constexpr unsigned kSequenceFeatureLists = 2;
constexpr unsigned kFeaturesEntry = 1;
constexpr unsigned kEntryKey = 1, kEntryValue = 2;
constexpr unsigned kFeatureBytes = 1, kFeatureFloat = 2, kFeatureInt64 = 3;
constexpr unsigned kListValue = 1;

// Of a varint of 32 bits, in bytes.
constexpr int kLongest32 = 5;

// As deep as protobuf's own parser goes.
constexpr int kMaxDepth = 100;

struct Tag {
  unsigned field;
  unsigned type;
};

// The fields of one message, in order.
class WireReader {
 public:
  explicit WireReader(ByteView bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool at_end() const { return at_ == end_; }

  // `longest` in bytes: protobuf's parser takes no more, even where the excess is all zeros.
  std::uint64_t varint(int longest = 10) {
    std::uint64_t value = 0;
    for (int i = 0; at_ != end_; ++i) {
      const std::uint64_t byte = *at_++;
      if (i == longest || (i == 9 && byte > 1)) fail(Code::corrupt, "a number that is too long");
      value |= (byte & 0x7F) << 7 * i;
      if (byte < 0x80) return value;
    }
    fail(Code::corrupt, "it ends inside a number");
  }

  Tag tag() {
    const std::uint64_t value = varint(kLongest32);
    const Tag tag{static_cast<unsigned>(value >> 3), static_cast<unsigned>(value & 7)};
    if (value > UINT32_MAX || tag.field == 0 || tag.type > kFixed32) {
      fail(Code::corrupt, "a field with the tag {}, which does not exist", value);
    }
    return tag;
  }

  // What a field of type kLength holds.
  ByteView payload() {
    const std::uint64_t size = varint(kLongest32);
    return take(size);
  }

  ByteView take(std::uint64_t size) {
    const auto left = static_cast<std::uint64_t>(end_ - at_);
    if (size > left) {
      fail(Code::corrupt, "a field of {} bytes, where only {} are left", size, left);
    }
    const ByteView view(at_, static_cast<std::size_t>(size));
    at_ += size;
    return view;
  }

  void skip(Tag tag, int depth = 0) {
    switch (tag.type) {
      case kVarint:
        varint();
        return;
      case kFixed64:
        take(8);
        return;
      case kLength:
        payload();
        return;
      case kFixed32:
        take(4);
        return;
      case kStartGroup:
        return skip_group(tag.field, depth + 1);
      default:
        fail(Code::corrupt, "the end of a group that was not begun");
    }
  }

 private:
  void skip_group(unsigned field, int depth) {
    if (depth > kMaxDepth) fail(Code::corrupt, "groups inside each other, {} deep", depth);
    while (!at_end()) {
      const Tag inner = tag();
      if (inner.type != kEndGroup) {
        skip(inner, depth);
      } else if (inner.field == field) {
        return;
      } else {
        fail(Code::corrupt, "a group that ends as another one");
      }
    }
    fail(Code::corrupt, "it ends inside a group");
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

void expect_type(Tag tag, unsigned type, std::string_view what) {
  if (tag.type != type) {
    fail(Code::corrupt, "{} is encoded with the wire type {} instead of {}", what, tag.type, type);
  }
}

// --- reading ----------------------------------------------------------------------------------

class ExampleParser {
 public:
  Example parse(ByteView record) {
    WireReader reader(record);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      if (tag.field == kExampleFeatures) {
        expect_type(tag, kLength, "features");
        parse_features(reader.payload());
      } else {
        example_.has_feature_lists |= tag.field == kSequenceFeatureLists && tag.type == kLength;
        skip_unknown(reader, tag);
      }
    }
    keep_last_of_each_name();
    return std::move(example_);
  }

 private:
  void skip_unknown(WireReader& reader, Tag tag) {
    ++example_.unknown_fields;
    reader.skip(tag);
  }

  void parse_features(ByteView bytes) {
    WireReader reader(bytes);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      if (tag.field != kFeaturesEntry) {
        skip_unknown(reader, tag);
        continue;
      }
      expect_type(tag, kLength, "a feature");
      if (example_.features.size() == Example::kMaxFeatures) {
        fail(Code::limit, "more than {} features", Example::kMaxFeatures);
      }
      example_.features.push_back(parse_entry(reader.payload()));
    }
  }

  Feature parse_entry(ByteView bytes) {
    Feature feature;
    WireReader reader(bytes);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      if (tag.field == kEntryKey) {
        expect_type(tag, kLength, "a feature's name");
        feature.name = as_text(reader.payload());
        check_utf8(feature.name);
      } else if (tag.field == kEntryValue) {
        expect_type(tag, kLength, "a feature's value");
        parse_value(reader.payload(), feature);
      } else {
        skip_unknown(reader, tag);
      }
    }
    return feature;
  }

  static void check_utf8(std::string_view name) {
    if (is_utf8(name)) return;
    fail(Code::corrupt, "the feature name '{}' is not UTF-8", printable(name));
  }

  // Of several kinds in one value the last one counts; of one kind all lists do.
  void parse_value(ByteView bytes, Feature& feature) {
    WireReader reader(bytes);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      const FeatureType type = list_type(tag.field);
      if (type == FeatureType::none) {
        skip_unknown(reader, tag);
        continue;
      }
      expect_type(tag, kLength, "a feature's list");
      if (feature.type != type) {
        feature.type = type;
        feature.count = 0;
        feature.lists.clear();
      }
      if (feature.lists.size() == Example::kMaxFeatures) {
        fail(Code::limit, "a feature in more than {} pieces", Example::kMaxFeatures);
      }
      feature.lists.push_back(reader.payload());
      feature.count += count_values(type, feature.lists.back());
    }
  }

  static FeatureType list_type(unsigned field) {
    switch (field) {
      case kFeatureBytes:
        return FeatureType::bytes;
      case kFeatureFloat:
        return FeatureType::float32;
      case kFeatureInt64:
        return FeatureType::int64;
      default:
        return FeatureType::none;
    }
  }

  // Goes over all of a list, so that nobody finds a fault in it later.
  std::size_t count_values(FeatureType type, ByteView list) {
    std::size_t count = 0;
    WireReader reader(list);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      if (tag.field != kListValue) {
        skip_unknown(reader, tag);
      } else if (type == FeatureType::bytes) {
        expect_type(tag, kLength, "a value");
        reader.payload();
        ++count;
      } else if (tag.type == kLength) {
        count += count_packed(type, reader.payload());
      } else {
        expect_type(tag, type == FeatureType::int64 ? kVarint : kFixed32, "a value");
        reader.skip(tag);
        ++count;
      }
    }
    return count;
  }

  static std::size_t count_packed(FeatureType type, ByteView bytes) {
    if (type == FeatureType::float32) {
      if (bytes.size() % sizeof(float) != 0) {
        fail(Code::corrupt, "floats in {} bytes, which is no multiple of 4", bytes.size());
      }
      return bytes.size() / sizeof(float);
    }
    std::size_t count = 0;
    for (WireReader reader(bytes); !reader.at_end(); ++count) reader.varint();
    return count;
  }

  void keep_last_of_each_name() {
    std::vector<Feature>& features = example_.features;
    std::reverse(features.begin(), features.end());
    std::stable_sort(features.begin(), features.end(),
                     [](const Feature& a, const Feature& b) { return a.name < b.name; });
    const auto end =
        std::unique(features.begin(), features.end(),
                    [](const Feature& a, const Feature& b) { return a.name == b.name; });
    features.erase(end, features.end());
  }

  Example example_;
};

// Calls take(reader, tag) for each value field of checked lists.
template <typename F>
void for_each_field(const std::vector<ByteView>& lists, F take) {
  for (const ByteView list : lists) {
    WireReader reader(list);
    while (!reader.at_end()) {
      const Tag tag = reader.tag();
      if (tag.field == kListValue) {
        take(reader, tag);
      } else {
        reader.skip(tag);
      }
    }
  }
}

float load_float(ByteView bytes) {
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

std::string_view feature_type_name(FeatureType type) {
  switch (type) {
    case FeatureType::bytes:
      return "bytes";
    case FeatureType::float32:
      return "float";
    case FeatureType::int64:
      return "int64";
    case FeatureType::none:
      break;
  }
  return "nothing";
}

void Feature::for_each_bytes(const std::function<void(ByteView)>& take) const {
  for_each_field(lists, [&](WireReader& reader, Tag) { take(reader.payload()); });
}

void Feature::for_each_int64(const std::function<void(std::int64_t)>& take) const {
  for_each_field(lists, [&](WireReader& reader, Tag tag) {
    if (tag.type == kVarint) return take(static_cast<std::int64_t>(reader.varint()));
    for (WireReader packed(reader.payload()); !packed.at_end();) {
      take(static_cast<std::int64_t>(packed.varint()));
    }
  });
}

void Feature::for_each_float(const std::function<void(float)>& take) const {
  for_each_field(lists, [&](WireReader& reader, Tag tag) {
    if (tag.type == kFixed32) return take(load_float(reader.take(sizeof(float))));
    for (WireReader packed(reader.payload()); !packed.at_end();) {
      take(load_float(packed.take(sizeof(float))));
    }
  });
}

ByteView Feature::only_bytes() const {
  ByteView only;
  for_each_bytes([&](ByteView value) { only = value; });
  return only;
}

std::int64_t Feature::only_int64() const {
  std::int64_t only = 0;
  for_each_int64([&](std::int64_t value) { only = value; });
  return only;
}

const Feature* Example::find(std::string_view name) const {
  const auto found =
      std::lower_bound(features.begin(), features.end(), name,
                       [](const Feature& feature, std::string_view n) { return feature.name < n; });
  return found != features.end() && found->name == name ? &*found : nullptr;
}

Example parse_example(ByteView record) { return ExampleParser().parse(record); }

// --- writing ----------------------------------------------------------------------------------

namespace {

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::uint64_t varint_size(std::uint64_t value) {
  std::uint64_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// A field's tag and length; its payload follows. Field numbers up to 15 make tags of one byte.
void append_length_field(unsigned field, std::uint64_t size, std::string& out) {
  append_varint(field << 3 | kLength, out);
  append_varint(size, out);
}
std::uint64_t length_field_size(std::uint64_t size) { return 1 + varint_size(size) + size; }

unsigned list_field(FeatureType type) {
  switch (type) {
    case FeatureType::bytes:
      return kFeatureBytes;
    case FeatureType::float32:
      return kFeatureFloat;
    default:
      return kFeatureInt64;
  }
}

// Numbers that are packed; without any there is no field.
std::string packed_list(std::string_view packed) {
  std::string list;
  if (packed.empty()) return list;
  append_length_field(kListValue, packed.size(), list);
  return list.append(packed);
}

}  // namespace

void ExampleEncoder::add_bytes(std::string_view name, ByteView value) {
  std::string list_head;
  append_length_field(kListValue, value.size(), list_head);
  add(name, FeatureType::bytes, list_head, value);
}

void ExampleEncoder::add_int64(std::string_view name, std::span<const std::int64_t> values) {
  std::string packed;
  for (const std::int64_t value : values) append_varint(static_cast<std::uint64_t>(value), packed);
  add(name, FeatureType::int64, packed_list(packed), {});
}

void ExampleEncoder::add_float(std::string_view name, std::span<const float> values) {
  const std::string_view packed(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  add(name, FeatureType::float32, packed_list(packed), {});
}

void ExampleEncoder::add(std::string_view name, FeatureType type, std::string_view list_head,
                         ByteView value) {
  const std::uint64_t list_size = list_head.size() + value.size();
  const std::uint64_t feature_size = length_field_size(list_size);
  Entry& entry = entries_.emplace_back();
  entry.name = name;
  entry.value = value;
  std::string& head = entry.head;
  append_length_field(kFeaturesEntry,
                      length_field_size(name.size()) + length_field_size(feature_size), head);
  append_length_field(kEntryKey, name.size(), head);
  head.append(name);
  append_length_field(kEntryValue, feature_size, head);
  append_length_field(list_field(type), list_size, head);
  head.append(list_head);
}

std::vector<ByteView> ExampleEncoder::finish() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  std::uint64_t size = 0;
  for (const Entry& entry : entries_) size += entry.head.size() + entry.value.size();
  head_.clear();
  append_length_field(kExampleFeatures, size, head_);
  std::vector<ByteView> pieces{as_bytes(head_)};
  for (const Entry& entry : entries_) {
    pieces.push_back(as_bytes(entry.head));
    if (!entry.value.empty()) pieces.push_back(entry.value);
  }
  return pieces;
}

std::uint64_t ExampleEncoder::feature_size(std::size_t name_length, std::uint64_t value_size) {
  const std::uint64_t list_size = length_field_size(value_size);
  const std::uint64_t feature = length_field_size(length_field_size(list_size));
  return length_field_size(length_field_size(name_length) + feature);
}

std::uint64_t ExampleEncoder::frame_size(std::uint64_t features_size) {
  return length_field_size(features_size) - features_size;
}

}  // namespace prep
