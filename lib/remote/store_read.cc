#include "lib/remote/store_read.h"

#include <algorithm>
#include <utility>

#include "lib/remote/object_headers.h"

namespace prep {

ReadRequest::ReadRequest(StoreSession& session, const ObjectUrl& url, ObjectInfo object,
                         std::uint64_t offset, std::uint64_t length,
                         std::shared_ptr<ObjectStore::Reader> reader)
    : StoreRequest(session, StoreAttempt::Action::get, url),
      object_(std::move(object)),
      offset_(offset),
      end_(offset + length),
      reader_(std::move(reader)),
      position_(offset) {}

bool ReadRequest::wants_range() const {
  return object_.accepts_ranges && (position_ != 0 || end_ != object_.size);
}

StoreRequest::Wanted ReadRequest::wanted() const {
  Wanted wanted;
  if (wants_range()) {
    wanted.headers.emplace_back("range", fmt::format("bytes={}-{}", position_, end_ - 1));
  }
  if (url_.scheme == ObjectUrl::Scheme::s3 && !object_.checksum.empty()) {
    wanted.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  }
  // So that the parts of two versions never mix.
  if (can_be_matched(object_.etag)) {
    wanted.headers.emplace_back("if-match", "\"" + object_.etag + "\"");
  }
  return wanted;
}

// In what the answer's version is another one; "" if it is not.
std::string ReadRequest::difference(const HttpResponse& response) const {
  const std::string etag = etag_of(response);
  if (!object_.etag.empty() && !etag.empty() && etag != object_.etag) {
    return "the object was overwritten while it was read";
  }
  const std::int64_t modified = last_modified_ns(response);
  const bool is_newer = object_.etag.empty() && object_.mtime_ns != 0 && modified != 0 &&
                        modified / 1'000'000'000 != object_.mtime_ns / 1'000'000'000;
  return is_newer ? "the file was modified while it was read" : "";
}

StoreRequest::Verdict ReadRequest::judge(const HttpResponse& response, std::string* why) {
  const int status = response.status;
  if (status == 412) {
    *why = "the object was overwritten while it was read";
    return Verdict::changed;
  }
  if (status == 416) {
    *why = "the object is shorter than it was";
    return Verdict::changed;
  }
  if (status < 200 || status >= 300) return Verdict::refused;
  *why = difference(response);
  if (!why->empty()) return Verdict::changed;
  if (!object_.etag.empty() && etag_of(response).empty()) {
    *why = "an answer that is not the object";  // an error's text with a status of success
    return Verdict::wrong;
  }
  *why = "an answer that is not the object";
  Verdict verdict = Verdict::wrong;
  if (status == 206) verdict = judge_part(response, why);
  if (status == 200) verdict = judge_whole(response, why);
  if (verdict == Verdict::accepted) reader_->on_object(describe_object(url_, response));
  return verdict;
}

StoreRequest::Verdict ReadRequest::judge_part(const HttpResponse& response, std::string* why) {
  const std::string* value = response.find("content-range");
  const auto range = value ? parse_content_range(*value) : std::nullopt;
  if (range && range->total && *range->total != object_.size) {
    *why = "the object has another size than it had";
    return Verdict::changed;
  }
  if (!range || !range->first || *range->first != position_ || *range->last >= end_) {
    *why = fmt::format("bytes {}-{} were asked for, the server sent \"{}\"", position_, end_ - 1,
                       value ? *value : "");
    return Verdict::wrong;
  }
  arriving_ = *range->first;
  last_ = *range->last + 1;
  const auto length = content_length(response);
  if (length && *length != last_ - arriving_) {
    *why = fmt::format("{} bytes for \"{}\"", *length, *value);
    return Verdict::wrong;
  }
  return Verdict::accepted;
}

StoreRequest::Verdict ReadRequest::judge_whole(const HttpResponse& response, std::string* why) {
  const auto length = content_length(response);
  if (length && *length != object_.size) {
    *why = fmt::format("{} bytes, where the object has {}", *length, object_.size);
    // With the same ETag, or with none to tell: half an answer, or another file.
    return object_.etag.empty() ? Verdict::changed : Verdict::wrong;
  }
  // Reading past what is not wanted is all right where that was taken before; in the middle of a
  // large object it could go on for ever.
  if (wants_range() && offset_ != 0) {
    *why = "the server sends the whole object when asked for a range";
    return ++ranges_ignored_ > 1 ? Verdict::unsupported : Verdict::wrong;
  }
  arriving_ = 0;
  last_ = object_.size;
  return Verdict::accepted;
}

Receiver::Take ReadRequest::take(ByteView bytes) {
  if (bytes.size() > last_ - arriving_) {
    is_overlong_ = true;
    finish_early();
    return Take::taken;
  }
  const std::uint64_t skipped =
      std::min<std::uint64_t>(bytes.size(), position_ > arriving_ ? position_ - arriving_ : 0);
  ByteView wanted = bytes.subspan(skipped);
  if (wanted.size() > end_ - position_) wanted = wanted.first(end_ - position_);
  if (!wanted.empty()) {
    const Take result = reader_->on_bytes(position_, wanted);
    if (result != Take::taken) return result;
  }
  position_ += wanted.size();
  arriving_ += bytes.size();
  made_progress(wanted.size());
  if (position_ == end_ && arriving_ < last_) finish_early();
  return Take::taken;
}

std::optional<StoreFailure> ReadRequest::flaw() {
  if (position_ == end_ && !is_overlong_) return std::nullopt;
  const std::string text = is_overlong_
                               ? "more bytes came than the object has"
                               : fmt::format("the body ended {} bytes early", end_ - position_);
  is_overlong_ = false;
  return StoreFailure{TransferResult::Kind::cut, {}, {}, text};
}

void ReadRequest::finished(const std::optional<Error>& error, bool changed) {
  reader_->on_done(error, changed);
}

}  // namespace prep
