#include "formats/class_names.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::class_names_test {

using prep::test::TempDir;
using prep::test::write_file;

namespace {

using Strings = std::vector<std::string>;
using Header = TableOptions::Header;

Sample sample_of(std::string key, const Strings& parts) {
  Sample sample;
  sample.key = std::move(key);
  for (const std::string& part : parts) {
    sample.parts.push_back({part, std::make_shared<LiteralContent>("", "")});
  }
  return sample;
}

class LabelFile {
 public:
  Labels read(const std::string& text, const TableOptions& options = {},
              const std::string& name = "l.csv") {
    write_file(dir_ / name, text);
    return Labels::read(dir_ / name, options);
  }
  // Without the directory.
  std::string failure(const std::string& text, Code code, const TableOptions& options = {},
                      const std::string& name = "l.csv") {
    try {
      read(text, options, name);
    } catch (const Error& error) {
      CHECK(error.code() == code);
      return std::string(error.what()).substr(dir_.path().size() + 1);
    }
    return "no error";
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

ClassNames read_classes(const std::string& text) {
  TempDir dir;
  write_file(dir / "classes.txt", text);
  return ClassNames::read(dir / "classes.txt");
}

}  // namespace

TEST_CASE("a class's index is its line") {
  const ClassNames classes = read_classes("cat\r\n# dog \ncaf\xC3\xA9,x\n\n");
  CHECK(classes.names() == Strings{"cat", "# dog ", "caf\xC3\xA9,x"});
  CHECK(classes.index("cat") == 0);
  CHECK(classes.index("# dog ") == 1);
  CHECK(classes.index("caf\xC3\xA9,x") == 2);
  CHECK_FALSE(classes.index("Cat"));
  CHECK_FALSE(classes.index(""));
  CHECK(read_classes("\xEF\xBB\xBF"
                     "a\nb")
            .names() == Strings{"a", "b"});
  const ClassNames copy = classes;
  CHECK(copy.index("cat") == 0);
}

TEST_CASE("lists of classes that cannot be meant") {
  CHECK_THROWS_WITH(read_classes("a\nb\na\n"),
                    Catch::EndsWith("classes.txt: line 3: the class 'a' stands in line 1 too"));
  CHECK_THROWS_WITH(read_classes("a\n\nb\n"),
                    Catch::EndsWith("classes.txt: line 2: is empty; every line is a class"));
  CHECK_THROWS_WITH(read_classes("\n\r\n"), Catch::EndsWith("classes.txt: names no class"));
  CHECK_THROWS_WITH(read_classes(""), Catch::EndsWith("classes.txt: names no class"));
  CHECK_THROWS_WITH(read_classes(std::string("a\0\n", 3)),
                    Catch::EndsWith("classes.txt: line 1: holds a NUL"));
  CHECK_THROWS_WITH(ClassNames({"x", "y", "x"}),
                    "the class 'x' comes twice, as number 0 and number 2");
  CHECK_THROWS_AS(ClassNames::read("/nonexistent"), Error);
  CHECK_THROWS_AS(ClassNames::read("/"), Error);
}

TEST_CASE("a label is found by key, part or base name, the most particular first") {
  LabelFile file;
  const Labels labels =
      file.read("./n01/a.jpg,1\nn01/a,2\na.jpg,3\na,4\n/n02/b.png,5\nb,6\n../c.jpg,7\n");
  CHECK(labels.size() == 7);
  CHECK(labels.find(sample_of("n01/a", {"cls", "jpg"})) == "1");
  CHECK(labels.find(sample_of("n01/a", {"png"})) == "2");
  CHECK(labels.find(sample_of("n09/a", {"jpg"})) == "3");
  CHECK(labels.find(sample_of("n09/a", {"png"})) == "4");
  CHECK(labels.find(sample_of("a", {"png"})) == "4");
  CHECK(labels.find(sample_of("n02/b", {"png"})) == "5");
  CHECK(labels.find(sample_of("x/y/b", {""})) == "6");
  CHECK(labels.find(sample_of("c", {"jpg"})) == "7");
  CHECK_FALSE(labels.find(sample_of("c", {"png"})));
  CHECK_FALSE(labels.find(sample_of("n01/z", {"jpg"})));
  CHECK(labels.find("n01/a") == "2");
  CHECK_FALSE(labels.find("n01"));
}

TEST_CASE("names and labels are told from each other") {
  LabelFile file;
  const auto label_of_a = [&](const std::string& text, const TableOptions& options = {},
                              const std::string& name = "l.csv") {
    const Labels labels = file.read(text, options, name);
    CHECK(labels.size() == 1);
    return std::string(labels.find("a.jpg").value_or("none"));
  };
  CHECK(label_of_a("a.jpg,x\n") == "x");
  CHECK(label_of_a("file_name,label\na.jpg,x\n") == "x");
  CHECK(label_of_a("label;file_name\nx;a.jpg\n") == "x");
  CHECK(label_of_a("id,breed\na.jpg,x\n") == "x");
  CHECK(label_of_a("w,image,class,h\n1,a.jpg,x,2\n") == "x");
  CHECK(label_of_a("a.jpg,image\n") == "image");
  CHECK(label_of_a("a.jpg,label\n") == "label");
  CHECK(label_of_a("k,v\na.jpg,x\n", {.header = Header::yes}) == "x");
  CHECK(label_of_a("id,b\na.jpg,b\n", {.path_columns = {"1"}, .label_column = "2"}) == "b");
  CHECK(label_of_a("x,a.jpg,7\n", {.path_columns = {"2"}, .label_column = "1"}) == "x");
  CHECK(label_of_a("q,r,s\nx,a.jpg,7\n", {.path_columns = {"r"}, .label_column = "q"}) == "x");
  CHECK(label_of_a("a.jpg\tx, y\n", {}, "l.tsv") == "x, y");
  CHECK(label_of_a("{\"class\":7,\"path\":\"a.jpg\"}\n", {}, "l.jsonl") == "7");
  write_file(file.dir() / "labels.txt", "a.jpg,x\n");
  CHECK(Labels::read("csv:" + (file.dir() / "labels.txt")).find("a.jpg") == "x");
}

TEST_CASE("labels that cannot be meant") {
  LabelFile file;
  CHECK(file.failure("a,1\nb,2\n./a,1\n\na,2\n", Code::duplicate) ==
        "l.csv: line 5: 'a' has the label '2' here and '1' in line 1");
  CHECK(file.failure("a,b,c\n", Code::usage) ==
        "l.csv: line 1: which column holds the names? There are '1', '2', '3'; call them file_name "
        "and label");
  CHECK(file.failure("path,b,c\n", Code::usage)
            .starts_with("l.csv: line 1: which column holds the labels?"));
  CHECK(file.failure("a\n", Code::usage).starts_with("l.csv: line 1: which column"));
  CHECK(file.failure("a,1\n,2\n", Code::corrupt) == "l.csv: line 2: the name is empty");
  CHECK(file.failure("a,1\nx/../b,2\n", Code::name).starts_with("l.csv: line 2: x/../b: a name"));
  CHECK(file.failure("", Code::empty) == "l.csv: holds no labels");
  CHECK(file.failure("path,label\n", Code::empty) == "l.csv: holds no labels");
  CHECK(file.failure("a 1\n", Code::usage, {}, "l.txt").starts_with("l.txt: labels come from a"));
  CHECK(file.failure("{\"path\":\"a\",\"label\":[1]}", Code::corrupt, {}, "l.jsonl") ==
        "l.jsonl: line 1: the label is an array or an object");
  CHECK(file.failure("{\"path\":\"a\",\"label\":1}\n{\"label\":1}", Code::usage, {}, "l.jsonl")
            .starts_with("l.jsonl: line 2: which column holds the names?"));
  CHECK_THROWS_AS(Labels::read("/nonexistent.csv"), Error);
}

TEST_CASE("rows without a label are left out, and may come again with one") {
  LabelFile file;
  const Labels labels = file.read("path,label\na,\nb,1\na,2\n");
  CHECK(labels.size() == 2);
  CHECK(labels.find("a") == "2");
  const Labels json = file.read(
      "{\"path\":\"a\",\"label\":null}\n{\"path\":\"b\"}\n"
      "{\"path\":\"b\",\"label\":0}\n",
      {}, "l.jsonl");
  CHECK(json.size() == 1);
  CHECK(json.find("b") == "0");
}

TEST_CASE("two parts with two labels are an error") {
  LabelFile file;
  const Labels labels = file.read("a.jpg,cat\na.png,dog\nb.jpg,cat\nb.png,cat\n");
  CHECK(labels.find(sample_of("b", {"jpg", "png"})) == "cat");
  CHECK_THROWS_WITH(labels.find(sample_of("x/a", {"jpg", "png"})),
                    "'a.jpg' has the label 'cat', and 'a.png' has 'dog'");
}

TEST_CASE("many labels") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += fmt::format("d/{}.jpg,{}\n", i, i % 1'000);
  LabelFile file;
  const Labels labels = file.read(text);
  CHECK(labels.size() == 100'000);
  CHECK(labels.labels().size() == 1'000);
  CHECK(labels.labels()[7] == "7");
  for (int i = 0; i < 100'000; i += 99) {
    CHECK(labels.find(sample_of(fmt::format("d/{}", i), {"jpg"})) == fmt::format("{}", i % 1'000));
  }
}

}  // namespace prep::class_names_test
