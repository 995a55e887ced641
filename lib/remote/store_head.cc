#include "lib/remote/store_head.h"

#include <utility>

#include "lib/remote/object_headers.h"

namespace prep {

HeadRequest::HeadRequest(StoreSession& session, const ObjectUrl& url, Use use,
                         std::optional<ObjectInfo> first_part_of)
    : StoreRequest(session, StoreAttempt::Action::head, url),
      use_(std::move(use)),
      first_part_of_(std::move(first_part_of)) {}

StoreRequest::Wanted HeadRequest::wanted() const {
  Wanted wanted;
  if (is_get_) {
    wanted.headers.emplace_back("range", "bytes=0-0");
    return wanted;
  }
  wanted.method = "HEAD";
  if (first_part_of_) {
    wanted.query.emplace_back("partNumber", "1");
    if (can_be_matched(first_part_of_->etag)) {
      wanted.headers.emplace_back("if-match", "\"" + first_part_of_->etag + "\"");
    }
  }
  if (url_.scheme == ObjectUrl::Scheme::s3) {
    wanted.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  }
  return wanted;
}

StoreRequest::Verdict HeadRequest::judge(const HttpResponse& response, std::string* why) {
  if (is_get_) return judge_get(response, why);
  const int status = response.status;
  if (status == 200 || (status == 206 && first_part_of_)) {
    return accept(response, content_length(response), why);
  }
  const bool is_refused = status == 403 || status == 405 || status == 501;
  if (url_.scheme == ObjectUrl::Scheme::http && is_refused) {
    // A signed URL is good for one method only.
    is_get_ = true;
    *why = "the server refuses HEAD";
    return Verdict::again;
  }
  if (status == 400) {
    // Answers to HEAD have no body, and this status has many reasons: a token that has expired is one.
    is_get_ = true;
    *why = "the server does not say what is wrong";
    return Verdict::again;
  }
  return Verdict::refused;
}

StoreRequest::Verdict HeadRequest::judge_get(const HttpResponse& response, std::string* why) {
  const std::string* value = response.find("content-range");
  const auto range = value ? parse_content_range(*value) : std::nullopt;
  if (response.status == 206 && range && range->total) {
    const Verdict verdict = accept(response, range->total, why);
    object_.accepts_ranges = true;
    return verdict;
  }
  if (response.status == 416 && range && range->total == 0u) return accept(response, 0, why);
  if (response.status == 200) {
    const Verdict verdict = accept(response, content_length(response), why);
    object_.accepts_ranges = false;
    return verdict;
  }
  return Verdict::refused;
}

StoreRequest::Verdict HeadRequest::accept(const HttpResponse& response,
                                          std::optional<std::uint64_t> size, std::string* why) {
  if (!size) {
    *why = "the server does not say how large the object is";
    return Verdict::unsupported;
  }
  object_ = describe_object(url_, response);
  object_.size = *size;
  return Verdict::accepted;
}

Receiver::Take HeadRequest::take(ByteView) {
  finish_early();
  return Take::taken;
}

void HeadRequest::finished(const std::optional<Error>& error, bool) {
  use_(error, std::move(object_));
}

}  // namespace prep
