#include "formats/example_schema.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "formats/tfrecord_record.h"
#include "lib/core/error.h"

namespace prep::example_schema_test {

namespace {

const std::string kJpeg = "\xFF\xD8\xFF jpeg", kPng = "\x89PNG\r\n\x1A\n png";

using Parts = std::vector<std::pair<std::string, std::string>>;

Sample sample_of(const std::string& key, const Parts& parts) {
  Sample sample;
  sample.key = key;
  for (const auto& [name, data] : parts) {
    sample.parts.push_back(
        {name, std::make_shared<MemoryContent>(Bytes::take(data), "raw/" + part_path(key, name))});
  }
  return sample;
}

// Takes "WxH…" for a picture of that size.
std::optional<ImageShape> describe(ByteView bytes) {
  ImageShape shape;
  shape.format = "JPEG";
  shape.channels = 3;
  shape.colorspace = "RGB";
  const std::string text(as_text(bytes));
  if (std::sscanf(text.c_str(), "%dx%d", &shape.width, &shape.height) != 2) return std::nullopt;
  return shape;
}

ExampleOptions with_describer() { return {{}, describe, nullptr}; }
ExampleOptions with_types(std::string_view types) {
  return {parse_part_types(types), nullptr, nullptr};
}
ExampleOptions with_classes(std::vector<std::string> names) {
  return {{}, nullptr, std::make_shared<const std::vector<std::string>>(std::move(names))};
}

std::string encoded(const ExampleSchema& schema, const Sample& sample) {
  ExampleRecord record;
  schema.encode(sample, record);
  std::string bytes;
  for (const ByteView piece : record.pieces()) bytes += as_text(piece);
  return bytes;
}

// "name=value" for each feature of the sample's record.
std::vector<std::string> features(const ExampleSchema& schema, const Sample& sample) {
  const std::string bytes = encoded(schema, sample);
  const Example example = parse_example(as_bytes(bytes));
  CHECK_NOTHROW(schema.check(example));
  std::vector<std::string> texts;
  for (const Feature& feature : example.features) {
    std::string text(feature.name);
    text += '=';
    const auto add = [&](const auto& value) { text += fmt::format("{};", value); };
    if (feature.type == FeatureType::bytes) {
      feature.for_each_bytes([&](ByteView value) { text += as_text(value); });
    } else if (feature.type == FeatureType::int64) {
      feature.for_each_int64(add);
    } else {
      feature.for_each_float(add);
    }
    texts.push_back(text);
  }
  return texts;
}

template <typename F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return Error(Code::internal, "");
}

std::string encode_error(const ExampleSchema& schema, const Sample& sample) {
  return error_of([&] { encoded(schema, sample); }).what();
}

}  // namespace

TEST_CASE("Pictures and labels become the features of the conventions") {
  const Sample sample = sample_of(
      "n01/7", {{"cls", "3\n"}, {"jpg", "640x480"}, {"json", "{}"}, {"seg.png", "64x48"}});
  const ExampleSchema schema = ExampleSchema::decide(sample, with_describer());
  CHECK(features(schema, sample) ==
        std::vector<std::string>{
            "__key__=n01/7", "image/channels=3;", "image/class/label=3;", "image/colorspace=RGB",
            "image/encoded=640x480", "image/filename=n01/7.jpg", "image/format=JPEG",
            "image/height=480;", "image/width=640;", "json={}", "seg.png=64x48"});
}

TEST_CASE("Without a describer a picture is known by its first bytes, and without a size") {
  const Sample sample = sample_of("a", {{"img", kPng}, {"txt", "hi"}});
  const ExampleSchema schema = ExampleSchema::decide(sample, {});
  CHECK(features(schema, sample) == std::vector<std::string>{"__key__=a", "image/encoded=" + kPng,
                                                             "image/filename=a.img",
                                                             "image/format=PNG", "txt=hi"});
  CHECK(features(schema, sample_of("b", {{"txt", ""}, {"img", kJpeg}}))[3] == "image/format=JPEG");
}

TEST_CASE("Of several pictures, the one with a plain name is the picture") {
  const auto picture = [](const Parts& parts) {
    const ExampleSchema schema = ExampleSchema::decide(sample_of("a", parts), {});
    for (const ExampleField& field : schema.fields()) {
      if (field.name == "image/encoded") return field.part;
    }
    return std::string("none");
  };
  CHECK(picture({{"depth.png", kPng}, {"jpg", kJpeg}, {"png", kPng}}) == "jpg");
  CHECK(picture({{"a.png", kPng}, {"b.png", kPng}}) == "a.png");
  CHECK(picture({{"jpg", "no picture"}, {"seg.png", kPng}}) == "seg.png");
  CHECK(picture({{"txt", "x"}}) == "none");
}

TEST_CASE("A cls that is no integer is bytes, and class names come in both ways") {
  const Sample dog = sample_of("a", {{"cls", "dog"}});
  CHECK(features(ExampleSchema::decide(dog, {}), dog)[1] == "cls=dog");
  const Sample text = sample_of("a", {{"cls", "1"}, {"cls.txt", "cat"}});
  CHECK(features(ExampleSchema::decide(text, {}), text) ==
        std::vector<std::string>{"__key__=a", "image/class/label=1;", "image/class/text=cat"});
  const Sample label = sample_of("a", {{"cls", "1"}});
  const ExampleSchema schema = ExampleSchema::decide(label, with_classes({"dog", "cat"}));
  CHECK(features(schema, label)[2] == "image/class/text=cat");
  CHECK(encode_error(schema, sample_of("b", {{"cls", "2"}})) ==
        "raw/b.cls: the label 2 is none of the 2 classes");
  CHECK(encode_error(schema, sample_of("b", {{"cls", "-1"}})) ==
        "raw/b.cls: the label -1 is none of the 2 classes");
  CHECK(error_of([&] {
          ExampleSchema::decide(text, with_classes({"dog", "cat"}));
        }).code() == Code::duplicate);
}

TEST_CASE("Types may be given") {
  const Sample sample = sample_of(
      "a", {{"bbox", "[1, 2.5]"}, {"cls", "3"}, {"ids", "4 5"}, {"jpg", kJpeg}, {"score", "0.5"}});
  const ExampleSchema schema = ExampleSchema::decide(
      sample, with_types("bbox=float,cls=bytes,ids=int64,jpg=bytes,score=float"));
  CHECK(features(schema, sample) == std::vector<std::string>{"__key__=a", "bbox=1;2.5;", "cls=3",
                                                             "ids=4;5;", "jpg=" + kJpeg,
                                                             "score=0.5;"});
  CHECK(encode_error(
            schema,
            sample_of("b",
                      {{"bbox", "1 x"}, {"cls", ""}, {"ids", "1"}, {"jpg", ""}, {"score", "1"}})) ==
        "raw/b.bbox: 'x' is not a number; the feature 'bbox' is of the type float");
  CHECK(error_of([&] { ExampleSchema::decide(sample, with_types("txt=bytes")); }).code() ==
        Code::usage);
  CHECK(error_of([] { parse_part_types("cls=int"); }).code() == Code::usage);
  CHECK(error_of([] { parse_part_types("cls"); }).code() == Code::usage);
  CHECK(error_of([] { parse_part_types("=int64"); }).code() == Code::usage);
  CHECK(error_of([] { parse_part_types("a=int64,"); }).code() == Code::usage);
  CHECK(error_of([] { parse_part_types("a=int64,a=bytes"); }).code() == Code::usage);
}

TEST_CASE("Every sample is held to what the first one decided") {
  const ExampleSchema schema =
      ExampleSchema::decide(sample_of("n/0", {{"cls", "1"}, {"jpg", kJpeg}}), {});
  const auto error = [&](const Parts& parts) {
    return encode_error(schema, sample_of("n/1", parts));
  };
  CHECK(error({{"jpg", kJpeg}}) ==
        "n/1: has not the part 'cls'; all records must have the features of the first sample, "
        "'n/0'");
  CHECK(error({{"cls", "1"}}).starts_with("n/1: has not the part 'jpg'"));
  CHECK(error({}).starts_with("n/1: has not the part 'cls'"));
  CHECK(error({{"a", ""}, {"cls", "1"}, {"jpg", kJpeg}}).starts_with("n/1: has the part 'a'"));
  CHECK(error({{"cls", "1"}, {"jpg", kJpeg}, {"z", ""}}).starts_with("n/1: has the part 'z'"));
  CHECK(error({{"cls", "dog"}, {"jpg", kJpeg}}) ==
        "raw/n/1.cls: 'dog' is not an integer; the feature 'image/class/label' is of the type "
        "int64");
  CHECK(error({{"cls", "1 2"}, {"jpg", kJpeg}}).starts_with("raw/n/1.cls: 2 integers instead of"));
  CHECK(error({{"cls", "1"}, {"jpg", "GIF89a"}}) ==
        "raw/n/1.jpg: is no picture, as part 'jpg' of the first sample is");
}

TEST_CASE("Parts that cannot be features are refused") {
  const auto decide = [](const Parts& parts) {
    return error_of([&] { ExampleSchema::decide(sample_of("a", parts), {}); });
  };
  CHECK(decide({{"", "x"}}).code() == Code::name);
  CHECK(decide({{"\xFF", "x"}}).code() == Code::name);
  CHECK(decide({{"__key__", "x"}}).code() == Code::duplicate);
  CHECK(decide({{"__key__", "x"}}).what() ==
        std::string("a: part '__key__' would be the feature '__key__', and so would something "
                    "else of the sample"));
}

namespace {

// Says that it is large, and must not be read.
class Large final : public Content {
 public:
  std::uint64_t size() const override { return std::uint64_t{3} << 30; }
  Bytes read(std::uint64_t, std::uint64_t) const override { fail(Code::internal, "was read"); }
  std::string origin() const override { return "large"; }
};

}  // namespace

TEST_CASE("What is over 2 GiB is refused before it is read") {
  const ExampleSchema schema = ExampleSchema::decide(sample_of("a", {{"bin", ""}}), {});
  Sample large = sample_of("b", {});
  large.parts.push_back({"bin", std::make_shared<Large>()});
  const Error error = error_of([&] { encoded(schema, large); });
  CHECK(error.code() == Code::limit);
  CHECK(std::string(error.what()).starts_with("b: makes a record of 3221225472 bytes"));
}

TEST_CASE("A schema comes back from JSON") {
  const Sample sample = sample_of("a", {{"bbox", "1"}, {"cls", "3"}, {"jpg", "4x3"}});
  ExampleOptions options = with_describer();
  options.types = parse_part_types("bbox=float");
  const ExampleSchema schema = ExampleSchema::decide(sample, options);
  CHECK(schema.to_json().dump() == R"([{"name":"__key__","type":"bytes"},)"
                                   R"({"name":"bbox","type":"float","part":"bbox"},)"
                                   R"({"name":"image/channels","type":"int64"},)"
                                   R"({"name":"image/class/label","type":"int64","part":"cls"},)"
                                   R"({"name":"image/colorspace","type":"bytes"},)"
                                   R"({"name":"image/encoded","type":"bytes","part":"jpg"},)"
                                   R"({"name":"image/filename","type":"bytes"},)"
                                   R"({"name":"image/format","type":"bytes"},)"
                                   R"({"name":"image/height","type":"int64"},)"
                                   R"({"name":"image/width","type":"int64"}])");
  const ExampleSchema back =
      ExampleSchema::parse(schema.to_json(), "manifest.json", with_describer());
  CHECK(back.to_json() == schema.to_json());
  CHECK(encoded(back, sample) == encoded(schema, sample));
}

TEST_CASE("JSON that is no schema is refused") {
  using Json = nlohmann::ordered_json;
  for (const char* text :
       {"{}", "[1]", R"([{"name": "a"}])", R"([{"name": "a", "type": "int"}])",
        R"([{"name": "", "type": "int64"}])", R"([{"name": 1, "type": "int64"}])",
        R"([{"name": "a", "type": "int64", "part": ""}])",
        R"([{"name": "a", "type": "int64", "part": 1}])"}) {
    const Error error = error_of([&] { ExampleSchema::parse(Json::parse(text), "m.json"); });
    CHECK(error.code() == Code::corrupt);
    CHECK(std::string(error.what()).starts_with("m.json: "));
  }
  const char* twice = R"([{"name": "a", "type": "int64"}, {"name": "a", "type": "bytes"}])";
  CHECK(error_of([&] { ExampleSchema::parse(Json::parse(twice), "m.json"); }).code() ==
        Code::duplicate);
}

TEST_CASE("A record is checked against a schema") {
  const ExampleSchema schema = ExampleSchema::decide(
      sample_of("a", {{"bbox", "1"}, {"cls", "3"}, {"txt", "x"}}), with_types("bbox=float"));
  const std::vector<std::int64_t> one{1}, two{1, 2};
  const std::vector<float> floats{1, 2};
  const auto error = [&](auto add) {
    ExampleEncoder encoder;
    encoder.add_bytes("__key__", as_bytes("a"));
    encoder.add_float("bbox", floats);
    add(encoder);
    std::string bytes;
    for (const ByteView piece : encoder.finish()) bytes += as_text(piece);
    try {
      schema.check(parse_example(as_bytes(bytes)));
    } catch (const Error& e) {
      CHECK(e.code() == Code::corrupt);
      return std::string(e.what());
    }
    return std::string();
  };
  const auto txt = as_bytes("x");
  CHECK(error([&](auto& e) {
          e.add_int64("image/class/label", one), e.add_bytes("txt", txt);
        }).empty());
  CHECK(error([&](auto& e) { e.add_int64("image/class/label", one); }) ==
        "the feature 'txt' of the schema is missing");
  CHECK(error([&](auto& e) { e.add_int64("image/class/label", two), e.add_bytes("txt", txt); }) ==
        "the feature 'image/class/label' holds 2 values instead of one");
  CHECK(error([&](auto& e) { e.add_int64("image/class/label", one), e.add_int64("txt", one); }) ==
        "the feature 'txt' holds int64 where the schema has bytes");
  CHECK(error([&](auto& e) { e.add_int64("extra", one), e.add_bytes("txt", txt); }) ==
        "the feature 'extra' is not in the schema");
  CHECK(error([&](auto& e) {
          e.add_int64("image/class/label", one), e.add_bytes("txt", txt), e.add_bytes("z", txt);
        }) == "the feature 'z' is not in the schema");
}

TEST_CASE("A record's size is bounded by the sizes of the parts") {
  ExampleOptions options = with_describer();
  options.types = parse_part_types("bbox=float,ids=int64");
  options.class_names = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"a", "a long name of a class"});
  for (const std::size_t size : {0, 1, 100, 1000, 100'000}) {
    const std::string padding(size, 'p');
    const Sample sample = sample_of("n01/" + padding, {{"bbox", "1 2,3.5"},
                                                       {"cls", "1"},
                                                       {"ids", "[-1,-1,1]"},
                                                       {"jpg", "64x48" + padding},
                                                       {"txt", padding}});
    const ExampleSchema schema = ExampleSchema::decide(sample, options);
    std::vector<ExampleSchema::PartSize> sizes;
    for (const Part& part : sample.parts) sizes.push_back({part.name, part.content->size()});
    const std::uint64_t bound = schema.max_record_size(sample.key.size(), sizes);
    const std::uint64_t real = encoded(schema, sample).size() + kTfRecordOverhead;
    CHECK(bound >= real);
    CHECK(bound <= real + 200);
  }
  // Numbers of a digit each, and negative ones, in as little text as can be.
  for (const std::string text : {"1", "1 1", "-1 -1", "-1,-1,-1", "[1]"}) {
    const Sample sample = sample_of("k", {{"x", text}});
    for (const char* type : {"x=int64", "x=float"}) {
      const ExampleSchema schema = ExampleSchema::decide(sample, with_types(type));
      const std::vector<ExampleSchema::PartSize> sizes{{"x", text.size()}};
      CHECK(schema.max_record_size(1, sizes) >= encoded(schema, sample).size() + kTfRecordOverhead);
    }
  }
}

}  // namespace prep::example_schema_test
