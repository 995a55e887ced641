#include "lib/remote/object_store.h"

#include <utility>

#include "lib/remote/s3_xml.h"
#include "lib/remote/store_answer.h"
#include "lib/remote/store_head.h"
#include "lib/remote/store_list.h"
#include "lib/remote/store_read.h"
#include "lib/remote/store_session.h"

namespace prep {
namespace {

// A page that is on its way; when nobody wants it any more, it is cancelled.
class PendingPage {
 public:
  PendingPage(StoreSession& session, const ObjectUrl& url, std::string token)
      : session_(session),
        answer_(std::make_shared<StoreAnswer<std::string>>()),
        id_(session.start(std::make_shared<ListRequest>(session, url, std::move(token), answer_))) {
  }
  PendingPage(const PendingPage&) = delete;
  PendingPage& operator=(const PendingPage&) = delete;
  ~PendingPage() { session_.cancel(id_); }

  ListPage take(const ObjectUrl& url) {
    const std::string xml = answer_->take();
    try {
      return parse_list_page(xml);
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", printable(url.text()), error.what());
    }
  }

 private:
  StoreSession& session_;
  const std::shared_ptr<StoreAnswer<std::string>> answer_;
  const ObjectStore::Id id_;
};

void check_listable(const ObjectUrl& url) {
  if (url.scheme == ObjectUrl::Scheme::s3) return;
  fail(Code::usage, "{}: plain HTTP servers have no listings: name the objects",
       printable(url.text()));
}

}  // namespace

struct ObjectStore::State {
  explicit State(StoreOptions options) : session(std::move(options)) {}
  StoreSession session;
};

ObjectStore::ObjectStore(StoreOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

ObjectStore::~ObjectStore() = default;

void ObjectStore::list(const ObjectUrl& url, const std::function<bool(ObjectInfo&&)>& each) {
  check_listable(url);
  std::string token;
  auto pending = std::make_unique<PendingPage>(state_->session, url, token);
  while (pending) {
    ListPage page = pending->take(url);
    pending.reset();
    if (page.is_truncated) {
      if (page.next_token == token) {
        fail(Code::corrupt, "{}: the server's listing goes in circles", printable(url.text()));
      }
      token = page.next_token;
      pending = std::make_unique<PendingPage>(state_->session, url, token);
    }
    for (ObjectInfo& object : page.objects) {
      if (!object.key.starts_with(url.key)) {
        fail(Code::corrupt, "{}: the server's listing has {}, which does not begin so",
             printable(url.text()), printable(object.key));
      }
      if (!each(std::move(object))) return;
    }
  }
}

ObjectInfo ObjectStore::head(const ObjectUrl& url) {
  const auto answer = std::make_shared<StoreAnswer<ObjectInfo>>();
  const auto use = [answer](const std::optional<Error>& error, ObjectInfo&& object) {
    if (error) {
      answer->set_error(*error);
    } else {
      answer->set(std::move(object));
    }
  };
  const Id id = state_->session.start(std::make_shared<HeadRequest>(state_->session, url, use));
  try {
    return answer->take();
  } catch (const Error&) {
    cancel(id);  // after a signal it may still be under way
    throw;
  }
}

ObjectStore::Id ObjectStore::read(const ObjectUrl& url, const ObjectInfo& object,
                                  std::uint64_t offset, std::uint64_t length,
                                  std::shared_ptr<Reader> reader) {
  if (length == 0) {
    // Of no bytes there is no range.
    state_->session.transfers.call(
        [reader = std::move(reader)] { reader->on_done(std::nullopt, false); });
    return 0;
  }
  auto request =
      std::make_shared<ReadRequest>(state_->session, url, object, offset, length, reader);
  return state_->session.start(std::move(request), [&reader](Id id) { reader->on_start(id); });
}

ObjectStore::Id ObjectStore::find_part_size(const ObjectUrl& url, const ObjectInfo& object,
                                            std::function<void(std::uint64_t)> use) {
  const auto use_object = [use = std::move(use), size = object.size](
                              const std::optional<Error>& error, ObjectInfo&& part) {
    // A server that does not know the question answers with all of the object.
    use(error || part.size >= size ? 0 : part.size);
  };
  return state_->session.start(
      std::make_shared<HeadRequest>(state_->session, url, use_object, object));
}

void ObjectStore::resume(Id id) { state_->session.resume(id); }

void ObjectStore::cancel(Id id) { state_->session.cancel(id); }

StoreCounters ObjectStore::counters() const {
  const StoreSession::Counters& counters = state_->session.counters;
  return {counters.requests, counters.retries, counters.slow_downs, counters.bytes};
}

std::string ObjectStore::endpoint_name(const ObjectUrl& url) const {
  if (url.scheme == ObjectUrl::Scheme::http) return server_of_url(url.key);
  const Endpoint& endpoint = state_->session.endpoint;
  return endpoint.scheme + "://" + endpoint.host + endpoint.path;
}

}  // namespace prep
