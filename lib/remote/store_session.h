// What all requests of a store have in common: the network, and what was learned about the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>

#include "lib/remote/credential_feed.h"
#include "lib/remote/endpoint.h"
#include "lib/remote/object.h"
#include "lib/remote/object_store.h"
#include "lib/remote/transfers.h"

namespace prep {

class StoreRequest;

class StoreSession {
 public:
  explicit StoreSession(StoreOptions options);
  // Cancels what is under way and waits for its end.
  ~StoreSession();

  // The endpoint for a bucket: in the region that it turned out to be in.
  Endpoint endpoint_for(const std::string& bucket) const;
  void set_region(const std::string& bucket, const std::string& region);
  // Seconds since 1970 as the server sees it.
  std::int64_t server_time() const;
  void set_clock_offset(std::int64_t seconds) { clock_offset_ = seconds; }

  // From any thread: begins a request, under this id.
  // `announce` is told the id first.
  ObjectStore::Id start(std::shared_ptr<StoreRequest> request,
                        const std::function<void(ObjectStore::Id)>& announce = nullptr);
  void resume(ObjectStore::Id id);
  void cancel(ObjectStore::Id id);
  // On the network thread.
  void ended(ObjectStore::Id id) { running_.erase(id); }

  struct Counters {
    std::atomic<std::uint64_t> requests{0}, retries{0}, slow_downs{0}, bytes{0};
  };
  Counters counters;
  const StoreOptions options;
  const Endpoint endpoint;
  std::atomic<bool> has_answered{false};  // so that a server that is named wrongly fails soon
  std::mt19937_64 random{std::random_device{}()};  // for the network thread

 private:
  std::atomic<std::int64_t> clock_offset_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::string> regions_;  // by bucket
  std::atomic<ObjectStore::Id> last_id_{0};
  // Of the network thread.
  std::unordered_map<ObjectStore::Id, std::shared_ptr<StoreRequest>> running_;
  bool is_closing_ = false;

 public:
  // Their threads call into what stands above them.
  Transfers transfers;
  CredentialFeed credentials;
};

}  // namespace prep
