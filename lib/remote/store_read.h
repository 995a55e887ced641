// A range of one version of an object, whatever happens on the way.
#pragma once

#include <memory>
#include <string>

#include "lib/remote/object_store.h"
#include "lib/remote/store_request.h"

namespace prep {

class ReadRequest final : public StoreRequest {
 public:
  ReadRequest(StoreSession& session, const ObjectUrl& url, ObjectInfo object, std::uint64_t offset,
              std::uint64_t length, std::shared_ptr<ObjectStore::Reader> reader);

 private:
  Wanted wanted() const override;
  Verdict judge(const HttpResponse& response, std::string* why) override;
  Take take(ByteView bytes) override;
  std::optional<StoreFailure> flaw() override;
  void finished(const std::optional<Error>& error, bool changed) override;

  bool wants_range() const;
  std::string difference(const HttpResponse& response) const;
  Verdict judge_part(const HttpResponse& response, std::string* why);
  Verdict judge_whole(const HttpResponse& response, std::string* why);

  const ObjectInfo object_;
  const std::uint64_t offset_, end_;
  const std::shared_ptr<ObjectStore::Reader> reader_;
  std::uint64_t position_;      // the next byte that is wanted
  std::uint64_t arriving_ = 0;  // the next byte that the present answer delivers
  std::uint64_t last_ = 0;      // behind the last that it may deliver
  int ranges_ignored_ = 0;
  bool is_overlong_ = false;
};

}  // namespace prep
