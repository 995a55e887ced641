// The face that the cache and the tool see of S3 and of plain HTTP servers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/core/error.h"
#include "lib/remote/credentials.h"
#include "lib/remote/endpoint.h"
#include "lib/remote/object.h"
#include "lib/remote/transfers.h"

namespace prep {

struct StoreOptions {
  EndpointOptions endpoint;
  CredentialOptions credentials;
  TransferOptions transfer;
  bool request_payer = false;
  int retries = 8;  // of one request without progress; see retry.h
};

// What the network did, for the report. Read while it runs.
struct StoreCounters {
  std::uint64_t requests = 0, retries = 0, slow_downs = 0, bytes = 0;
};

// Requests are signed anew at each try, with credentials, region and clock as the server wants
// them. A failed request is an Error with what a person needs to act on: bucket, key, endpoint,
// status, S3's code, request id, and what to check. Codes: not_found (404), truncated (the body
// kept being cut), unsupported (the server ignores ranges), corrupt (an answer that makes no
// sense), io (403 and everything else), interrupted. Thread-safe.
class ObjectStore {
 public:
  // throws Error usage. Asks nobody for anything yet.
  explicit ObjectStore(StoreOptions options);
  ~ObjectStore();  // cancels what is under way

  using Id = std::uint64_t;

  // Calls `each` for every object whose key begins with url.key, in the server's order, as pages
  // come; the next page is fetched meanwhile. Memory is that of two pages. `each` false: enough.
  // throws Error, and what `each` throws.
  void list(const ObjectUrl& url, const std::function<bool(ObjectInfo&&)>& each);
  // One object's current version. throws Error.
  ObjectInfo head(const ObjectUrl& url);
  // Calls `use`, on the network thread, with the size of the parts in which the object was
  // uploaded; 0 where that cannot be learned. Never waits.
  Id find_part_size(const ObjectUrl& url, const ObjectInfo& object,
                    std::function<void(std::uint64_t)> use);

  // Takes a range's bytes, in order, on the network thread; must not wait or throw.
  class Reader {
   public:
    virtual ~Reader() = default;
    // On the thread that calls read(), before anything else.
    virtual void on_start(Id) {}
    // Before the first byte of each answer: what its headers say of the object.
    virtual void on_object(const ObjectInfo&) {}
    // `later`: nothing of it was taken; resume() goes on.
    virtual Receiver::Take on_bytes(std::uint64_t offset, ByteView bytes) = 0;
    // Last call, exactly one: after the last byte, or when there is no more hope. `changed`: the
    // object is not the version any more that was asked for (412, another ETag or size); then there
    // is an error too. Cancelled: Error interrupted.
    virtual void on_done(const std::optional<Error>& error, bool changed) = 0;
  };
  // Bytes [offset, offset + length) of that version, all in the object. Retries continue behind the
  // last byte that was taken. Never waits. Where object.accepts_ranges is false, everything before
  // `offset` comes over the network too.
  Id read(const ObjectUrl& url, const ObjectInfo& object, std::uint64_t offset,
          std::uint64_t length, std::shared_ptr<Reader> reader);
  void resume(Id id);
  void cancel(Id id);

  StoreCounters counters() const;
  // "https://s3.eu-west-1.amazonaws.com": tells objects of different servers apart.
  std::string endpoint_name(const ObjectUrl& url) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prep
