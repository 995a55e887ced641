#include "formats/example.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lib/core/error.h"

namespace prep::example_test {

using std::string_literals::operator""s;

namespace {

std::string joined(const std::vector<ByteView>& pieces) {
  std::string record;
  for (const ByteView piece : pieces) record += as_text(piece);
  return record;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// A field of the wire type 2.
std::string field(unsigned number, const std::string& payload) {
  return varint(number << 3 | 2) + varint(payload.size()) + payload;
}

// An Example of one feature "f", whose value is the encoded Feature.
std::string example_of(const std::string& feature) {
  return field(1, field(1, field(1, "f") + field(2, feature)));
}

// "name:type=value,value" for each feature.
std::string describe(const Example& example) {
  std::string text;
  for (const Feature& feature : example.features) {
    text += fmt::format("{}{}:{}=", text.empty() ? "" : " ", feature.name,
                        feature_type_name(feature.type));
    std::size_t count = 0;
    const auto add = [&](const auto& value) {
      text += fmt::format("{}{}", count++ ? "," : "", value);
    };
    if (feature.type == FeatureType::bytes) {
      feature.for_each_bytes([&](ByteView value) { add(as_text(value)); });
    } else if (feature.type == FeatureType::int64) {
      feature.for_each_int64(add);
    } else if (feature.type == FeatureType::float32) {
      feature.for_each_float(add);
    }
    CHECK(count == feature.count);
  }
  return text;
}

std::string parsed(const std::string& record) { return describe(parse_example(as_bytes(record))); }

Error error_of(const std::string& record) {
  try {
    parse_example(as_bytes(record));
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return Error(Code::internal, "");
}

std::string encode(const std::vector<std::string>& order) {
  ExampleEncoder encoder;
  const std::vector<std::int64_t> numbers{7, -1};
  const std::vector<float> floats{0.5F};
  for (const std::string& name : order) {
    if (name == "i") encoder.add_int64(name, numbers);
    if (name == "f") encoder.add_float(name, floats);
    if (name == "bytes") encoder.add_bytes(name, as_bytes("value"));
  }
  return joined(encoder.finish());
}

}  // namespace

TEST_CASE("An Example is encoded as protobuf does, sorted by name") {
  const std::string expected =
      "\x0A\x39"
      "\x0A\x12\x0A\x05"
      "bytes\x12\x09\x0A\x07\x0A\x05value"
      "\x0A\x0D\x0A\x01"
      "f\x12\x08\x12\x06\x0A\x04\x00\x00\x00\x3F"
      "\x0A\x14\x0A\x01"
      "i\x12\x0F\x1A\x0D\x0A\x0B\x07\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s;
  CHECK(encode({"bytes", "f", "i"}) == expected);
  CHECK(encode({"i", "bytes", "f"}) == expected);
  CHECK(parsed(expected) == "bytes:bytes=value f:float=0.5 i:int64=7,-1");
}

TEST_CASE("Lists without values, and empty values, are encoded as protobuf does") {
  ExampleEncoder encoder;
  encoder.add_int64("a", {});
  encoder.add_float("b", {});
  encoder.add_bytes("c", {});
  const std::string record = joined(encoder.finish());
  CHECK(record ==
        "\x0A\x1D"
        "\x0A\x07\x0A\x01"
        "a\x12\x02\x1A\x00"
        "\x0A\x07\x0A\x01"
        "b\x12\x02\x12\x00"
        "\x0A\x09\x0A\x01"
        "c\x12\x04\x0A\x02\x0A\x00"s);
  CHECK(parsed(record) == "a:int64= b:float= c:bytes=");
}

TEST_CASE("Values are pieces by themselves, which are not copied") {
  const std::string value(1000, 'x');
  ExampleEncoder encoder;
  encoder.add_bytes("image/encoded", as_bytes(value));
  const std::vector<ByteView> pieces = encoder.finish();
  CHECK(pieces.back().data() == as_bytes(value).data());
  CHECK(pieces.back().size() == value.size());
}

TEST_CASE("Sizes are known before encoding") {
  for (const std::size_t size : {0, 1, 100, 127, 128, 16'000, 16'383, 16'384, 3'000'000}) {
    for (const std::size_t name_length : {1, 13, 200}) {
      const std::string name(name_length, 'n'), value(size, 'v');
      ExampleEncoder encoder;
      encoder.add_bytes(name, as_bytes(value));
      const std::uint64_t feature = ExampleEncoder::feature_size(name_length, size);
      CHECK(joined(encoder.finish()).size() == feature + ExampleEncoder::frame_size(feature));
    }
  }
}

TEST_CASE("All numbers come through") {
  const std::vector<std::int64_t> numbers{0,
                                          1,
                                          127,
                                          128,
                                          -1,
                                          std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int64_t>::min()};
  const std::vector<float> floats{0.0F, -0.0F, 1e-45F, std::numeric_limits<float>::max(),
                                  std::numeric_limits<float>::infinity()};
  ExampleEncoder encoder;
  encoder.add_int64("i", numbers);
  encoder.add_float("f", floats);
  const std::string record = joined(encoder.finish());
  const Example example = parse_example(as_bytes(record));
  std::vector<std::int64_t> numbers_back;
  std::vector<float> floats_back;
  example.find("i")->for_each_int64([&](std::int64_t value) { numbers_back.push_back(value); });
  example.find("f")->for_each_float([&](float value) { floats_back.push_back(value); });
  CHECK(numbers_back == numbers);
  CHECK(floats_back == floats);
  CHECK(std::signbit(floats_back[1]));
  CHECK(example.find("g") == nullptr);
}

TEST_CASE("Lists may be packed, not packed, mixed and in pieces") {
  const std::string one = "\x08\x05"s, packed = field(1, "\x01\x96\x01"s);
  CHECK(parsed(example_of(field(3, one + packed + one))) == "f:int64=5,1,150,5");
  CHECK(parsed(example_of(field(3, one) + field(3, packed))) == "f:int64=5,1,150");
  const std::string half = "\x0D\x00\x00\x00\x3F"s, halves = field(1, "\0\0\x80\x3F\0\0\0\x40"s);
  CHECK(parsed(example_of(field(2, half + halves))) == "f:float=0.5,1,2");
  CHECK(parsed(example_of(field(1, field(1, "a") + field(1, "")) + field(1, field(1, "b")))) ==
        "f:bytes=a,,b");
}

TEST_CASE("Where something comes twice, the last one counts, as in protobuf") {
  const auto entry = [](const std::string& name, const std::string& value) {
    return field(1, field(1, name) + field(2, field(1, field(1, value))));
  };
  // A map's key; the features themselves are merged.
  CHECK(parsed(field(1, entry("b", "1") + entry("a", "2")) + field(1, entry("b", "3"))) ==
        "a:bytes=2 b:bytes=3");
  // The name of an entry, and its value, which is merged.
  CHECK(parsed(field(1, field(1, field(1, "x") + field(2, field(1, field(1, "1"))) + field(1, "y") +
                                     field(2, field(1, field(1, "2")))))) == "y:bytes=1,2");
  // Kinds of a value.
  CHECK(parsed(example_of(field(1, field(1, "a")) + field(3, "\x08\x05"s))) == "f:int64=5");
  CHECK(parsed(example_of(field(3, "\x08\x05"s) + field(1, field(1, "a")) +
                          field(3, "\x08\x06"s))) == "f:int64=6");
}

TEST_CASE("What is not there has its default") {
  CHECK(parsed("").empty());
  CHECK(parsed(field(1, "")).empty());
  CHECK(parsed(field(1, field(1, ""))) == ":nothing=");
  CHECK(parsed(field(1, field(1, field(1, "f")))) == "f:nothing=");
  CHECK(parsed(example_of("")) == "f:nothing=");
}

TEST_CASE("Unknown fields are skipped and counted, groups too") {
  const std::string unknown =
      "\x58\x96\x01"s  // 11: varint
      "\x61"
      "12345678"s  // 12: 64 bits
      "\x6A\x02"
      "xy"s  // 13: bytes
      "\x75"
      "1234"s                       // 14: 32 bits
      "\x7B\x58\x01\x7B\x7C\x7C"s;  // 15: a group with another one in it
  const std::string value = field(1, field(1, "a"));
  const std::string record =
      unknown +
      field(1, unknown + field(1, unknown + field(1, "f") +
                                      field(2, unknown + field(1, unknown + field(1, "a")))));
  const Example example = parse_example(as_bytes(record));
  CHECK(describe(example) == "f:bytes=a");
  CHECK(example.unknown_fields == 25);
  CHECK_FALSE(example.has_feature_lists);
  CHECK(parse_example(as_bytes(example_of(value) + field(2, "x"))).has_feature_lists);
}

TEST_CASE("What protobuf would refuse, or drop, is an error") {
  const auto message = [](const std::string& record) {
    const Error error = error_of(record);
    CHECK(error.code() == Code::corrupt);
    return std::string(error.what());
  };
  CHECK(message("\x0A\x05"
                "abc") == "a field of 5 bytes, where only 3 are left");
  CHECK(message("\x0A") == "it ends inside a number");
  CHECK(message("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02") == "a number that is too long");
  CHECK(message("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01") == "a number that is too long");
  CHECK(message("\x8A\x80\x80\x80\x80\x00\x00"s) == "a number that is too long");
  CHECK(message("\x0A\x80\x80\x80\x80\x80\x00"s) == "a number that is too long");
  CHECK(message("\x0A\x80\x80\x80\x80\x20"s) ==
        "a field of 8589934592 bytes, where only 0 are left");
  CHECK(message("\x02\x00"s) == "a field with the tag 2, which does not exist");
  CHECK(message("\x0E\x00"s) == "a field with the tag 14, which does not exist");
  CHECK(message("\x8A\x80\x80\x80\x10\x00"s).find("which does not exist") != std::string::npos);
  CHECK(message("\x7C") == "the end of a group that was not begun");
  CHECK(message("\x7B\x74"s) == "a group that ends as another one");
  CHECK(message("\x7B\x58\x01"s) == "it ends inside a group");
  CHECK(message(std::string(101, '\x7B')) == "groups inside each other, 101 deep");
  CHECK(message("\x08\x01") == "features is encoded with the wire type 0 instead of 2");
  CHECK(message(field(1, "\x08\x01")).starts_with("a feature is encoded"));
  CHECK(message(example_of("\x08\x01")).starts_with("a feature's list is encoded"));
  CHECK(message(example_of(field(3,
                                 "\x0D"
                                 "1234"))) ==
        "a value is encoded with the wire type 5 instead of 0");
  CHECK(message(example_of(field(2, "\x08\x01"))) ==
        "a value is encoded with the wire type 0 instead of 5");
  CHECK(message(example_of(field(2, field(1, "12345")))) ==
        "floats in 5 bytes, which is no multiple of 4");
  CHECK(message(example_of(field(3, field(1, "\x80")))) == "it ends inside a number");
  CHECK(message(field(1, field(1, field(1, "\xFF") + field(1, "a")))).ends_with("is not UTF-8"));
  CHECK(message(field(1, field(1, field(1, "\xFF")))) == "the feature name '\\xff' is not UTF-8");
}

TEST_CASE("There are limits to features and to pieces") {
  std::string features, lists;
  for (std::size_t i = 0; i <= Example::kMaxFeatures; ++i) {
    features += field(1, "");
    lists += field(1, "");
  }
  CHECK(error_of(field(1, features)).code() == Code::limit);
  CHECK(error_of(example_of(lists)).code() == Code::limit);
}

TEST_CASE("Every cut and every flipped bit gives an Example or an error") {
  const std::string record = encode({"bytes", "f", "i"});
  for (std::size_t size = 1; size < record.size(); ++size) {
    CHECK(error_of(record.substr(0, size)).code() == Code::corrupt);
  }
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    try {
      parsed(damaged);
    } catch (const Error&) {
      ++errors;
    }
  }
  CHECK(errors > record.size());
}

}  // namespace prep::example_test
