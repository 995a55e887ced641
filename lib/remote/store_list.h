// One page of a listing.
#pragma once

#include <memory>
#include <string>

#include "lib/remote/store_answer.h"
#include "lib/remote/store_request.h"

namespace prep {

// Answers with the page's XML, which is whole and is a listing, as far as can be told without
// parsing: that takes longer than the network thread should.
class ListRequest final : public StoreRequest {
 public:
  // `url.key` is the prefix.
  ListRequest(StoreSession& session, const ObjectUrl& url, std::string token,
              std::shared_ptr<StoreAnswer<std::string>> answer);

 private:
  Wanted wanted() const override;
  Verdict judge(const HttpResponse& response, std::string* why) override;
  Take take(ByteView bytes) override;
  std::optional<StoreFailure> flaw() override;
  void finished(const std::optional<Error>& error, bool changed) override;

  const std::string token_;
  const std::shared_ptr<StoreAnswer<std::string>> answer_;
  std::string xml_;
  HttpResponse response_;
  bool is_overlong_ = false;
};

}  // namespace prep
