#include "formats/verify_tar.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "formats/tar_header.h"
#include "formats/verify_shard.h"
#include "lib/core/digest.h"
#include "lib/core/unnamed_file.h"

namespace prep::verify_tar_test {

using Catch::Matchers::Contains;

namespace {

struct Member {
  std::string name, data;
};

std::string member(const Member& m) {
  std::string out;
  append_tar_header(m.name, m.data.size(), out);
  out += m.data;
  return out + std::string(tar_padding(m.data.size()), '\0');
}

const std::string kEnd(1024, '\0');

std::string tar(const std::vector<Member>& members) {
  std::string out;
  for (const Member& m : members) out += member(m);
  return out + kEnd;
}

// Three samples of three parts.
const std::vector<Member> kMembers{
    {"d/a.jpg", std::string(700, 'A')}, {"d/a.cls", "1"}, {"d/a.json", "{}"},
    {"d/b.jpg", std::string(512, 'B')}, {"d/b.cls", "2"}, {"d/b.json", "[]"},
    {"d/c.jpg", std::string(30, 'C')},  {"d/c.cls", "1"}, {"d/c.json", "{}"},
};

// The findings of a walk, a line each, without the file's name.
std::string lines(const std::string& bytes) {
  Findings findings("x");
  SampleLedger ledger(findings, {});
  VerifyInput input(std::make_unique<MemoryReader>(Bytes::copy(as_bytes(bytes))));
  verify_tar(input, {}, ledger, findings);
  ledger.finish();
  std::string text;
  for (const Finding& finding : findings.finish()) text += finding.text().substr(3) + "\n";
  return text;
}

// A file that can be changed byte by byte and checked again.
class ShardOnDisk {
 public:
  explicit ShardOnDisk(std::string bytes) : bytes_(std::move(bytes)), file_(open_unnamed_file()) {
    write(bytes_);
    record_ = {"x", "", 3, bytes_.size(), hex_digest(Digest::Kind::sha256, as_bytes(bytes_)), ""};
  }

  void write(const std::string& bytes) {
    REQUIRE(ftruncate(file_.get(), 0) == 0);
    REQUIRE(pwrite(file_.get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void set_byte(std::size_t at, char value) {
    REQUIRE(pwrite(file_.get(), &value, 1, static_cast<off_t>(at)) == 1);
  }
  void cut(std::size_t size) { REQUIRE(ftruncate(file_.get(), static_cast<off_t>(size)) == 0); }

  ShardReport check(bool with_manifest, bool for_repair = false) const {
    ShardCheck check;
    check.path = fmt::format("/proc/self/fd/{}", file_.get());
    check.container = ShardContainer::tar;
    if (with_manifest) check.expected = &record_;
    VerifyOptions options;
    options.for_repair = for_repair;
    return verify_shard(check, options);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  Fd file_;
  ShardRecord record_;
};

// The samples that can be saved: "d/a(jpg=700xA …)" with their content as it is in the file.
std::vector<std::string> sound_samples(const ShardReport& report) {
  std::vector<std::string> out;
  for (const VerifiedSample& sample : report.kept) {
    if (!sample.damage.empty()) continue;
    std::string text = sample.placed.key;
    for (const PlacedSample::Part& part : sample.placed.parts) {
      std::string data(part.size, '\0');
      pread_fully(report.archive->get(), reinterpret_cast<std::uint8_t*>(data.data()), part.size,
                  part.offset, "x");
      text += fmt::format(" {}={}", part.name, data);
    }
    out.push_back(text);
  }
  return out;
}

std::string sample_text(std::size_t first) {
  std::string text = kMembers[first].name.substr(0, 3);
  for (std::size_t i = first; i < first + 3; ++i) {
    text += fmt::format(" {}={}", kMembers[i].name.substr(4), kMembers[i].data);
  }
  return text;
}
const std::vector<std::string> kSamples{sample_text(0), sample_text(3), sample_text(6)};

// Where each member begins, and the end of the last.
std::vector<std::size_t> offsets() {
  std::vector<std::size_t> out{0};
  for (const Member& m : kMembers) out.push_back(out.back() + member(m).size());
  return out;
}

}  // namespace

// --- what is wrong, and where -----------------------------------------------------------------

TEST_CASE("nothing is wrong with a sound tar") {
  CHECK(lines(tar(kMembers)).empty());
  CHECK(lines(tar(kMembers) + std::string(10240, '\0')).empty());
}

TEST_CASE("ends that are missing") {
  const std::string whole = tar(kMembers);
  const std::string members = whole.substr(0, whole.size() - 1024);
  CHECK(lines(members) ==
        fmt::format("offset {}: cut short: its end mark is missing, so members may be, too\n",
                    members.size()));
  CHECK(lines(members + std::string(512, '\0')) ==
        fmt::format("offset {}: cut short: it ends inside its end mark\n", members.size()));
  CHECK(lines(whole + std::string(3, '\0')) ==
        fmt::format("offset {}: warning: 3 zeros behind the end mark are no whole block: it was "
                    "cut, or written by an odd program\n",
                    whole.size()));
  CHECK(lines(member(kMembers[0]).substr(0, 600)) ==
        "offset 600: cut short: it ends inside d/a.jpg (700 bytes long, from 0 on)\n");
  CHECK(lines("") == "empty; even a tar without members has an end mark\n");
}

TEST_CASE("what follows the end") {
  const std::string one = tar({{"a.jpg", "1"}}), two = tar({{"b.jpg", "2"}});
  CHECK(lines(one + two) ==
        "offset 1024: its end mark, or 1024 bytes that were overwritten with zeros; members follow "
        "(joined tars?), and loaders stop here\n");
  CHECK(lines(one + "rubbish") ==
        "offset 2048: something that is no tar follows its end mark; 7 bytes cannot be read, up to "
        "the end\n");
}

TEST_CASE("headers and padding that are damaged") {
  std::string bytes = tar(kMembers);
  bytes[0] = 'X';
  CHECK_THAT(lines(bytes),
             Contains("offset 0: a header with a wrong checksum (its name may be "
                      "'X/a.jpg'); 1536 bytes cannot be read, up to the next header"));
  bytes = tar(kMembers);
  bytes[512 + 700] = 'x';
  CHECK(lines(bytes) ==
        "offset 1212: sample d/a: part jpg: the padding behind its data is not zero\n");
}

TEST_CASE("files that are no tars are called by their names") {
  const auto pad = [](std::string text) { return text + std::string(600, ' '); };
  CHECK_THAT(lines(pad("<!DOCTYPE html><html>")), Contains("not a tar: a web page (HTML)"));
  CHECK_THAT(lines("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
             Contains("not a tar: a Git LFS pointer"));
  CHECK_THAT(lines(pad("PK\3\4")), Contains("not a tar: a zip archive"));
  CHECK_THAT(lines(pad("<?xml version=\"1.0\"?><Error>")), Contains("not a tar: XML"));
  CHECK(lines(std::string(2000, 'x')) == "not a tar: there is no tar header in it\n");
}

TEST_CASE("names that loaders misread") {
  const auto one = [](const std::string& name) { return lines(tar({{name, "x"}})); };
  CHECK(one("a.jpg").empty());
  CHECK_THAT(one("noext"), Contains("its name has no extension"));
  CHECK_THAT(one("d/.hidden.jpg"), Contains("its name starts with a dot"));
  CHECK_THAT(one("d/._a.jpg"), Contains("macOS"));
  CHECK_THAT(one("/etc/a.jpg"), Contains("an absolute name"));
  CHECK_THAT(one("a/../b.jpg"), Contains("a name with '..'"));
  CHECK_THAT(one("./a.jpg"), Contains("warning: names begin with './'"));
  CHECK_THAT(one("caf\xE9.jpg"), Contains("warning: names are not UTF-8"));
  CHECK_THAT(one("__MACOSX/a.jpg"), Contains("warning: names begin with '__'"));
  CHECK_THAT(one(std::string(120, 'n') + ".jpg"), Contains("in PAX headers"));
}

TEST_CASE("members that are no files") {
  const auto typed = [](char type) {
    std::string bytes = tar({{"a.jpg", ""}});
    bytes[156] = type;
    // The checksum: two digits may change.
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i) {
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(bytes[i]);
    }
    return bytes.replace(148, 6, fmt::format("{:06o}", sum));
  };
  CHECK_THAT(lines(typed('1')), Contains("sample a: part jpg: a hard link"));
  CHECK_THAT(lines(typed('2')), Contains("sample a: part jpg: a symbolic link"));
  CHECK_THAT(lines(typed('6')), Contains("a named pipe"));
  CHECK_THAT(lines(typed('5')), Contains("warning: members are directories"));
}

TEST_CASE("samples that do not hold together") {
  const std::size_t j = member({"a.jpg", "1"}).size();
  CHECK(lines(tar({{"a.jpg", "1"}, {"a.jpg", "1"}})) ==
        fmt::format("offset {}: sample a: part jpg: the part comes twice (the other one is at "
                    "offset 512); loaders stop here or take either\n",
                    j + 512));
  CHECK_THAT(lines(tar({{"a.jpg", "1"}, {"a.JPG", "1"}})),
             Contains("differs from another part only by upper and lower case"));
  CHECK_THAT(lines(tar({{"a.jpg", "1"}, {"b.jpg", "1"}, {"a.jpg", "1"}})),
             Contains(fmt::format("offset {}: sample a: its key was at offset 0 already", 2 * j)));
  CHECK(
      lines(tar({{"a.jpg", "1"}, {"a.cls", "1"}, {"b.jpg", "1"}, {"c.jpg", ""}, {"c.cls", ""}})) ==
      fmt::format("offset {}: sample b: lacks cls, which most samples have\n", 2 * j));
}

TEST_CASE("headers are found again at any offset") {
  std::string bytes = tar(kMembers);
  // Ten bytes are gone from the data of the first member.
  bytes.erase(600, 10);
  CHECK_THAT(lines(bytes), Contains("a header with a wrong checksum"));
  CHECK_THAT(lines(bytes), !Contains("sample d/c"));
}

// --- every damage -----------------------------------------------------------------------------

TEST_CASE("every flipped bit of a header is found without a manifest", "[exhaustive]") {
  ShardOnDisk shard(tar(kMembers));
  std::size_t missed = 0;
  for (const std::size_t begin : offsets()) {
    for (std::size_t at = begin; at < begin + 512; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        shard.set_byte(at, static_cast<char>(shard.bytes()[at] ^ (1 << bit)));
        missed += shard.check(false).findings.empty();
      }
      shard.set_byte(at, shard.bytes()[at]);
    }
  }
  CHECK(missed == 0);
}

TEST_CASE("every flipped bit is found with a manifest", "[exhaustive]") {
  ShardOnDisk shard(tar(kMembers));
  std::size_t missed = 0;
  for (std::size_t at = 0; at < shard.bytes().size(); ++at) {
    shard.set_byte(at, static_cast<char>(shard.bytes()[at] ^ (1 << (at % 8))));
    missed += shard.check(true).errors == 0;
    shard.set_byte(at, shard.bytes()[at]);
  }
  CHECK(missed == 0);
  CHECK(shard.check(true).findings.empty());
}

TEST_CASE("every cut is found, and all before it can be saved", "[exhaustive]") {
  ShardOnDisk shard(tar(kMembers));
  const auto ends = offsets();
  std::size_t missed = 0, wrong = 0;
  for (std::size_t size = shard.bytes().size(); size-- > 0;) {
    shard.cut(size);
    missed += shard.check(false).errors == 0;
    const ShardReport report = shard.check(true, /*for_repair=*/true);
    std::vector<std::string> expected;
    // The padding behind the last part may be missing.
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t end = ends[3 * i + 3] - tar_padding(kMembers[3 * i + 2].data.size());
      if (size >= end) expected.push_back(kSamples[i]);
    }
    // What one complete sample looks like can't be told from that one alone.
    if (expected.size() < 2) continue;
    wrong += sound_samples(report) != expected;
  }
  CHECK(missed == 0);
  CHECK(wrong == 0);
}

TEST_CASE("a damaged header costs its sample, and no other") {
  ShardOnDisk shard(tar(kMembers));
  const auto begins = offsets();
  std::size_t wrong = 0;
  for (std::size_t m = 0; m < kMembers.size(); ++m) {
    std::vector<std::string> expected = kSamples;
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(m / 3));
    for (std::size_t at = begins[m]; at < begins[m] + 512; ++at) {
      // A bit of the field's own closing changes nothing.
      if (at - begins[m] >= 148 && at - begins[m] < 156) continue;
      shard.set_byte(at, static_cast<char>(shard.bytes()[at] ^ (1 << (at % 8))));
      wrong += sound_samples(shard.check(false, true)) != expected;
      shard.set_byte(at, shard.bytes()[at]);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("members that were zeroed, swapped or doubled") {
  const auto begins = offsets();
  ShardOnDisk shard(tar(kMembers));
  for (std::size_t m = 0; m < kMembers.size(); ++m) {
    const std::size_t size = begins[m + 1] - begins[m];
    std::string zeroed = shard.bytes();
    zeroed.replace(begins[m], size, size, '\0');
    shard.write(zeroed);
    CHECK(shard.check(false).errors > 0);
    std::vector<std::string> expected = kSamples;
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(m / 3));
    CHECK(sound_samples(shard.check(false, true)) == expected);

    std::string doubled = shard.bytes();
    doubled.insert(begins[m], shard.bytes().substr(begins[m], size));
    shard.write(doubled);
    CHECK(shard.check(false).errors > 0);
  }
  std::vector<Member> swapped = kMembers;
  std::swap(swapped[0], swapped[3]);
  shard.write(tar(swapped));
  CHECK(shard.check(false).errors > 0);
  std::swap(swapped[0], swapped[3]);
  std::swap(swapped[0], swapped[1]);  // within a sample: only the manifest can tell
  shard.write(tar(swapped));
  CHECK(shard.check(false).errors == 0);
  CHECK(shard.check(true).errors == 1);
}

TEST_CASE("bytes that are gone cost the sample that they were in") {
  const auto begins = offsets();
  ShardOnDisk shard(tar(kMembers));
  std::string bytes = shard.bytes();
  SECTION("an odd number") { bytes.erase(begins[3] + 600, 10); }
  SECTION("whole blocks") { bytes.erase(begins[3] + 512, 512); }
  shard.write(bytes);
  CHECK(shard.check(false).errors > 0);
  CHECK(sound_samples(shard.check(false, true)) ==
        std::vector<std::string>{kSamples[0], kSamples[2]});
}

}  // namespace prep::verify_tar_test
