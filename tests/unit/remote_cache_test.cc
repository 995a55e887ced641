#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "lib/core/error.h"
#include "lib/remote/cache.h"

namespace prep::remote_cache_test {
namespace {

namespace fs = std::filesystem;

struct TemporaryCache {
  TemporaryCache() {
    std::string name = (std::filesystem::temp_directory_path() / "cache_test.XXXXXX").string();
    root = mkdtemp(name.data());
    options.directory = root + "/cache";
    options.min_free = 0;
    options.patience_s = 0;
  }
  ~TemporaryCache() { fs::remove_all(root); }
  std::string in(const std::string& name) const { return options.directory + "/" + name; }
  std::size_t files(const std::string& name) const {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(in(name), error)) {
      count += !entry.is_directory() || entry.is_symlink();
    }
    return count;
  }
  std::string root;
  CacheOptions options;
};

CacheKey key_of(const std::string& name, std::uint64_t size = 10, const std::string& etag = "e") {
  return {"https://server", "bucket", name, etag, size};
}

void fill(PartialObject& partial, char byte) {
  for (std::uint64_t part = 0; part < partial.parts(); ++part) {
    partial.write(part, 0, as_bytes(std::string(partial.part_bytes(part), byte)));
  }
}

// Whether it was fetched, rather than found.
bool put(Cache& cache, const CacheKey& key, char byte = 'x') {
  Cache::Outcome outcome = cache.acquire(key);
  if (!outcome.download) return false;
  fill(outcome.download->partial(), byte);
  outcome.download->finish("0123", true);
  return true;
}

std::string text_of(const Cache::Hold& hold) {
  std::string text(hold.size(), '\0');
  REQUIRE(pread(hold.fd(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

std::unique_ptr<Cache::Hold> find(const Cache& cache, const std::string& name) {
  return cache.find("https://server", "bucket", name);
}

Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

TEST_CASE("what was stored is found, by name and by version") {
  const TemporaryCache temporary;
  Cache cache(temporary.options);
  CHECK_FALSE(find(cache, "a"));
  CHECK(put(cache, key_of("a"), 'a'));
  CHECK_FALSE(put(cache, key_of("a")));
  CHECK(text_of(*find(cache, "a")) == "aaaaaaaaaa");
  CHECK(text_of(*cache.find(key_of("a"))) == "aaaaaaaaaa");
  CHECK_FALSE(find(cache, "b"));
  CHECK_FALSE(cache.find(key_of("a", 10, "e2")));
  CHECK_FALSE(cache.find("https://other", "bucket", "a"));
  CHECK(temporary.files("partial") == 0);
  CHECK(Cache(temporary.options).status().bytes == 10);
}

TEST_CASE("fields of a key do not run into each other") {
  CHECK(CacheKey{"e", "ab", "c", "", 1}.name_hash() != CacheKey{"e", "a", "bc", "", 1}.name_hash());
  CHECK(CacheKey{"e", "b", std::string("k\0x", 3), "", 1}.name_hash() !=
        CacheKey{"e", "b", "k", "x", 1}.name_hash());
}

TEST_CASE("entries are described, whatever bytes their names have") {
  const TemporaryCache temporary;
  Cache cache(temporary.options);
  const std::string odd = "a/../\xff\n\"" + std::string(900, 'k');
  put(cache, key_of(odd));
  put(cache, key_of(""));
  const auto entries = cache.entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].key.key.empty());
  CHECK(entries[1].key.key == odd);
  CHECK(entries[1].key.etag == "e");
  CHECK(entries[1].key.size == 10);
  CHECK(entries[1].sha256 == "0123");
  CHECK(entries[1].verified);
  CHECK(entries[1].used_ns > 0);
  SECTION("a description that is lost or damaged") {
    std::ofstream(entries[1].path + ".json") << "{\"key\": 3}";
    unlink((entries[0].path + ".json").c_str());
    for (const CacheEntry& entry : cache.entries()) {
      CHECK(entry.sha256.empty());
      CHECK(entry.key.key.empty());
      CHECK(cache.remove(entry));
    }
    CHECK(temporary.files("objects") == 0);
  }
}

TEST_CASE("a new version takes the old one's place") {
  const TemporaryCache temporary;
  Cache cache(temporary.options);
  put(cache, key_of("a", 10, "1"), '1');
  const std::string path = find(cache, "a")->path();
  cache.pin(path, true);
  put(cache, key_of("a", 12, "2"), '2');
  CHECK(text_of(*find(cache, "a")) == "222222222222");
  CHECK_FALSE(cache.find(key_of("a", 10, "1")));
  CHECK(cache.status().bytes == 12);
  CHECK(cache.status().pinned_bytes == 12);
  CHECK(temporary.files("objects") == 2);
  SECTION("and the other way around, while it is in use") {
    const auto newer = find(cache, "a");
    put(cache, key_of("a", 10, "1"), '1');
    CHECK(text_of(*find(cache, "a")) == "1111111111");
    CHECK(cache.status().entries == 2);
    CHECK_FALSE(put(cache, key_of("a", 12, "2")));  // the server has that one again
    CHECK(text_of(*find(cache, "a")) == "222222222222");
  }
}

TEST_CASE("the limit is kept, and what was used last stays") {
  TemporaryCache temporary;
  temporary.options.max_bytes = 30;
  Cache cache(temporary.options);
  for (const char* name : {"a", "b", "c"}) put(cache, key_of(name));
  CHECK(find(cache, "a"));
  put(cache, key_of("d"));
  CHECK(cache.status().bytes == 30);
  CHECK(find(cache, "a"));
  CHECK_FALSE(find(cache, "b"));
  CHECK(temporary.files("objects") == 6);
  CHECK(temporary.files("current") == 3);
}

TEST_CASE("pinned and used entries stay") {
  TemporaryCache temporary;
  temporary.options.max_bytes = 30;
  Cache cache(temporary.options);
  for (const char* name : {"a", "b", "c"}) put(cache, key_of(name));
  cache.pin(find(cache, "a")->path(), true);
  auto b = find(cache, "b");
  put(cache, key_of("d"));
  CHECK(find(cache, "a"));
  CHECK_FALSE(find(cache, "c"));
  CHECK(code_of([&] { put(cache, key_of("e", 20)); }) == Code::limit);
  CHECK(temporary.files("partial") == 0);
  b.reset();
  CHECK(put(cache, key_of("e", 20)));
  CHECK(cache.status().pinned_bytes == 10);
  cache.pin(find(cache, "a")->path(), false);
  CHECK(put(cache, key_of("f", 30)));
  CHECK(cache.status().entries == 1);
  CHECK(temporary.files("current") == 1);
}

TEST_CASE("an object larger than the cache is refused before anything goes") {
  TemporaryCache temporary;
  temporary.options.max_bytes = 30;
  Cache cache(temporary.options);
  put(cache, key_of("a"));
  CHECK(code_of([&] { put(cache, key_of("b", 31)); }) == Code::limit);
  CHECK(find(cache, "a"));
}

TEST_CASE("room is left on the disk") {
  TemporaryCache temporary;
  temporary.options.min_free = 0.9999999;
  Cache cache(temporary.options);
  CHECK(code_of([&] { put(cache, key_of("a")); }) == Code::limit);
  CHECK(temporary.files("partial") == 0);
}

TEST_CASE("room that is reserved counts, and that of dead processes is taken back") {
  TemporaryCache temporary;
  temporary.options.max_bytes = 30;
  Cache cache(temporary.options);
  {
    Cache::Outcome begun = cache.acquire(key_of("a", 20));
    REQUIRE(begun.download);
    CHECK(cache.status().partial_bytes == 20);
    CHECK(code_of([&] { put(cache, key_of("b", 20)); }) == Code::limit);
    CHECK(put(cache, key_of("c", 10)));
    CHECK(cache.remove_partials() == 0);
  }
  CHECK(cache.status().partial_bytes == 20);  // to go on from
  CHECK(put(cache, key_of("b", 20)));
  CHECK(cache.status().partial_bytes == 0);
  CHECK(cache.status().bytes == 30);
}

TEST_CASE("one downloads, others read along; whoever comes later goes on") {
  const TemporaryCache temporary;
  Cache one(temporary.options), other(temporary.options);
  {
    Cache::Outcome first = one.acquire(key_of("a"));
    REQUIRE(first.download);
    first.download->partial().write(0, 0, as_bytes("0123"));
    const Cache::Outcome second = other.acquire(key_of("a"));
    CHECK_FALSE(second.hold);
    CHECK_FALSE(second.download);
    REQUIRE(second.growing);
    CHECK(second.growing->available() == 4);
  }
  Cache::Outcome third = other.acquire(key_of("a"));
  REQUIRE(third.download);
  CHECK(third.download->partial().received(0) == 4);
  third.download->partial().write(0, 4, as_bytes("456789"));
  CHECK(text_of(*third.download->finish("", false)) == "0123456789");
  CHECK(text_of(*find(one, "a")) == "0123456789");
}

TEST_CASE("a download that is of no use leaves nothing") {
  const TemporaryCache temporary;
  Cache cache(temporary.options);
  {
    Cache::Outcome outcome = cache.acquire(key_of("a"));
    outcome.download->discard();
  }
  CHECK(temporary.files("partial") == 0);
  CHECK(cache.status().partial_bytes == 0);
}

TEST_CASE("an object that the disk cut off is fetched again") {
  const TemporaryCache temporary;
  Cache cache(temporary.options);
  put(cache, key_of("a"), 'a');
  REQUIRE(truncate(find(cache, "a")->path().c_str(), 3) == 0);
  CHECK_FALSE(find(cache, "a"));
  CHECK(put(cache, key_of("a"), 'b'));
  CHECK(text_of(*find(cache, "a")) == "bbbbbbbbbb");
  CHECK(cache.evict(1) == 10);
  CHECK(cache.status().bytes == 0);
}

TEST_CASE("a set larger than the cache is found in part, epoch after epoch") {
  TemporaryCache temporary;
  temporary.options.max_bytes = 200;
  Cache cache(temporary.options);
  int found = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int i = 0; i < 40; ++i) {
      const bool is_new = put(cache, key_of(std::to_string(i)));
      if (epoch > 0) found += !is_new;
    }
  }
  CHECK(found > 3 * 13);  // of 3 * 20; the least recently used would be found never
}

TEST_CASE("the directory is the user's own") {
  const TemporaryCache temporary;
  const std::string path = temporary.options.directory;
  const auto open_cache = [&] { Cache cache(temporary.options); };
  struct stat st {};
  SECTION("made for him alone") {
    open_cache();
    REQUIRE(stat(path.c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0700);
    open_cache();
  }
  SECTION("an empty one is taken") {
    fs::create_directory(path);
    open_cache();
    REQUIRE(stat(path.c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0700);
  }
  SECTION("others may write") {
    open_cache();
    chmod(path.c_str(), 0777);
    CHECK(code_of(open_cache) == Code::usage);
  }
  SECTION("it holds other things") {
    fs::create_directory(path);
    std::ofstream(path + "/thesis.tex") << "x";
    CHECK(code_of(open_cache) == Code::usage);
    CHECK(fs::exists(path + "/thesis.tex"));
  }
  SECTION("a file") {
    std::ofstream(path) << "x";
    CHECK(code_of(open_cache) == Code::usage);
  }
  SECTION("another version's") {
    open_cache();
    std::ofstream(path + "/format") << "preptools cache 9\n";
    CHECK(code_of(open_cache) == Code::usage);
  }
  SECTION("another user's") {
    if (geteuid() != 0) return;
    open_cache();
    REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
    CHECK(code_of(open_cache) == Code::usage);
  }
}

TEST_CASE("what a killed process left is counted and cleared away") {
  const TemporaryCache temporary;
  {
    Cache cache(temporary.options);
    put(cache, key_of("a"));
    put(cache, key_of("b"));
  }
  Cache cache(temporary.options);
  const auto entries = cache.entries();
  unlink(entries[0].path.c_str());
  std::ofstream(entries[1].path + ".123.tmp") << "x";
  unlink(temporary.in("space").c_str());
  put(cache, key_of("c"));
  CHECK(cache.evict(0) == 0);
  CHECK(temporary.files("objects") == 4);
  CHECK(temporary.files("current") == 2);
  std::uint64_t sum[3] = {};
  std::ifstream(temporary.in("space"), std::ios::binary)
      .read(reinterpret_cast<char*>(sum), sizeof sum);
  CHECK(sum[2] == 20);
}

TEST_CASE("many processes fetch an object once") {
  const TemporaryCache temporary;
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    Cache cache(temporary.options);
    for (;;) {
      Cache::Outcome outcome = cache.acquire(key_of("a", 100'000));
      if (outcome.hold) _exit(0);
      if (outcome.download) {
        usleep(20'000);
        fill(outcome.download->partial(), 'x');
        outcome.download->finish("", false);
        _exit(1);
      }
      usleep(1000);
    }
  }
  int fetched = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    fetched += WEXITSTATUS(status);
  }
  CHECK(fetched == 1);
}

TEST_CASE("where the cache is") {
  std::map<std::string, std::string> before;
  for (const char* name : {"PREP_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    if (const char* const value = std::getenv(name)) before[name] = value;
    unsetenv(name);
  }
  CHECK(code_of([] { default_cache_directory(); }) == Code::usage);
  setenv("HOME", "/home/u", 1);
  CHECK(default_cache_directory() == "/home/u/.cache/preptools");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(default_cache_directory() == "/home/u/.cache/preptools");
  setenv("XDG_CACHE_HOME", "/x", 1);
  CHECK(default_cache_directory() == "/x/preptools");
  setenv("PREP_CACHE", "/ssd", 1);
  CHECK(default_cache_directory() == "/ssd");
  for (const char* name : {"PREP_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    unsetenv(name);
    if (before.count(name)) setenv(name, before[name].c_str(), 1);
  }
}

}  // namespace
}  // namespace prep::remote_cache_test
