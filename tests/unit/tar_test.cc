#include "formats/tar.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/unit/temp_dir.h"

namespace prep::tar_test {

using test::read_file;
using test::TempDir;
using test::write_file;
namespace fs = std::filesystem;

namespace {

const std::string kEnd(1024, '\0');

std::string member(const std::string& name, const std::string& data, char type = '0',
                   const std::string& link = "") {
  std::string block;
  append_tar_header(name, data.size(), block);
  block[156] = type;
  block.replace(157, link.size(), link);
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  block += data;
  return block.append(tar_padding(data.size()), '\0');
}

// "key part=data part=data", or "key !message" for a faulty sample.
std::string describe(const Sample& sample) {
  std::string text = sample.key;
  if (sample.fault) return text + " !" + sample.fault->what();
  for (const Part& part : sample.parts) {
    text += fmt::format(" {}={}", part.name, part.content->load().text());
  }
  return text;
}

using Texts = std::vector<std::string>;

Texts read_all(Source& source) {
  Texts texts;
  Sample sample;
  while (source.next(sample)) texts.push_back(describe(sample));
  return texts;
}

// The same from a file, a pipe-like stream, and compressed: they must not differ.
Texts read_tar(const std::string& bytes, Tally* left_out = nullptr) {
  const TempDir directory;
  write_file(directory / "x.tar", bytes);
  const auto cwd = fs::current_path();
  fs::current_path(directory.path());
  TarSource from_file({std::string("x.tar")});
  const Texts texts = read_all(from_file);
  CHECK(from_file.consumed_bytes() == bytes.size());
  CHECK(from_file.expected_bytes() == bytes.size());
  TarSource from_stream(std::make_unique<MemoryReader>(Bytes::take(bytes)), "x.tar");
  CHECK(read_all(from_stream) == texts);
  CHECK(from_stream.left_out() == from_file.left_out());
  {
    const Fd out = open_file("x.gz", O_RDWR | O_CREAT);
    const auto writer = make_writer(out.get(), Compression::gzip, "x.gz");
    writer->write(as_bytes(bytes));
    writer->finish();
    fs::rename("x.gz", "x.tar");
  }
  TarSource from_gzip({std::string("x.tar")});
  CHECK(read_all(from_gzip) == texts);
  fs::current_path(cwd);
  if (left_out) *left_out = from_file.left_out();
  return texts;
}

Sample sample_of(const std::string& key,
                 const std::vector<std::pair<std::string, std::string>>& parts) {
  Sample sample;
  sample.key = key;
  for (const auto& [name, data] : parts) {
    sample.parts.push_back(
        {name, std::make_shared<MemoryContent>(Bytes::take(data), part_path(key, name))});
  }
  return sample;
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

class Unreadable final : public Content {
 public:
  explicit Unreadable(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override {
    if (offset + length > 1000) fail(Code::io, "raw/bad.bin: cannot read");
    return Bytes::take(std::string(length, 'x'));
  }
  std::string origin() const override { return "raw/bad.bin"; }

 private:
  std::uint64_t size_;
};

Texts left_in(const TempDir& directory) {
  Texts names;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("Members that follow each other and share a key are one sample") {
  const std::string tar = member("d.ir/a.jpg", "1") + member("d.ir/a.seg.png", "2") +
                          member("d.ir/b.jpg", "3") + member("d.ir/a.cls", "4") + kEnd;
  CHECK(read_tar(tar) == Texts{"d.ir/a jpg=1 seg.png=2", "d.ir/b jpg=3", "d.ir/a cls=4"});
  CHECK(read_tar(kEnd).empty());
}

TEST_CASE("Names are cleaned and otherwise kept") {
  Tally left_out;
  const std::string tar = member("./a.JPG", "1") + member("/abs//b.jpg", "2") +
                          member("noext", "3") + member("q\"\n%d\xFF.jpg", "4") + kEnd;
  CHECK(read_tar(tar, &left_out) ==
        Texts{"a JPG=1", "abs/b jpg=2", "noext =3", "q\"\n%d\xFF jpg=4"});
  CHECK(left_out == Tally{{"leading '/' of a name in a tar", 1}});
}

TEST_CASE("Directories and hidden files are left out and counted") {
  Tally left_out;
  const std::string tar = member("./", "", '5') + member("v7/", "") + member("a.jpg", "1") +
                          member("._a.jpg", "x") + member("d/.h", "x") +
                          member("d/.ipynb_checkpoints/b.jpg", "x") + member("a.cls", "2") + kEnd;
  CHECK(read_tar(tar, &left_out) == Texts{"a jpg=1 cls=2"});
  CHECK(left_out == Tally{{"directory in a tar", 2}, {"hidden file", 3}});
}

TEST_CASE("A member that is no file makes its sample faulty, not the run") {
  const std::string tar =
      member("a.jpg", "", '1', "z.jpg") + member("a.cls", "2") + member("b.cls", "3") +
      member("b.jpg", "", '2', "z.jpg") + member("c.jpg", "4") + member("d", "", '3') +
      member("e.x", "", '6') + member("f.x", "data", 'S') + member("g.x", "data", 'Z') +
      member("../h.jpg", "5") + member("i/../../j.jpg", "6") + member("k.jpg", "7") +
      member("k.jpg", "8") + member("l.jpg", "9", '7') + kEnd;
  CHECK(read_tar(tar) ==
        Texts{"a !x.tar: a.jpg: is a hard link to 'z.jpg' in the archive; pack it with tar "
              "--hard-dereference",
              "b !x.tar: b.jpg: is a symbolic link to 'z.jpg'; pack it with tar --dereference",
              "c jpg=4", "d !x.tar: d: is a device", "e !x.tar: e.x: is a named pipe",
              "f !x.tar: f.x: is stored without its holes; pack it without tar --sparse",
              "g !x.tar: g.x: is of the unknown type 'Z'",
              "../h !x.tar: ../h.jpg: a name with '..' could leave the output; not taken",
              "i/../../j !x.tar: i/../../j.jpg: a name with '..' could leave the output; not taken",
              "k !x.tar: k.jpg: the name comes twice; a sample can hold only one part of it",
              "l jpg=9"});
}

TEST_CASE("Several tars are read in order, and no sample spans two") {
  const TempDir directory;
  write_file(directory / "0.tar", member("a.jpg", "1") + kEnd);
  write_file(directory / "1.tar", member("a.cls", "2") + member("b.jpg", "3") + kEnd);
  TarSource source({directory / "0.tar", directory / "1.tar"});
  CHECK(source.expected_bytes() == 2048 + 3072);
  CHECK(read_all(source) == Texts{"a jpg=1", "a cls=2", "b jpg=3"});
  CHECK(source.consumed_bytes() == 2048 + 3072);
}

TEST_CASE("A missing tar is found out at once") {
  const TempDir directory;
  write_file(directory / "0.tar", kEnd);
  CHECK(error_of([&] {
          TarSource({directory / "0.tar", directory / "1.tar"});
        }).code() == Code::not_found);
  CHECK(error_of([&] { TarSource({directory.path()}); }).code() == Code::usage);
}

TEST_CASE("Concatenated archives are read on, and said") {
  Tally left_out;
  const std::string tar = member("a.jpg", "1") + kEnd + member("b.jpg", "2") + kEnd;
  CHECK(read_tar(tar, &left_out) == Texts{"a jpg=1", "b jpg=2"});
  CHECK(left_out == Tally{{"end mark inside a tar (concatenated archives)", 1}});
}

TEST_CASE("A tar that ends inside a member gives no part of it") {
  const TempDir directory;
  const std::string tar = member("a.jpg", "1") + member("b.jpg", std::string(5000, 'b')) + kEnd;
  write_file(directory / "x.tar", tar.substr(0, 4000));
  TarSource source({directory / "x.tar"});
  Sample sample;
  // Sample a is only complete once the next key is known, and that is in the broken member.
  CHECK(error_of([&] { source.next(sample); }).code() == Code::truncated);
}

TEST_CASE("Contents of a file are ranges of it, those of a stream take memory") {
  const TempDir directory;
  const std::string tar = member("a.jpg", "12345") + kEnd;
  write_file(directory / "x.tar", tar);
  TarSource file({directory / "x.tar"});
  Sample sample;
  REQUIRE(file.next(sample));
  CHECK(sample.parts[0].content->resident_bytes() == 0);
  CHECK(sample.parts[0].content->origin() == directory / "x.tar" + ": a.jpg");
  struct stat status {};
  REQUIRE(stat((directory / "x.tar").c_str(), &status) == 0);
  CHECK(sample.parts[0].content->mtime_ns() == mtime_ns(status));
  TarSource stream(std::make_unique<MemoryReader>(Bytes::take(tar)), "standard input");
  REQUIRE(stream.next(sample));
  CHECK(sample.parts[0].content->resident_bytes() == 5);
  CHECK(sample.parts[0].content->mtime_ns() == 0);
}

TEST_CASE("A large part of a stream lies in a file without a name") {
  const TempDir directory;
  setenv("TMPDIR", directory.path().c_str(), 1);
  const std::string large((64 << 20) + 12'345, 'L'), second(2 << 20, 's');
  std::string tar = member("a.small", "1") + member("a.large", large) + member("a.more", second) +
                    member("a.last", std::string(63 << 20, 'm')) + member("b.jpg", "2") + kEnd;
  TarSource source(std::make_unique<MemoryReader>(Bytes::take(std::move(tar))), "x");
  Sample a, b;
  REQUIRE(source.next(a));
  REQUIRE(a.parts.size() == 4);
  CHECK(a.parts[1].content->resident_bytes() == 0);
  CHECK(a.parts[1].content->load().text() == large);
  CHECK(a.parts[2].content->resident_bytes() == second.size());
  CHECK(a.parts[2].content->load().text() == second);
  CHECK(a.parts[3].content->resident_bytes() == 0);
  CHECK(a.parts[3].content->load().text() == std::string(63 << 20, 'm'));
  REQUIRE(source.next(b));
  CHECK(describe(b) == "b jpg=2");
  CHECK(left_in(directory).empty());
  CHECK_FALSE(source.next(b));
  unsetenv("TMPDIR");
}

TEST_CASE("A tar that is all one sample is refused") {
  std::string tar;
  for (int i = 0; i < 10'001; ++i) tar += member(fmt::format("a.{}", i), "");
  TarSource source(std::make_unique<MemoryReader>(Bytes::take(tar + kEnd)), "x");
  Sample sample;
  CHECK(error_of([&] { source.next(sample); }).code() == Code::limit);
}

// --- the sink ---------------------------------------------------------------------------------

TEST_CASE("What is written is read back, by every suffix the same") {
  const TempDir directory;
  const std::string large(3'000'000, 'L');
  for (const std::string name : {"x.tar", "x.tar.gz", "x.tgz", "x.tar.zst", "sub/dir/x.tar"}) {
    TarSink sink(directory / name);
    sink.put(sample_of("n/a", {{"jpg", "1"}, {"cls", "2"}}));
    sink.put(sample_of(std::string(200, 'n'), {{"bin", large}}));
    CHECK_FALSE(fs::exists(directory / name));
    sink.commit();
    REQUIRE(sink.warnings().size() == 1);
    CHECK(sink.warnings().begin()->second == 1);
    TarSource source({directory / name});
    CHECK(read_all(source) == Texts{"n/a jpg=1 cls=2", std::string(200, 'n') + " bin=" + large});
  }
  CHECK(fs::file_size(directory / "x.tar.gz") < fs::file_size(directory / "x.tar") / 10);
  CHECK(read_file(directory / "x.tar").ends_with(kEnd));
  CHECK(left_in(directory).size() == 5);
}

TEST_CASE("Without commit there is no file") {
  const TempDir directory;
  write_file(directory / "x.tar", "before");
  {
    TarSink sink(directory / "x.tar");
    sink.put(sample_of("a", {{"jpg", "1"}}));
    sink.abandon();
  }
  { TarSink(directory / "x.tar").put(sample_of("a", {{"jpg", "1"}})); }
  CHECK(left_in(directory) == Texts{"x.tar"});
  CHECK(read_file(directory / "x.tar") == "before");
}

TEST_CASE("A second writer is refused, and a dead one's rest is taken over") {
  const TempDir directory;
  write_file(directory / ".x.tar.prep-tmp", std::string(5000, 'r'));
  TarSink sink(directory / "x.tar");
  sink.put(sample_of("a", {{"jpg", "1"}}));
  CHECK(error_of([&] { TarSink(directory / "x.tar"); }).code() == Code::io);
  sink.commit();
  CHECK(fs::file_size(directory / "x.tar") == 2048);
  CHECK(left_in(directory) == Texts{"x.tar"});
}

TEST_CASE("An output that cannot be a tar is refused before the work") {
  const TempDir directory;
  CHECK(error_of([&] { TarSink(directory.path()); }).code() == Code::usage);
  CHECK(error_of([&] { TarSink("/dev/null"); }).code() == Code::usage);
}

TEST_CASE("A stream that is not committed has no end") {
  const Fd file(memfd_create("out", MFD_CLOEXEC));
  const auto written = [&] {
    std::string text(10'000, '\0');
    text.resize(pread_fully(file.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(),
                            0, "out"));
    return text;
  };
  const auto sink = [&] { return std::make_unique<TarSink>(Fd(dup(file.get())), "out"); };
  {
    const auto abandoned = sink();
    abandoned->put(sample_of("a", {{"jpg", std::string(1000, 'x')}}));
    abandoned->abandon();
  }
  sink()->put(sample_of("a", {{"jpg", "1"}}));
  CHECK(written().find(kEnd) == std::string::npos);
  REQUIRE(ftruncate(file.get(), 0) == 0);
  REQUIRE(lseek(file.get(), 0, SEEK_SET) == 0);
  const auto committed = sink();
  committed->put(sample_of("a", {{"jpg", "1"}}));
  committed->commit();
  CHECK(written() == member("a.jpg", "1") + kEnd);
}

TEST_CASE("Names that would not come back are refused") {
  const TempDir directory;
  const TarSink sink(directory / "x.tar");
  const auto code = [&](const Sample& sample) {
    return error_of([&] { sink.check(sample); }).code();
  };
  CHECK_NOTHROW(sink.check(sample_of("d.ir/a", {{"jpg", ""}, {"seg.png", ""}})));
  CHECK(code(sample_of("noext", {{"", ""}})) == Code::name);
  CHECK(code(sample_of("d/.hidden", {{"jpg", ""}})) == Code::name);
  CHECK(code(sample_of("d/", {{"jpg", ""}})) == Code::name);
  CHECK(code(sample_of("a.b", {{"jpg", ""}})) == Code::name);
  CHECK(code(sample_of("a", {{"j/pg", ""}})) == Code::name);
  CHECK(code(sample_of("a", {{"jpg", ""}, {"cls", ""}, {"jpg", ""}})) == Code::duplicate);
  CHECK(code(sample_of("a", {{"jpg", ""}, {"JPG", ""}})) == Code::duplicate);
  CHECK(code(sample_of(std::string(kMaxTarName, 'x'), {{"jpg", ""}})) == Code::name);
}

TEST_CASE("A part that cannot be read costs its sample, not the archive") {
  const TempDir directory;
  TarSink sink(directory / "x.tar");
  sink.put(sample_of("a", {{"jpg", "1"}}));
  Sample bad = sample_of("b", {{"jpg", "2"}});
  bad.parts.push_back({"bin", std::make_shared<Unreadable>(5000)});
  CHECK_THROWS_AS(sink.put(bad), BadSample);
  bad.parts.back().content = std::make_shared<FileContent>(directory / "missing.bin");
  CHECK_THROWS_AS(sink.put(bad), BadSample);
  sink.put(sample_of("c", {{"jpg", "3"}}));
  sink.commit();
  TarSource source({directory / "x.tar"});
  CHECK(read_all(source) == Texts{"a jpg=1", "c jpg=3"});
}

TEST_CASE("A large part that cannot be read to its end costs the archive") {
  const TempDir directory;
  {
    TarSink sink(directory / "x.tar");
    Sample bad = sample_of("b", {});
    bad.parts.push_back({"bin", std::make_shared<Unreadable>(5'000'000)});
    try {
      sink.put(bad);
      FAIL("no error");
    } catch (const BadSample&) {
      FAIL("a broken archive would go on");
    } catch (const Error& error) {
      CHECK(error.code() == Code::io);
    }
  }
  CHECK(left_in(directory).empty());
}

TEST_CASE("A pipe takes a tar from one end to the other") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  Fd in(ends[0]), out(ends[1]);
  const std::string large(5'000'000, 'p');
  std::thread writer([&] {
    TarSink sink(std::move(out), "standard output");
    sink.put(sample_of("a", {{"jpg", "1"}, {"bin", large}}));
    sink.put(sample_of("b", {{"jpg", "2"}}));
    sink.commit();
    sink.abandon();  // closes the pipe
  });
  TarSource source(std::move(in), "standard input");
  const Texts texts = read_all(source);
  writer.join();
  CHECK(texts == Texts{"a jpg=1 bin=" + large, "b jpg=2"});
}

}  // namespace prep::tar_test
