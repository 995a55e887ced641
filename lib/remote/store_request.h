// One request to a store, tried until it succeeds or there is no more hope.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/core/error.h"
#include "lib/remote/retry.h"
#include "lib/remote/store_failure.h"
#include "lib/remote/store_session.h"
#include "lib/remote/transfers.h"

namespace prep {

// Everything happens on the network thread.
class StoreRequest : public Receiver, public std::enable_shared_from_this<StoreRequest> {
 public:
  StoreRequest(StoreSession& session, StoreAttempt::Action action, ObjectUrl url);

  void begin(ObjectStore::Id id);
  void resume();
  void cancel();

  bool on_headers(const HttpResponse& response) final;
  Take on_bytes(ByteView bytes) final;
  void on_end(const TransferResult& result) final;

 protected:
  struct Wanted {
    std::string method = "GET";
    Fields query, headers;
  };
  enum class Verdict {
    accepted,
    refused,      // an error status: its body says why
    wrong,        // looks like success, and is not
    changed,      // another version of the object
    again,        // the next wanted() asks for something else
    unsupported,  // the server cannot do it, and never will
  };

  // What to ask for now: after a failure only what is missing.
  virtual Wanted wanted() const = 0;
  // Of any status. `why` is for all verdicts but the first two.
  virtual Verdict judge(const HttpResponse& response, std::string* why) = 0;
  // Bytes of an accepted answer.
  virtual Take take(ByteView bytes) = 0;
  // After the last byte of an accepted answer: what is wrong with all of them.
  virtual std::optional<StoreFailure> flaw() = 0;
  // Last call. `changed` comes with an error.
  virtual void finished(const std::optional<Error>& error, bool changed) = 0;

  // For take(): there is no need for the rest.
  void finish_early() { is_enough_ = true; }
  void made_progress(std::uint64_t bytes);

  StoreSession& session_;
  const ObjectUrl url_;
  const StoreAttempt::Action action_;

 private:
  void send();
  void send_with(const Credentials& credentials);
  HttpRequest make_request(const Credentials& credentials);
  void handle(StoreFailure failure);
  void apply(Remedy remedy, const StoreFailure& failure);
  void back_off(const StoreFailure& failure);
  void try_again_at_once(const StoreFailure& failure);
  void give_up(const StoreFailure& failure);
  void finish(const std::optional<Error>& error, bool changed = false);
  Error error_about(Code code, const std::string& text) const;

  ObjectStore::Id id_ = 0;
  Transfers::Id exchange_ = 0;
  RetryBudget budget_;
  int corrections_ = 0;
  bool had_new_credentials_ = false;
  bool is_finished_ = false;
  // Of the present try.
  StoreAttempt attempt_;
  Credentials signed_with_;
  Verdict verdict_ = Verdict::refused;
  std::string why_;
  std::string body_;  // of an answer that was not accepted
  bool is_enough_ = false;
};

// "http://host:80" of "http://host:80/x?y".
std::string server_of_url(const std::string& url);

}  // namespace prep
