// Credentials for the network thread, which must not wait for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lib/core/error.h"
#include "lib/remote/credentials.h"

namespace prep {

// Thread-safe. What is at hand is given at once; otherwise a thread of its own asks the chain,
// which may run programs and ask other servers.
class CredentialFeed {
 public:
  CredentialFeed(CredentialOptions options, SimpleHttp http);
  ~CredentialFeed();  // waits for the chain; what was asked for gets Error interrupted

  using Shared = std::shared_ptr<const Credentials>;
  // Null: they have to be asked for first.
  Shared at_hand() const;
  // Calls `use`, with one or the other, on the feed's thread.
  void ask(std::function<void(Shared, const std::optional<Error>&)> use);
  // The server said that these are expired.
  void expired(const Credentials& credentials);

 private:
  using Use = std::function<void(Shared, const std::optional<Error>&)>;
  void run();
  std::optional<Error> look_up();

  CredentialChain chain_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shared known_;
  std::vector<Use> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace prep
