#include "formats/table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::table_test {

using prep::test::TempDir;
using prep::test::write_file;

namespace {

using Texts = std::vector<std::string>;
using Header = TableOptions::Header;

Fd file_of(const std::string& text) {
  Fd file(memfd_create("table", MFD_CLOEXEC));
  write_fully(file.get(), as_bytes(text), "table");
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// "key part@path part=literal", or "key !message".
Texts read_all(Source& source) {
  Texts texts;
  Sample sample;
  while (source.next(sample)) {
    std::string text = sample.key;
    if (sample.fault) {
      text += std::string(" !") + sample.fault->what();
    } else {
      for (const Part& part : sample.parts) {
        text += part.content->is_literal()
                    ? fmt::format(" {}={}", part.name, part.content->load().text())
                    : fmt::format(" {}@{}", part.name, part.content->origin());
      }
    }
    texts.push_back(text);
  }
  CHECK_FALSE(source.next(sample));
  return texts;
}

Texts read_table(const std::string& text, TableFormat format, const TableOptions& options = {},
                 Tally* left_out = nullptr) {
  TableSource source(file_of(text), "d/t.x", "d", format, options);
  Texts texts = read_all(source);
  CHECK(source.expected_bytes() == text.size());
  CHECK(source.consumed_bytes() == text.size());
  if (left_out) *left_out = source.left_out();
  return texts;
}

Texts csv(const std::string& text, const TableOptions& options = {}) {
  return read_table(text, TableFormat::csv, options);
}
Texts jsonl(const std::string& text, const TableOptions& options = {}) {
  return read_table(text, TableFormat::jsonl, options);
}

std::string failure_of(const std::string& text, TableFormat format,
                       const TableOptions& options = {}) {
  try {
    read_table(text, format, options);
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a row is a sample: a file, a label, a text and the rest as JSON") {
  CHECK(csv("file_name,label,caption,width,source\n"
            "n01/a.jpg,cat,\"A cat, \"\"asleep\"\"\",640,\"a\nb\"\n"
            "n01/b.seg.png,dog,,480,\n") ==
        Texts{R"(n01/a cls=cat jpg@d/n01/a.jpg json={"width":"640","source":"a\nb"})"
              R"( txt=A cat, "asleep")",
              R"(n01/b cls=dog json={"width":"480","source":""} seg.png@d/n01/b.seg.png txt=)"});
  CHECK(csv("file_name\na.jpg\n") == Texts{"a jpg@d/a.jpg"});
  CHECK(read_table("LABEL\tImage Path\n7\ta.jpg\n", TableFormat::tsv) ==
        Texts{"a cls=7 jpg@d/a.jpg"});
}

TEST_CASE("of several columns that may hold the paths, the best name wins") {
  CHECK(csv("id,image,path\n1,x,a.jpg\n") == Texts{R"(a jpg@d/a.jpg json={"id":"1","image":"x"})"});
  CHECK(csv("target,class,path\n1,2,a.jpg\n") ==
        Texts{R"(a cls=2 jpg@d/a.jpg json={"target":"1"})"});
  CHECK(csv("mask_file_name,image_file_name\nm.png,a.jpg\n") ==
        Texts{"m image_file_name.jpg@d/a.jpg png@d/m.png"});
}

TEST_CASE("columns asked for by name or number") {
  CHECK(csv("a,b,label\nx.jpg,y.jpg,z\n", {.path_columns = {"b"}}) ==
        Texts{R"(y cls=z jpg@d/y.jpg json={"a":"x.jpg"})"});
  CHECK(csv("a,b,c\nx.jpg,y.jpg,z\n", {.path_columns = {"2"}, .label_column = "c"}) ==
        Texts{R"(y cls=z jpg@d/y.jpg json={"a":"x.jpg"})"});
  // What is asked for is no longer what its name tells.
  CHECK(csv("image,label,text\nx.jpg,m.png,t\n",
            {.path_columns = {"image", "label"}, .label_column = "text"}) ==
        Texts{"x cls=t jpg@d/x.jpg label.png@d/m.png"});
  CHECK(csv("2,1\na.jpg,b.jpg\n", {.path_columns = {"1"}, .header = Header::yes}) ==
        Texts{R"(b jpg@d/b.jpg json={"2":"a.jpg"})"});
  CHECK(failure_of("a,b\n1,2\n", TableFormat::csv, {.path_columns = {"file"}}) ==
        "d/t.x: there is no column 'file'; there are 'a', 'b'");
  CHECK(failure_of("a,b\n1,2\n", TableFormat::csv, {.path_columns = {"3"}}) ==
        "d/t.x: there is no column '3'; there are 'a', 'b'");
  CHECK(failure_of("path,b\n1,2\n", TableFormat::csv, {.label_column = "0"}) ==
        "d/t.x: there is no column '0'; there are 'path', 'b'");
  CHECK(failure_of("a,b\n1,2\n", TableFormat::csv, {.path_columns = {"a"}, .label_column = "1"}) ==
        "d/t.x: line 1: the column 'a' is to be two things at once");
  CHECK(failure_of("a,b\n1,2\n", TableFormat::csv, {.path_columns = {"a", "1"}}) ==
        "d/t.x: line 1: the column 'a' is to be two things at once");
}

TEST_CASE("several columns of paths make one sample, called by the first") {
  const TableOptions options{.path_columns = {"image", "mask"}};
  Tally left_out;
  CHECK(read_table("mask,image\nm/1.png,i/1.jpg\nm/2.png,i/2.png\n,i/3.jpg\n", TableFormat::csv,
                   options, &left_out) == Texts{"i/1 jpg@d/i/1.jpg mask.png@d/m/1.png",
                                                "i/2 mask.png@d/m/2.png png@d/i/2.png",
                                                "i/3 jpg@d/i/3.jpg"});
  CHECK(left_out == Tally{{"empty path besides a sample's first", 1}});
  CHECK(csv("image,../up\na.jpg,b.jpg\n", {.path_columns = {"image", "../up"}}) ==
        Texts{"a 2.jpg@d/b.jpg jpg@d/a.jpg"});
}

TEST_CASE("parts that want one name") {
  CHECK(csv("path,text,width\na.txt,b,1\na.JSON,b,2\n") ==
        Texts{R"(a json={"width":"1"} text.txt=b txt@d/a.txt)",
              R"(a JSON@d/a.JSON table.json={"width":"2"} txt=b)"});
  CHECK(csv("path,label,m\na.cls,b,label.cls\n", {.path_columns = {"path"}}) ==
        Texts{R"(a cls@d/a.cls json={"m":"label.cls"} label.cls=b)"});
  const Texts texts = csv("a,b\nx.b.jpg,y.jpg\n", {.path_columns = {"a", "b"}});
  REQUIRE(texts.size() == 1);
  CHECK(texts[0] == "x.b.jpg !d/t.x: line 2: two files want to be the part 'b.jpg'");
}

TEST_CASE("a table without a header") {
  TempDir dir;
  write_file(dir / "i/a.jpg", "A");
  write_file(dir / "t.csv", "7,i/a.jpg,x\n8,i/b.jpg,\"y\"\n");
  const auto read = [&](const TableOptions& options) {
    TableSource source(dir / "t.csv", TableFormat::csv, options);
    return read_all(source);
  };
  const std::string image = dir / "i/";
  const Texts plain{R"(i/a jpg@)" + image + R"(a.jpg json={"1":"7","3":"x"})",
                    R"(i/b jpg@)" + image + R"(b.jpg json={"1":"8","3":"y"})"};
  CHECK(read({}) == plain);
  CHECK(read({.header = Header::no}) == plain);
  CHECK(read({.path_columns = {"2"}, .label_column = "1"}) ==
        Texts{R"(i/a cls=7 jpg@)" + image + R"(a.jpg json={"3":"x"})",
              R"(i/b cls=8 jpg@)" + image + R"(b.jpg json={"3":"y"})"});
  CHECK_THROWS_WITH(read({.header = Header::yes}),
                    Catch::Contains("There are '7', 'i/a.jpg', 'x'"));
  CHECK_THROWS_WITH(read({.path_columns = {"file"}}), Catch::Contains("there is no column 'file'"));

  write_file(dir / "t.csv", "i/b.jpg,image\ni/a.jpg,audio\n");  // labels that are known names
  CHECK_THROWS_WITH(read({.header = Header::no}), Catch::Contains("no value of the first row"));
  write_file(dir / "t.csv", "i/a.jpg,image\ni/b.jpg,audio\n");
  CHECK(read({}).at(0) == R"(i/a jpg@)" + image + R"(a.jpg json={"2":"image"})");
  write_file(dir / "label", "");  // a file that is called as a column
  write_file(dir / "t.csv", "path,label\ni/a.jpg,7\n");
  CHECK(read({}) == Texts{"i/a cls=7 jpg@" + image + "a.jpg"});
}

TEST_CASE("a table that says nothing of paths is wrong usage, and lists its columns") {
  CHECK(failure_of("name,x\na,b\n", TableFormat::csv) ==
        "d/t.x: which column holds the paths of files? There are 'name', 'x'; call it file_name, "
        "path or image, or say --path-columns (or is its first row no header, and the file that it "
        "names is missing?)");
  CHECK(
      failure_of("a,b\n", TableFormat::csv, {.header = Header::no})
          .ends_with("There are '1', '2'; call it file_name, path or image, or say --path-columns "
                     "(no value of the first row names a file)"));
  CHECK(failure_of("{\"a\":1}\n", TableFormat::jsonl) ==
        "d/t.x: which column holds the paths of files? There are 'a'; call it file_name, path or "
        "image, or say --path-columns");
  CHECK(failure_of("path,a,b,a\n", TableFormat::csv) ==
        "d/t.x: line 1: columns 2 and 4 have one name, 'a'; rename one of them");
  CHECK(failure_of(std::string(99, ','), TableFormat::csv, {.header = Header::yes})
            .find("'20' and 80 more;") != std::string::npos);
  CHECK(csv("").empty());
  CHECK(csv("path,label\n").empty());
  CHECK_THROWS_AS(TableSource("/", TableFormat::csv, {}), Error);
  CHECK_THROWS_WITH(TableSource("/nonexistent/t.csv", TableFormat::csv, {}),
                    Catch::StartsWith("/nonexistent/t.csv: "));
}

TEST_CASE("a column without a name is called by its number") {
  CHECK(csv(",path\n0,a.jpg\n") == Texts{R"(a jpg@d/a.jpg json={"1":"0"})"});
}

TEST_CASE("keys and files go by the paths as they are written") {
  CHECK(csv("path\n./x/a.jpg\n/abs/b.jpg\n../up/c.jpg\nnoext\n\"q\n\xFF.jpg\"\n") ==
        Texts{"x/a jpg@d/./x/a.jpg", "abs/b jpg@/abs/b.jpg", "up/c jpg@d/../up/c.jpg",
              "noext @d/noext", "q\n\xFF jpg@d/q\n\xFF.jpg"});
  TableSource here(file_of("path\na.jpg\n"), "standard input", "", TableFormat::csv, {});
  CHECK(read_all(here) == Texts{"a jpg@a.jpg"});
}

TEST_CASE("a row that can be no sample is a faulty one, in its place") {
  Tally left_out;
  CHECK(
      read_table("path,x\na.jpg,1\n,2\nd/../b.jpg,3\n\n._c.jpg,4\nd/,5\ne.jpg,\xE9\nf.jpg,6\n",
                 TableFormat::csv, {}, &left_out) ==
      Texts{R"(a jpg@d/a.jpg json={"x":"1"})",
            "line 3 !d/t.x: line 3: the path of the file is empty",
            "d/../b.jpg !d/t.x: line 4: d/../b.jpg: a name with '..' could leave the output; not "
            "taken",
            "d/ !d/t.x: line 7: d/: is a directory",
            "e.jpg !d/t.x: line 8: column 'x': '\\xe9' is not UTF-8, as JSON must be; convert the "
            "table with iconv",
            R"(f jpg@d/f.jpg json={"x":"6"})"});
  CHECK(left_out == Tally{{"empty line in a table", 1}, {"hidden file", 1}});
}

TEST_CASE("what is no table ends the run after the rows before it") {
  TableSource source(file_of("path,x\na.jpg,1\nb.jpg\n"), "t.csv", "", TableFormat::csv, {});
  Sample sample;
  CHECK(source.next(sample));
  CHECK_THROWS_WITH(source.next(sample), "t.csv: line 3: the row has 1 field, the first one has 2");
}

TEST_CASE("a label that is empty is none, a text that is empty is one") {
  CHECK(csv("path,label,text\na.jpg,,\n") == Texts{"a jpg@d/a.jpg txt="});
  CHECK(jsonl(R"({"path":"a.jpg","label":"","text":""})") == Texts{"a jpg@d/a.jpg txt="});
  CHECK(jsonl(R"({"path":"a.jpg","label":null,"text":null})") == Texts{"a jpg@d/a.jpg"});
}

TEST_CASE("JSONL keeps the types, and each row has its own columns") {
  CHECK(jsonl(R"({"file_name":"a.jpg","label":3,"caption":"x\ny","box":[1, 2.50],"ok":true})"
              "\n"
              R"({"n":1e400,"path":"b\u00e9.jpg"})"
              "\n"
              R"({"path":"c.jpg","label":["x","y"],"text":{"en":"z"},"k":null})"
              "\n") ==
        Texts{R"(a cls=3 jpg@d/a.jpg json={"box":[1, 2.50],"ok":true} txt=)"
              "x\ny",
              R"(bé jpg@d/bé.jpg json={"n":1e400})",
              R"(c jpg@d/c.jpg json={"label":["x","y"],"text":{"en":"z"},"k":null})"});
}

TEST_CASE("rows of JSONL that miss something") {
  CHECK(jsonl("{\"path\":\"a.jpg\"}\n{\"x\":1}\n{\"path\":7}\n{\"path\":null}\n{}\n"
              "{\"path\":\"../../x/../y\"}\n{\"path\":\"\\ud800\"}\n") ==
        Texts{"a jpg@d/a.jpg", "line 2 !d/t.x: line 2: no column of paths; there are 'x'",
              "line 3 !d/t.x: line 3: the path in 'path' is no string",
              "line 4 !d/t.x: line 4: the path of the file is empty",
              "line 5 !d/t.x: line 5: no column of paths; there are ",
              "../../x/../y !d/t.x: line 6: x/../y: a name with '..' could leave the output; not "
              "taken",
              "line 7 !d/t.x: line 7: \\ud800: half of a surrogate pair stands for no character"});
  const TableOptions options{.path_columns = {"a", "b"}, .label_column = "c"};
  CHECK(jsonl("{\"a\":\"x.jpg\"}\n{\"a\":\"y.jpg\",\"b\":\"z.png\",\"c\":1}\n{\"c\":1}\n",
              options) == Texts{"x jpg@d/x.jpg", "y b.png@d/z.png cls=1 jpg@d/y.jpg",
                                "line 3 !d/t.x: line 3: the path of the file is empty"});
  CHECK(failure_of("{\"a\":\"x.jpg\"}\n{\"a\":\"y.jpg\",\"b\":\"z.png\"}\n", TableFormat::jsonl,
                   options) == "d/t.x: there is no column 'c' in any row");
}

TEST_CASE("literals come from their line, and have the table's time") {
  TempDir dir;
  write_file(dir / "t.csv", "path,label\na.jpg,7\n");
  TableSource source(dir / "t.csv", TableFormat::csv, {});
  Sample sample;
  REQUIRE(source.next(sample));
  REQUIRE(sample.parts.size() == 2);
  const Content& label = *sample.parts[0].content;
  CHECK(sample.parts[0].name == "cls");
  CHECK(label.origin() == (dir / "t.csv") + ": line 2");
  CHECK(label.load().text() == "7");
  struct stat status {};
  REQUIRE(stat((dir / "t.csv").c_str(), &status) == 0);
  CHECK(label.mtime_ns() == mtime_ns(status));
}

TEST_CASE("tables are read one after another") {
  TempDir dir;
  write_file(dir / "a/1.csv", "path,x\n1.jpg,1\n\n._2.jpg,2\n");
  write_file(dir / "b/2.csv", "x;path\n3;3.jpg\n\n");
  const auto source = open_tables({dir / "a/1.csv", dir / "b/2.csv"}, TableFormat::csv, {});
  CHECK(source->expected_bytes() == 27 + 15);
  CHECK(read_all(*source) == Texts{"1 jpg@" + (dir / "a/1.jpg") + R"( json={"x":"1"})",
                                   "3 jpg@" + (dir / "b/3.jpg") + R"( json={"x":"3"})"});
  CHECK(source->consumed_bytes() == 27 + 15);
  CHECK(source->left_out() == Tally{{"empty line in a table", 2}, {"hidden file", 1}});
  const auto broken = open_tables({dir / "a/1.csv", dir / "none.csv"}, TableFormat::csv, {});
  Sample sample;
  CHECK(broken->next(sample));
  CHECK_THROWS_AS(broken->next(sample), Error);
  CHECK(broken->left_out() == Tally{{"empty line in a table", 1}, {"hidden file", 1}});
}

}  // namespace prep::table_test
