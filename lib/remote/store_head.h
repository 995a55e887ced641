// What a server says about one object.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/remote/store_request.h"

namespace prep {

class HeadRequest final : public StoreRequest {
 public:
  using Use = std::function<void(const std::optional<Error>&, ObjectInfo&&)>;
  // `use` is called once, on the network thread. Of the first part of a multipart upload, if
  // `first_part_of` names a version: its size is that of the part.
  HeadRequest(StoreSession& session, const ObjectUrl& url, Use use,
              std::optional<ObjectInfo> first_part_of = std::nullopt);

 private:
  Wanted wanted() const override;
  Verdict judge(const HttpResponse& response, std::string* why) override;
  Take take(ByteView) override;
  std::optional<StoreFailure> flaw() override { return std::nullopt; }
  void finished(const std::optional<Error>& error, bool changed) override;

  Verdict judge_get(const HttpResponse& response, std::string* why);
  Verdict accept(const HttpResponse& response, std::optional<std::uint64_t> size, std::string* why);

  const Use use_;
  const std::optional<ObjectInfo> first_part_of_;
  ObjectInfo object_;
  bool is_get_ = false;  // of the first byte, for servers that refuse HEAD
};

}  // namespace prep
