#include "tools/stage_admin.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

constexpr std::uint64_t kVerifyPiece = 1 << 20;

std::string url_of(const CacheEntry& entry) {
  if (entry.key.bucket.empty()) return entry.key.key;
  return "s3://" + entry.key.bucket + "/" + entry.key.key;
}

bool is_chosen(const std::string& url, const std::vector<std::string>& words) {
  if (words.empty()) return true;
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    if (word.ends_with('*')) return url.starts_with(word.substr(0, word.size() - 1));
    return word.ends_with('/') ? url.starts_with(word) : url == word;
  });
}

std::vector<CacheEntry> chosen_entries(const Cache& cache, const std::vector<std::string>& words) {
  std::vector<CacheEntry> entries = cache.entries();
  std::erase_if(entries, [&](const CacheEntry& entry) { return !is_chosen(url_of(entry), words); });
  if (entries.empty() && !words.empty()) {
    fail(Code::not_found, "{}: is not in the cache", printable(words[0]));
  }
  return entries;
}

std::string time_text(std::int64_t ns) {
  if (ns == 0) return "visitor            ";
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm fields{};
  localtime_r(&seconds, &fields);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &fields);
  return text;
}

void print(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
    fail(Code::io, "cannot write to standard output");
  }
}

Outcome outcome_of(const CacheEntry& entry) {
  Outcome outcome;
  outcome.key = outcome.origin = url_of(entry);
  outcome.bytes_in = entry.key.size;
  return outcome;
}

// "" if the bytes are those that were stored.
std::string damage_of(const CacheEntry& entry) {
  if (entry.sha256.empty()) return "its description is lost";
  Digest digest(Digest::Kind::sha256);
  const FileContent file(entry.path, entry.key.size);
  for (std::uint64_t at = 0; at < entry.key.size; at += kVerifyPiece) {
    check_interrupt();
    digest.update(file.read(at, kVerifyPiece).view());
  }
  return digest.hex() == entry.sha256 ? "" : "its bytes are not those that were stored";
}

}  // namespace

void list_cache(const Cache& cache, const std::vector<std::string>& words) {
  for (const CacheEntry& entry : chosen_entries(cache, words)) {
    print(fmt::format("{:>15}  {}  {}{}  {}\n", human_count(entry.key.size),
                      time_text(entry.used_ns), entry.pinned ? 'P' : '-',
                      entry.verified ? 'V' : '-', printable(url_of(entry))));
  }
  if (std::fflush(stdout) != 0) fail(Code::io, "cannot write to standard output");
}

void show_cache_status(const Cache& cache) {
  const CacheStatus status = cache.status();
  print(fmt::format(
      "objects      {}\nstored       {}\npinned       {}\nunfinished   {}\n"
      "limit        {}\nfree on disk {}\n",
      human_count(status.entries), human_bytes(status.bytes), human_bytes(status.pinned_bytes),
      human_bytes(status.partial_bytes),
      status.limit ? human_bytes(*status.limit) : "none (--max-size)", human_bytes(status.free)));
  if (std::fflush(stdout) != 0) fail(Code::io, "cannot write to standard output");
}

void verify_cache(Cache& cache, const std::vector<std::string>& words, Reporter& reporter) {
  for (const CacheEntry& entry : chosen_entries(cache, words)) {
    Outcome outcome = outcome_of(entry);
    std::string damage;
    try {
      damage = damage_of(entry);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      damage = error.what();
    }
    if (!damage.empty()) {
      outcome.kind = Outcome::Kind::failed;
      outcome.code = Code::corrupt;
      outcome.message = fmt::format("{}: {} ({})", printable(outcome.key), damage,
                                    cache.remove(entry) ? "removed" : "in use");
    }
    reporter.add(outcome);
  }
}

void pin_cached(Cache& cache, const std::vector<std::string>& words, bool pinned,
                Reporter& reporter) {
  if (words.empty()) fail(Code::usage, "which objects? give URLs, or a prefix that ends in * or /");
  for (const CacheEntry& entry : chosen_entries(cache, words)) {
    cache.pin(entry.path, pinned);
    reporter.add(outcome_of(entry));
  }
}

void evict_cached(Cache& cache, std::optional<std::uint64_t> bytes,
                  const std::vector<std::string>& words, Reporter& reporter) {
  if (bytes) {
    reporter.say(fmt::format("{} freed", human_bytes(cache.evict(*bytes))));
    return;
  }
  if (words.empty()) fail(Code::usage, "what is to go? give a size, URLs, or a prefix");
  for (const CacheEntry& entry : chosen_entries(cache, words)) {
    Outcome outcome = outcome_of(entry);
    const bool gone = !entry.pinned && cache.remove(entry);
    if (!gone) {
      outcome.kind = Outcome::Kind::skipped;
      outcome.message = entry.pinned ? "pinned" : "in use";
    }
    reporter.add(outcome);
  }
}

void clear_cache(Cache& cache, Reporter& reporter) {
  for (const CacheEntry& entry : cache.entries()) {
    Outcome outcome = outcome_of(entry);
    if (!cache.remove(entry)) {
      outcome.kind = Outcome::Kind::skipped;
      outcome.message = "in use";
    }
    reporter.add(outcome);
  }
  cache.remove_partials();
}

}  // namespace prep
