// What a server says about one object.
#pragma once

#include <memory>
#include <string>

#include "lib/remote/store_answer.h"
#include "lib/remote/store_request.h"

namespace prep {

class HeadRequest final : public StoreRequest {
 public:
  HeadRequest(StoreSession& session, const ObjectUrl& url,
              std::shared_ptr<StoreAnswer<ObjectInfo>> answer);

 private:
  Wanted wanted() const override;
  Verdict judge(const HttpResponse& response, std::string* why) override;
  Take take(ByteView) override;
  std::optional<StoreFailure> flaw() override { return std::nullopt; }
  void finished(const std::optional<Error>& error, bool changed) override;

  Verdict judge_get(const HttpResponse& response, std::string* why);
  Verdict accept(const HttpResponse& response, std::optional<std::uint64_t> size, std::string* why);

  const std::shared_ptr<StoreAnswer<ObjectInfo>> answer_;
  ObjectInfo object_;
  bool is_get_ = false;  // of the first byte, for servers that refuse HEAD
};

}  // namespace prep
