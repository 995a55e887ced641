#include "tools/stage_options.h"

#include <charconv>

#include "lib/core/error.h"
#include "lib/core/version.h"
#include "tools/size_option.h"

namespace prep {
namespace {

// "5%" of the file system, as a share.
double parse_share(const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || std::string_view(rest, static_cast<std::size_t>(end - rest)) != "%" ||
      !(percent >= 0 && percent < 100)) {
    fail(Code::usage, "--min-free {}: give a percentage, such as 5%", printable(text));
  }
  return percent / 100;
}

}  // namespace

void StageOptions::add_to(CLI::App& app) {
  app.add_option("--cache", cache, "where the cache is (default $PREP_CACHE, ~/.cache/preptools)")
      ->option_text("DIR");
  app.add_option("--max-size", max_size, "the most that the cache may hold")->option_text("SIZE");
  app.add_option("--min-free", min_free, "how much of the cache's file system is left free")
      ->option_text("N%");
  app.add_flag("--revalidate", revalidate, "ask the server whether what is cached is current");
  app.add_flag("--pin", pin, "warm: what is fetched stays until it is unpinned");
  app.add_option("--include", include, "sync: only what a pattern matches, below the prefix")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app.add_option("--exclude", exclude, "sync: leave out what a pattern matches")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app.add_flag("--delete", remove, "sync: remove files whose objects are gone");
  app.add_flag("--checksum", checksum, "sync: read files again, rather than go by their times");
  app.add_flag("-n,--dry-run", dry_run, "sync: say what would be done");
  app.add_option("--connections", connections, "at once (default: as many as make it faster)")
      ->check(CLI::Range(1, 512))
      ->option_text("N");
  app.add_option("--part-size", part_size, "objects are fetched in ranges of this")
      ->option_text("SIZE");
  app.add_option("--limit-rate", limit_rate, "bytes a second, all together")->option_text("SIZE");
  app.add_option("--endpoint-url", endpoint_url, "the server, if it is not AWS")
      ->option_text("URL");
  app.add_option("--region", region, "its region")->option_text("NAME");
  app.add_option("--profile", profile, "of ~/.aws/config and ~/.aws/credentials")
      ->option_text("NAME");
  app.add_flag("--no-sign-request", no_sign_request, "public data, without credentials");
  app.add_flag("--request-payer", request_payer, "pay for the requests to others' buckets");
  app.add_option("--ca-bundle", ca_bundle, "certificates of authorities (default: the system's)")
      ->option_text("FILE");
  app.add_option("--retries", retries, "of a request that gets nowhere")
      ->check(CLI::Range(0, 100))
      ->option_text("N");
  app.add_option("--timeout", timeout, "seconds without progress before a request is tried again")
      ->check(CLI::Range(0.1, 3600.0))
      ->option_text("SEC");
}

StoreOptions StageOptions::store() const {
  StoreOptions store;
  store.endpoint.endpoint_url = endpoint_url;
  store.endpoint.region = region;
  store.endpoint.profile = profile;
  store.credentials.profile = profile;
  store.credentials.no_sign_request = no_sign_request;
  store.credentials.region = region;
  store.transfer.stall_s = timeout;
  store.transfer.connect_timeout_s = std::min(timeout, 10.0);
  if (!limit_rate.empty()) store.transfer.bytes_per_s = parse_size("--limit-rate", limit_rate);
  store.transfer.ca_bundle = ca_bundle;
  store.transfer.user_agent = std::string("preptools/") + kVersion;
  store.request_payer = request_payer;
  store.retries = retries;
  return store;
}

FetcherOptions StageOptions::fetcher(int jobs) const {
  FetcherOptions fetcher;
  fetcher.max_connections = connections;
  fetcher.workers = jobs;
  return fetcher;
}

std::uint64_t StageOptions::part_bytes() const { return parse_size("--part-size", part_size); }

CacheOptions StageOptions::cache_options() const {
  CacheOptions options;
  options.directory = cache.empty() ? default_cache_directory() : cache;
  if (!max_size.empty()) options.max_bytes = parse_size("--max-size", max_size);
  options.min_free = parse_share(min_free);
  options.part_size = part_bytes();
  return options;
}

}  // namespace prep
