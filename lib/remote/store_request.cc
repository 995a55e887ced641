#include "lib/remote/store_request.h"

#include <climits>
#include <utility>

#include "lib/remote/sigv4.h"

namespace prep {
namespace {

constexpr std::size_t kMaxErrorBody = 64 << 10;
constexpr int kMaxCorrections = 3;
// A server that never answered is probably named wrongly; one that says nothing for half a minute
// has had its time.
constexpr int kRetriesOfUnknownServer = 3, kRetriesAfterStall = 4;

}  // namespace

StoreRequest::StoreRequest(StoreSession& session, StoreAttempt::Action action, ObjectUrl url)
    : session_(session), url_(std::move(url)), action_(action), budget_(session.options.retries) {
  attempt_.action = action;
  attempt_.url = url_;
}

void StoreRequest::begin(ObjectStore::Id id) {
  id_ = id;
  send();
}

void StoreRequest::resume() { session_.transfers.resume(exchange_); }

void StoreRequest::cancel() {
  const Transfers::Id exchange = exchange_;
  finish(Error(Code::interrupted,
               fmt::format("{}: not read to the end: the run was ended", printable(url_.text()))));
  session_.transfers.cancel(exchange);
}

// --- sending -------------------------------------------------------------------------------------

void StoreRequest::send() {
  if (is_finished_) return;
  if (url_.scheme == ObjectUrl::Scheme::http) return send_with({});
  if (const CredentialFeed::Shared credentials = session_.credentials.at_hand()) {
    return send_with(*credentials);
  }
  session_.credentials.ask([self = shared_from_this()](CredentialFeed::Shared credentials,
                                                       const std::optional<Error>& error) {
    self->session_.transfers.call([self, credentials, error] {
      if (error) return self->finish(error);
      self->send_with(*credentials);
    });
  });
}

void StoreRequest::send_with(const Credentials& credentials) {
  if (is_finished_) return;
  verdict_ = Verdict::refused;
  why_.clear();
  body_.clear();
  is_enough_ = false;
  try {
    HttpRequest request = make_request(credentials);
    ++session_.counters.requests;
    exchange_ = session_.transfers.start(std::move(request), shared_from_this());
  } catch (const Error& error) {
    finish(error);
  }
}

HttpRequest StoreRequest::make_request(const Credentials& credentials) {
  Wanted wanted = this->wanted();
  attempt_.tries = budget_.tries();
  if (url_.scheme == ObjectUrl::Scheme::http) {
    attempt_.endpoint = server_of_url(url_.key);
    return {wanted.method, url_.key, std::move(wanted.headers)};
  }
  const Endpoint endpoint = session_.endpoint_for(url_.bucket);
  if (session_.options.request_payer) {
    wanted.headers.emplace_back("x-amz-request-payer", "requester");
  }
  signed_with_ = credentials;
  attempt_.endpoint = endpoint.scheme + "://" + endpoint.host;
  attempt_.region = endpoint.region;
  attempt_.is_signed = !credentials.anonymous();
  attempt_.has_token = !credentials.session_token.empty();
  attempt_.credentials = credentials.origin;
  attempt_.sent_at = session_.server_time();
  SigningRequest request;
  request.method = wanted.method;
  request.host = endpoint.host_of(url_.bucket);
  request.path =
      endpoint.path_of(url_.bucket, action_ == StoreAttempt::Action::list ? "" : url_.key);
  request.query = std::move(wanted.query);
  request.headers = std::move(wanted.headers);
  const Fields signature = sign(request, credentials, endpoint.region, "s3", attempt_.sent_at);
  std::string url = endpoint.scheme + "://" + request.host + request.path;
  if (!request.query.empty()) url.append(1, '?').append(canonical_query(request.query));
  Fields headers = std::move(request.headers);
  headers.insert(headers.end(), signature.begin(), signature.end());
  return {wanted.method, std::move(url), std::move(headers)};
}

// --- the answer ----------------------------------------------------------------------------------

void StoreRequest::made_progress(std::uint64_t bytes) {
  session_.counters.bytes += bytes;
  budget_.progress(bytes);
}

bool StoreRequest::on_headers(const HttpResponse& response) {
  if (is_finished_) return false;
  session_.has_answered = true;
  verdict_ = judge(response, &why_);
  return true;
}

// What explains a failure is read to its end, so that the connection can be used again, unless it
// is long: a whole object instead of a range, say.
Receiver::Take StoreRequest::on_bytes(ByteView bytes) {
  if (is_finished_ || is_enough_) return Take::cancel;
  if (verdict_ == Verdict::accepted) {
    const Take result = take(bytes);
    return is_enough_ ? Take::cancel : result;
  }
  if (body_.size() + bytes.size() > kMaxErrorBody) return Take::cancel;
  body_ += as_text(bytes);
  return Take::taken;
}

void StoreRequest::on_end(const TransferResult& result) {
  using Kind = TransferResult::Kind;
  exchange_ = 0;
  if (is_finished_) return;
  StoreFailure failure{result.kind, result.response, {}, result.message};
  if (result.response.status != 0 && verdict_ != Verdict::accepted) {
    failure.kind = Kind::complete;  // however its body ended
    failure.text = why_;
    if (verdict_ == Verdict::changed) return finish(error_about(Code::io, why_), true);
    if (verdict_ == Verdict::again) return try_again_at_once(failure);
    if (verdict_ == Verdict::unsupported) return finish(error_about(Code::unsupported, why_));
    failure.s3 = parse_s3_error(body_);
    return handle(std::move(failure));
  }
  if (result.kind == Kind::complete || is_enough_) {
    if (std::optional<StoreFailure> flaw = this->flaw()) return handle(std::move(*flaw));
    return finish(std::nullopt);
  }
  if (result.kind == Kind::cancelled) return cancel();
  handle(std::move(failure));
}

Error StoreRequest::error_about(Code code, const std::string& text) const {
  return Error(code, fmt::format("{}: {} (from {})", printable(url_.text()), text,
                                 printable(attempt_.endpoint)));
}

// --- failures ------------------------------------------------------------------------------------

void StoreRequest::handle(StoreFailure failure) {
  if (is_slow_down(failure)) ++session_.counters.slow_downs;
  try {
    apply(remedy_of(failure, attempt_), failure);
  } catch (const Error& error) {
    finish(error);
  }
}

void StoreRequest::apply(Remedy remedy, const StoreFailure& failure) {
  switch (remedy) {
    case Remedy::none:
      return give_up(failure);
    case Remedy::back_off:
      return back_off(failure);
    case Remedy::new_credentials:
      if (std::exchange(had_new_credentials_, true)) return give_up(failure);
      session_.credentials.expired(signed_with_);
      return try_again_at_once(failure);
    case Remedy::new_clock: {
      const auto offset = clock_offset(failure, attempt_);
      if (!offset) return give_up(failure);
      // `sent_at` was corrected already, perhaps wrongly.
      session_.set_clock_offset(session_.server_time() + *offset - std::time(nullptr));
      return try_again_at_once(failure);
    }
    case Remedy::new_region:
      session_.set_region(url_.bucket, region_of_failure(failure));
      return try_again_at_once(failure);
  }
}

void StoreRequest::try_again_at_once(const StoreFailure& failure) {
  if (++corrections_ > kMaxCorrections) return give_up(failure);
  ++session_.counters.retries;
  send();
}

void StoreRequest::back_off(const StoreFailure& failure) {
  using Kind = TransferResult::Kind;
  int most = INT_MAX;
  if (failure.kind == Kind::refused && !session_.has_answered) most = kRetriesOfUnknownServer;
  if (failure.kind == Kind::stalled) most = kRetriesAfterStall;
  if (!budget_.spend(most)) return give_up(failure);
  ++session_.counters.retries;
  std::optional<double> retry_after;
  if (const std::string* value = failure.response.find("retry-after")) {
    retry_after = parse_retry_after(*value, session_.server_time());
  }
  const double delay = retry_delay_s(budget_.failures(), retry_after, session_.random);
  session_.transfers.call_later(delay, [self = shared_from_this()] { self->send(); });
}

void StoreRequest::give_up(const StoreFailure& failure) { finish(explain(failure, attempt_)); }

void StoreRequest::finish(const std::optional<Error>& error, bool changed) {
  if (std::exchange(is_finished_, true)) return;
  const auto self = shared_from_this();
  session_.ended(id_);
  finished(error, changed);
}

std::string server_of_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return url.substr(0, url.find_first_of("/?", scheme == url.npos ? 0 : scheme + 3));
}

}  // namespace prep
