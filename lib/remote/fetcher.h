// Objects into files: ranges and objects in parallel, as many as pay off, checked as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/core/error.h"
#include "lib/remote/checksum.h"
#include "lib/remote/fetch_target.h"
#include "lib/remote/object_store.h"

namespace prep {

struct FetcherOptions {
  int max_connections = 0;  // -j; 0: adaptive, from 8, grows while throughput does, halves on 503
  int workers = 0;          // hash and write; 0: the CPUs of this process
  std::uint64_t max_buffered = 64 << 20;  // bytes between the network and the disk
};

struct Fetched {
  ObjectChecker::Verdict verdict = ObjectChecker::Verdict::unverified;
  std::string method;        // of the check, or why there is none
  std::string sha256;        // hex, of the whole, if it was wanted
  std::uint64_t reused = 0;  // bytes that an earlier run had left
};

// A download that is to be made, into a file that the caller publishes. Its parts are what is asked
// for at once.
struct FetchJob {
  ObjectUrl url;
  ObjectInfo object;
  std::shared_ptr<FetchTarget> target;  // of object.size bytes
  bool want_sha256 = false;
  // On a worker thread; exactly once; must not throw, nor submit. With an error, what was received
  // stays for the next try, unless the bytes are wrong (then it was tried twice, and nothing of it
  // counts). `changed`: another version of the object is there now; there is an error too.
  std::function<void(const std::optional<Error>& error, const Fetched& fetched, bool changed)> done;
};

class Fetcher {
 public:
  // The store must outlive it.
  Fetcher(ObjectStore& store, FetcherOptions options);
  ~Fetcher();  // cancels what is not done: done() gets Error interrupted

  // Waits while enough is queued. throws Error interrupted after a signal; the job is then not
  // taken.
  void submit(FetchJob job);
  // Until everything submitted is done. throws Error interrupted after a signal.
  void wait();
  // For progress and the report: requests that may be under way, and bytes that came.
  int connections() const;
  std::uint64_t received() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prep
