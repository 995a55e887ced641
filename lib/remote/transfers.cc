#include "lib/remote/transfers.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/remote/ascii.h"
#include "lib/remote/curl_handle.h"
#include "lib/remote/rate_limit.h"

namespace prep {
namespace {

// Large enough that a call of the receiver costs nothing beside the copying, small enough for the
// processor's cache.
constexpr long kReceiveBuffer = 128 << 10;
constexpr long kIdleConnections = 512;
constexpr std::size_t kMaxHeaderBytes = 256 << 10;
constexpr std::size_t kMaxIdleHandles = 512;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// --- one exchange --------------------------------------------------------------------------------

struct Exchange {
  Transfers::Id id = 0;
  HttpRequest request;
  std::shared_ptr<Receiver> receiver;
  CurlEasy easy;
  CurlList headers;
  RateLimit* limit = nullptr;
  std::function<void(Exchange&)> on_limited;  // puts it among those that wait for the rate limit

  TransferResult result;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::size_t header_bytes = 0;
  bool headers_done = false;
  bool cancelled = false;
  bool paused = false;
  // Since when, and since which byte, it has been slow.
  double slow_since = 0;
  std::uint64_t slow_bytes = 0;
};

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// "HTTP/1.1 206 Partial Content"; 0 if it is no such line.
int status_of_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (!line.starts_with("HTTP/") || blank == line.npos || line.size() < blank + 4) return 0;
  int status = 0;
  for (const char c : line.substr(blank + 1, 3)) {
    if (c < '0' || c > '9') return 0;
    status = 10 * status + (c - '0');
  }
  return status;
}

// The blank line after the last header. Of "100 Continue" and its like nothing is told.
bool end_headers(Exchange& exchange) {
  HttpResponse& response = exchange.result.response;
  if (response.status < 200) {
    response = {};
    return true;
  }
  exchange.headers_done = true;
  if (exchange.receiver->on_headers(response)) return true;
  exchange.cancelled = true;
  return false;
}

bool add_header_line(Exchange& exchange, std::string_view line) {
  HttpResponse& response = exchange.result.response;
  exchange.header_bytes += line.size();
  if (exchange.header_bytes > kMaxHeaderBytes) return false;
  if (exchange.headers_done) return true;  // behind a chunked body
  if (trimmed(line).empty()) return end_headers(exchange);
  if (const int status = status_of_line(line)) {
    response = {status, {}};
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return true;
  response.headers.emplace_back(ascii_lower(trimmed(line.substr(0, colon))),
                                trimmed(line.substr(colon + 1)));
  return true;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  const std::size_t bytes = size * count;
  return add_header_line(*static_cast<Exchange*>(user), {data, bytes}) ? bytes : 0;
}

std::size_t give_to_receiver(Exchange& exchange, ByteView bytes) {
  switch (exchange.receiver->on_bytes(bytes)) {
    case Receiver::Take::taken:
      exchange.result.bytes += bytes.size();
      exchange.limit->spend(bytes.size());
      return bytes.size();
    case Receiver::Take::later:
      exchange.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    case Receiver::Take::cancel:
      break;
  }
  exchange.cancelled = true;
  return CURL_WRITEFUNC_ERROR;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  if (exchange.cancelled) return CURL_WRITEFUNC_ERROR;
  if (exchange.limit->is_limited() && exchange.limit->seconds_to_wait(steady_seconds()) > 0) {
    exchange.paused = true;
    exchange.on_limited(exchange);
    return CURL_WRITEFUNC_PAUSE;
  }
  return give_to_receiver(exchange, as_bytes({data, size * count}));
}

TransferResult::Kind kind_of(CURLcode code) {
  using Kind = TransferResult::Kind;
  switch (code) {
    case CURLE_OK:
      return Kind::complete;
    case CURLE_OPERATION_TIMEDOUT:
      return Kind::stalled;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PROXY:
      return Kind::refused;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return Kind::insecure;
    default:
      return Kind::cut;
  }
}

}  // namespace

const std::string* HttpResponse::find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [name](const auto& header) { return header.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

// --- the network thread --------------------------------------------------------------------------

struct Transfers::State {
  explicit State(TransferOptions given);
  ~State();

  // From any thread.
  void post(double seconds, std::function<void()> function);

  // On the network thread.
  void run();
  void run_posted();
  void run_timers();
  void wait_for_events();
  void collect_finished();
  void begin(std::unique_ptr<Exchange> exchange);
  void set_up(Exchange& exchange);
  CurlEasy take_handle();
  void put_back(CurlEasy easy);
  void end(Id id, TransferResult::Kind kind, std::string message);
  void unpause(Exchange& exchange);
  void resume(Id id);
  void find_stalled();
  void wait_for_rate(Exchange& exchange);
  void let_waiting_go();
  void cancel_all();
  Exchange* find(Id id);
  void add_timer(double seconds, std::function<void()> function);
  int epoll_timeout_ms() const;

  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* user, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* user);

  const TransferOptions options;
  std::atomic<Id> last_id{0};

  struct Posted {
    double due;
    std::function<void()> function;
  };
  std::mutex mutex;
  std::vector<Posted> posted;
  bool stopping = false;
  bool is_woken = false;

  Fd epoll, wake;
  CurlShare share;
  CurlMulti multi;
  std::vector<CurlEasy> idle;
  std::unordered_map<Id, std::unique_ptr<Exchange>> exchanges;
  std::multimap<double, std::function<void()>> timers;
  std::optional<double> curl_due;
  RateLimit limit;
  std::vector<Id> waiting_for_rate;
  bool is_rate_timer_set = false;
  std::thread thread;
};

Transfers::State::State(TransferOptions given)
    : options(std::move(given)), limit(options.bytes_per_s) {
  initialise_curl();
  epoll.reset(epoll_create1(EPOLL_CLOEXEC));
  wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake.get();
  if (!epoll || !wake || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    fail(Code::io, "cannot prepare for the network: {}", os_message(errno));
  }
  multi.reset(curl_multi_init());
  share.reset(curl_share_init());
  if (!multi || !share) throw std::bad_alloc();
  // Only this thread uses it, so it needs no locks.
  curl_share_setopt(share.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  curl_multi_setopt(multi.get(), CURLMOPT_SOCKETFUNCTION, &State::on_socket);
  curl_multi_setopt(multi.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi.get(), CURLMOPT_TIMERFUNCTION, &State::on_timer);
  curl_multi_setopt(multi.get(), CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kIdleConnections);
  add_timer(options.stall_s / 8, [this] { find_stalled(); });
  thread = std::thread([this] { run(); });
}

Transfers::State::~State() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake.get(), &one, sizeof one);
  thread.join();
  idle.clear();  // before the share that they use
}

void Transfers::State::post(double seconds, std::function<void()> function) {
  const double due = seconds > 0 ? steady_seconds() + seconds : 0;
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex);
    posted.push_back({due, std::move(function)});
    must_wake = !is_woken && std::this_thread::get_id() != thread.get_id();
    if (must_wake) is_woken = true;
  }
  if (!must_wake) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake.get(), &one, sizeof one);
}

void Transfers::State::run() {
  while (true) {
    run_posted();
    {
      const std::lock_guard lock(mutex);
      if (stopping) break;
    }
    wait_for_events();
    run_timers();
    collect_finished();
  }
  cancel_all();
}

// What is posted from within runs in the next round.
void Transfers::State::run_posted() {
  std::vector<Posted> functions;
  {
    const std::lock_guard lock(mutex);
    functions.swap(posted);
    is_woken = false;
  }
  for (Posted& one : functions) {
    if (one.due > 0) {
      timers.emplace(one.due, std::move(one.function));
    } else {
      one.function();
    }
  }
}

void Transfers::State::add_timer(double seconds, std::function<void()> function) {
  timers.emplace(steady_seconds() + seconds, std::move(function));
}

void Transfers::State::run_timers() {
  const double now = steady_seconds();
  if (curl_due && *curl_due <= now) {
    curl_due.reset();
    int running = 0;
    curl_multi_socket_action(multi.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }
  while (!timers.empty() && timers.begin()->first <= now) {
    const auto node = timers.extract(timers.begin());
    node.mapped()();
  }
}

int Transfers::State::epoll_timeout_ms() const {
  double due = curl_due.value_or(INFINITY);
  if (!timers.empty()) due = std::min(due, timers.begin()->first);
  const double seconds = due - steady_seconds();
  if (seconds <= 0) return 0;
  return static_cast<int>(std::ceil(std::min(seconds, 60.0) * 1000));
}

void Transfers::State::wait_for_events() {
  std::array<epoll_event, 64> events;
  int timeout = epoll_timeout_ms();
  {
    const std::lock_guard lock(mutex);
    if (!posted.empty()) timeout = 0;  // by a callback: nobody woke us
  }
  const int count = epoll_wait(epoll.get(), events.data(), events.size(), timeout);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == wake.get()) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto n = read(wake.get(), &ignored, sizeof ignored);
      continue;
    }
    int what = 0, running = 0;
    if (event.events & EPOLLIN) what |= CURL_CSELECT_IN;
    if (event.events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (event.events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi.get(), event.data.fd, what, &running);
  }
}

int Transfers::State::on_socket(CURL*, curl_socket_t fd, int what, void* user, void* known) {
  State& state = *static_cast<State*>(user);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(state.epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
    return 0;
  }
  epoll_event event{};
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  event.data.fd = fd;
  const int operation = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(state.epoll.get(), operation, fd, &event) != 0 && errno == EEXIST) {
    epoll_ctl(state.epoll.get(), EPOLL_CTL_MOD, fd, &event);
  }
  curl_multi_assign(state.multi.get(), fd, user);  // any mark that it is known
  return 0;
}

int Transfers::State::on_timer(CURLM*, long timeout_ms, void* user) {
  State& state = *static_cast<State*>(user);
  if (timeout_ms < 0) {
    state.curl_due.reset();
  } else {
    state.curl_due = steady_seconds() + static_cast<double>(timeout_ms) / 1000;
  }
  return 0;
}

Exchange* Transfers::State::find(Id id) {
  const auto found = exchanges.find(id);
  return found == exchanges.end() ? nullptr : found->second.get();
}

// --- an exchange's life --------------------------------------------------------------------------

CurlEasy Transfers::State::take_handle() {
  if (!idle.empty()) {
    CurlEasy easy = std::move(idle.back());
    idle.pop_back();
    return easy;
  }
  CurlEasy easy = make_curl_easy(options.ca_bundle, options.user_agent);
  const std::uint64_t tenth = options.bytes_per_s / 10;
  const long buffer =
      options.bytes_per_s == 0
          ? kReceiveBuffer
          : static_cast<long>(std::clamp<std::uint64_t>(tenth, 1024, kReceiveBuffer));
  curl_easy_setopt(easy.get(), CURLOPT_SHARE, share.get());
  curl_easy_setopt(easy.get(), CURLOPT_BUFFERSIZE, buffer);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS,
                   std::max(1L, std::lround(options.connect_timeout_s * 1000)));
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &on_body);
  return easy;
}

// The handle must not remember what dies with the exchange.
void Transfers::State::put_back(CurlEasy easy) {
  if (idle.size() >= kMaxIdleHandles) return;
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_PRIVATE, nullptr);
  idle.push_back(std::move(easy));
}

void Transfers::State::set_up(Exchange& exchange) {
  exchange.easy = take_handle();
  exchange.headers = make_header_list(exchange.request.headers);
  CURL* const easy = exchange.easy.get();
  curl_easy_setopt(easy, CURLOPT_URL, exchange.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange.headers.get());
  if (exchange.request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);  // ends NOBODY too
  }
  set_use_proxy(easy, exchange.request.use_proxy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange.error_text.data());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &exchange);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  exchange.limit = &limit;
  exchange.on_limited = [this](Exchange& limited) { wait_for_rate(limited); };
  exchange.slow_since = steady_seconds();
}

void Transfers::State::begin(std::unique_ptr<Exchange> exchange) {
  Exchange& begun = *exchange;
  exchanges.emplace(begun.id, std::move(exchange));
  set_up(begun);
  const CURLMcode code = curl_multi_add_handle(multi.get(), begun.easy.get());
  if (code != CURLM_OK) end(begun.id, TransferResult::Kind::refused, curl_multi_strerror(code));
}

void Transfers::State::collect_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Exchange* exchange = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
    const CURLcode code = message->data.result;  // gone once the handle is removed
    const std::string text =
        exchange->error_text[0] ? exchange->error_text.data() : curl_easy_strerror(code);
    using Kind = TransferResult::Kind;
    end(exchange->id, exchange->cancelled ? Kind::cancelled : kind_of(code),
        code == CURLE_OK ? "" : text);
  }
}

void Transfers::State::end(Id id, TransferResult::Kind kind, std::string message) {
  const auto node = exchanges.extract(id);
  if (node.empty()) return;
  Exchange& exchange = *node.mapped();
  curl_multi_remove_handle(multi.get(), exchange.easy.get());
  exchange.result.kind = kind;
  exchange.result.message = std::move(message);
  put_back(std::move(exchange.easy));
  exchange.receiver->on_end(exchange.result);
}

void Transfers::State::cancel_all() {
  while (!exchanges.empty()) end(exchanges.begin()->first, TransferResult::Kind::cancelled, "");
}

// --- pausing -------------------------------------------------------------------------------------

// libcurl calls on_body() from within: that may set it on pause again, or cancel it.
void Transfers::State::unpause(Exchange& exchange) {
  exchange.paused = false;
  exchange.slow_since = steady_seconds();
  exchange.slow_bytes = exchange.result.bytes;
  const CURLcode code = curl_easy_pause(exchange.easy.get(), CURLPAUSE_CONT);
  if (code == CURLE_OK && !exchange.cancelled) return;
  using Kind = TransferResult::Kind;
  end(exchange.id, exchange.cancelled ? Kind::cancelled : kind_of(code), curl_easy_strerror(code));
}

void Transfers::State::resume(Id id) {
  Exchange* exchange = find(id);
  if (exchange && exchange->paused) unpause(*exchange);
}

void Transfers::State::wait_for_rate(Exchange& exchange) {
  waiting_for_rate.push_back(exchange.id);
  if (std::exchange(is_rate_timer_set, true)) return;
  add_timer(std::max(limit.seconds_to_wait(steady_seconds()), 0.001), [this] { let_waiting_go(); });
}

// Those that find nothing left wait again, behind the others.
void Transfers::State::let_waiting_go() {
  is_rate_timer_set = false;
  std::vector<Id> waiting;
  waiting.swap(waiting_for_rate);
  for (const Id id : waiting) resume(id);
}

void Transfers::State::find_stalled() {
  const double now = steady_seconds();
  const double enough = static_cast<double>(options.stall_bytes_per_s) * options.stall_s;
  std::vector<Id> stalled;
  for (const auto& [id, exchange] : exchanges) {
    const std::uint64_t bytes = exchange->result.bytes;
    if (exchange->paused || static_cast<double>(bytes - exchange->slow_bytes) >= enough) {
      exchange->slow_since = now;
      exchange->slow_bytes = bytes;
    } else if (now - exchange->slow_since >= options.stall_s) {
      stalled.push_back(id);
    }
  }
  for (const Id id : stalled) {
    end(id, TransferResult::Kind::stalled,
        fmt::format("less than {} bytes in {:g} s", static_cast<std::uint64_t>(enough),
                    options.stall_s));
  }
  add_timer(options.stall_s / 8, [this] { find_stalled(); });
}

// --- the public face -----------------------------------------------------------------------------

Transfers::Transfers(TransferOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

Transfers::~Transfers() = default;

Transfers::Id Transfers::start(HttpRequest request, std::shared_ptr<Receiver> receiver) {
  const Id id = ++state_->last_id;
  auto exchange = std::make_shared<std::unique_ptr<Exchange>>(std::make_unique<Exchange>());
  (*exchange)->id = id;
  (*exchange)->request = std::move(request);
  (*exchange)->receiver = std::move(receiver);
  state_->post(0, [state = state_.get(), exchange] { state->begin(std::move(*exchange)); });
  return id;
}

void Transfers::resume(Id id) {
  state_->post(0, [state = state_.get(), id] { state->resume(id); });
}

void Transfers::cancel(Id id) {
  state_->post(0,
               [state = state_.get(), id] { state->end(id, TransferResult::Kind::cancelled, ""); });
}

void Transfers::call(std::function<void()> function) { state_->post(0, std::move(function)); }

void Transfers::call_later(double seconds, std::function<void()> function) {
  state_->post(seconds, std::move(function));
}

}  // namespace prep
