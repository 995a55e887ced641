// What prep-stage was asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/remote/cache.h"
#include "lib/remote/fetcher.h"
#include "lib/remote/object_store.h"

namespace prep {

struct StageOptions {
  // Servers.
  std::string endpoint_url, region, profile, ca_bundle;
  bool no_sign_request = false, request_payer = false;
  int retries = 8;
  double timeout = 30;
  std::string limit_rate, part_size = "8Mi";
  int connections = 0;
  // The cache.
  std::string cache, max_size;
  std::string min_free = "5%";
  bool revalidate = false, pin = false;
  // A mirror.
  std::vector<std::string> include, exclude;
  bool remove = false, checksum = false, dry_run = false;

  void add_to(CLI::App& app);

  // throw Error usage.
  StoreOptions store() const;
  FetcherOptions fetcher(int jobs) const;
  std::uint64_t part_bytes() const;
  CacheOptions cache_options() const;
};

}  // namespace prep
