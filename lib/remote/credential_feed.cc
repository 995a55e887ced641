#include "lib/remote/credential_feed.h"

#include <ctime>
#include <utility>

namespace prep {
namespace {

// Sooner than this before they expire, requests still go out with what is known: the chain looks
// for new ones minutes before.
constexpr std::int64_t kMargin = 60;

}  // namespace

CredentialFeed::CredentialFeed(CredentialOptions options, SimpleHttp http)
    : chain_(std::move(options), std::move(http)) {}

CredentialFeed::~CredentialFeed() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CredentialFeed::Shared CredentialFeed::at_hand() const {
  const std::lock_guard lock(mutex_);
  const bool is_good =
      known_ && (!known_->expires || *known_->expires - std::time(nullptr) > kMargin);
  return is_good ? known_ : nullptr;
}

void CredentialFeed::ask(Use use) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(use));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void CredentialFeed::expired(const Credentials& credentials) {
  chain_.expired(credentials);
  const std::lock_guard lock(mutex_);
  if (known_ && known_->access_key == credentials.access_key &&
      known_->session_token == credentials.session_token)
    known_ = nullptr;
}

std::optional<Error> CredentialFeed::look_up() {
  try {
    auto found = std::make_shared<const Credentials>(chain_.get());
    const std::lock_guard lock(mutex_);
    known_ = std::move(found);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(Code::internal, error.what());
  }
}

void CredentialFeed::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const bool is_ending = stopping_;
    lock.unlock();
    std::optional<Error> error;
    if (is_ending) {
      error.emplace(Code::interrupted, "ended before credentials were found");
    } else {
      error = look_up();
    }
    lock.lock();
    std::vector<Use> uses;
    uses.swap(waiting_);
    const Shared found = error ? nullptr : known_;
    lock.unlock();
    for (const Use& use : uses) use(found, error);
    lock.lock();
  }
}

}  // namespace prep
