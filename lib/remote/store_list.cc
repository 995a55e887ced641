#include "lib/remote/store_list.h"

#include <utility>

namespace prep {
namespace {

constexpr std::size_t kMaxPage = 16 << 20;

}  // namespace

ListRequest::ListRequest(StoreSession& session, const ObjectUrl& url, std::string token,
                         std::shared_ptr<StoreAnswer<std::string>> answer)
    : StoreRequest(session, StoreAttempt::Action::list, url),
      token_(std::move(token)),
      answer_(std::move(answer)) {}

StoreRequest::Wanted ListRequest::wanted() const {
  Wanted wanted;
  wanted.query = {{"list-type", "2"}, {"encoding-type", "url"}};
  if (!url_.key.empty()) wanted.query.emplace_back("prefix", url_.key);
  if (!token_.empty()) wanted.query.emplace_back("continuation-token", token_);
  return wanted;
}

StoreRequest::Verdict ListRequest::judge(const HttpResponse& response, std::string*) {
  xml_.clear();
  is_overlong_ = false;
  response_ = response;
  return response.status == 200 ? Verdict::accepted : Verdict::refused;
}

Receiver::Take ListRequest::take(ByteView bytes) {
  is_overlong_ = xml_.size() + bytes.size() > kMaxPage;
  if (is_overlong_) {
    finish_early();
  } else {
    xml_ += as_text(bytes);
    made_progress(bytes.size());
  }
  return Take::taken;
}

std::optional<StoreFailure> ListRequest::flaw() {
  using Kind = TransferResult::Kind;
  const std::string_view end = std::string_view(xml_).substr(0, xml_.find_last_of('>') + 1);
  if (!is_overlong_ && end.ends_with("ListBucketResult>")) return std::nullopt;
  // An answer may turn into an error when its status is long sent.
  const S3Error error = parse_s3_error(xml_);
  if (!error.code.empty()) return StoreFailure{Kind::complete, response_, error, ""};
  return StoreFailure{Kind::complete,
                      response_,
                      {},
                      is_overlong_ ? fmt::format("a page of more than {} MB", kMaxPage >> 20)
                                   : "an answer that is not a whole listing"};
}

void ListRequest::finished(const std::optional<Error>& error, bool) {
  if (error) {
    answer_->set_error(*error);
  } else {
    answer_->set(std::move(xml_));
  }
}

}  // namespace prep
