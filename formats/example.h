// tf.train.Example, the protobuf message that the records of a TFRecord hold, read and written
// without a copy of its values. Its definition (tensorflow/core/example/{example,feature}.proto):
//
//   message Example { Features features = 1; }
//   message Features { map<string, Feature> feature = 1; }
//   message Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                                  Int64List int64_list = 3; } }
//   message BytesList { repeated bytes value = 1; }
//   message FloatList { repeated float value = 1 [packed = true]; }
//   message Int64List { repeated int64 value = 1 [packed = true]; }
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"

namespace prep {

enum class FeatureType { none, bytes, float32, int64 };
// "bytes", "float", "int64"; "nothing" for none.
std::string_view feature_type_name(FeatureType type);

// One entry of an Example's map: views into the record, which must outlive it.
struct Feature {
  std::string_view name;
  FeatureType type = FeatureType::none;
  std::size_t count = 0;        // of values
  std::vector<ByteView> lists;  // encoded and checked BytesLists, …; more than one is one after
                                // the other

  // Calls `take` with each value, in order. For a feature of the type only.
  void for_each_bytes(const std::function<void(ByteView)>& take) const;
  void for_each_int64(const std::function<void(std::int64_t)>& take) const;
  void for_each_float(const std::function<void(float)>& take) const;
  // The value of a feature that has exactly one.
  ByteView only_bytes() const;
  std::int64_t only_int64() const;
};

struct Example {
  static constexpr std::size_t kMaxFeatures = 10'000;

  std::vector<Feature> features;  // by name
  // Fields that the definition does not have, anywhere in the record; they were skipped.
  std::size_t unknown_fields = 0;
  // One of them was the feature_lists of a SequenceExample.
  bool has_feature_lists = false;

  const Feature* find(std::string_view name) const;
};

// Reads a record as protobuf's own parser does: of entries with the same name the last one counts,
// lists may be packed or not and in several pieces, unknown fields are skipped. But what that
// parser would drop, fields of the definition with another wire type and the bits of a number that
// are too many, is refused.
// throws Error corrupt, or limit for more than kMaxFeatures; the message does not name the record.
Example parse_example(ByteView record);

// Puts an Example together. The same features, added in any order, give the same bytes, which are
// those of protobuf's deterministic serialisation.
class ExampleEncoder {
 public:
  // A name comes once and is UTF-8, or readers refuse the record. The value is not copied: it must
  // live until the pieces are used.
  void add_bytes(std::string_view name, ByteView value);
  void add_int64(std::string_view name, std::span<const std::int64_t> values);
  void add_float(std::string_view name, std::span<const float> values);

  // The record in pieces: views of the values and of this encoder.
  std::vector<ByteView> finish();

  // What a feature adds to a record, if its value (numbers: all of them, encoded) takes
  // `value_size` bytes; grows with both.
  static std::uint64_t feature_size(std::size_t name_length, std::uint64_t value_size);
  // What a record adds to the sizes of its features.
  static std::uint64_t frame_size(std::uint64_t features_size);

 private:
  struct Entry {
    std::string name;
    std::string head;  // all that comes before the value; numbers too
    ByteView value;
  };
  void add(std::string_view name, FeatureType type, std::string_view list_head, ByteView value);

  std::vector<Entry> entries_;
  std::string head_;
};

}  // namespace prep
