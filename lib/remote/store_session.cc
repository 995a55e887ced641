#include "lib/remote/store_session.h"

#include <ctime>
#include <future>
#include <utility>

#include "lib/remote/simple_http.h"
#include "lib/remote/store_request.h"

namespace prep {
namespace {

CredentialOptions with_region(CredentialOptions credentials, const std::string& region) {
  if (credentials.region.empty()) credentials.region = region;
  return credentials;
}

}  // namespace

StoreSession::StoreSession(StoreOptions given)
    : options(std::move(given)),
      endpoint(resolve_endpoint(options.endpoint)),
      transfers(options.transfer),
      credentials(with_region(options.credentials, endpoint.region),
                  make_simple_http(options.transfer.ca_bundle, options.transfer.user_agent)) {}

StoreSession::~StoreSession() {
  std::promise<void> closed;
  transfers.call([this, &closed] {
    is_closing_ = true;
    const auto running = running_;  // cancelling changes it
    for (const auto& [id, request] : running) request->cancel();
    closed.set_value();
  });
  closed.get_future().wait();
}

Endpoint StoreSession::endpoint_for(const std::string& bucket) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(bucket);
  return found == regions_.end() ? endpoint : endpoint.in_region(found->second);
}

void StoreSession::set_region(const std::string& bucket, const std::string& region) {
  static_cast<void>(endpoint.in_region(region));  // throws if it is none
  const std::lock_guard lock(mutex_);
  regions_[bucket] = region;
}

std::int64_t StoreSession::server_time() const { return std::time(nullptr) + clock_offset_; }

ObjectStore::Id StoreSession::start(std::shared_ptr<StoreRequest> request,
                                    const std::function<void(ObjectStore::Id)>& announce) {
  const ObjectStore::Id id = ++last_id_;
  if (announce) announce(id);
  transfers.call([this, id, request = std::move(request)] {
    running_.emplace(id, request);
    if (is_closing_) {
      request->cancel();
    } else {
      request->begin(id);
    }
  });
  return id;
}

void StoreSession::resume(ObjectStore::Id id) {
  transfers.call([this, id] {
    const auto found = running_.find(id);
    if (found != running_.end()) found->second->resume();
  });
}

void StoreSession::cancel(ObjectStore::Id id) {
  transfers.call([this, id] {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    const auto request = found->second;  // outlives its place in the table
    request->cancel();
  });
}

}  // namespace prep
