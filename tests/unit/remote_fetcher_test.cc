#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <future>

#include "lib/core/digest.h"
#include "lib/core/file_io.h"
#include "lib/remote/fetcher.h"
#include "lib/remote/md5_lanes.h"
#include "lib/remote/multipart_etag.h"
#include "tests/unit/loopback_server.h"

namespace prep::remote_fetcher_test {
namespace {

using Catch::Contains;
using test::answer;
using test::LoopbackAnswer;
using test::LoopbackRequest;
using test::LoopbackServer;
using Verdict = ObjectChecker::Verdict;

constexpr std::uint64_t kPart = 100'000;

std::string body_of(std::size_t size) {
  std::string body(size, '\0');
  for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 7 + i / 251);
  return body;
}

std::string md5_of(const std::string& text) {
  return hex_digest(Digest::Kind::md5, as_bytes(text));
}

// MD5 of the parts' MD5s.
std::string multipart_etag(const std::string& body, std::size_t part_size) {
  std::string digests;
  std::size_t parts = 0;
  for (std::size_t at = 0; at < body.size(); at += part_size, ++parts) {
    const std::string hex = md5_of(body.substr(at, part_size));
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      digests += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
  }
  return md5_of(digests) + "-" + std::to_string(parts);
}

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "fetcher-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Directory() { [[maybe_unused]] const int result = system(("rm -rf " + path_).c_str()); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string contents(const std::string& path) {
  const Fd fd = open_file(path, O_RDONLY);
  std::string text(static_cast<std::size_t>(file_status(fd.get(), path).st_size), '\0');
  read_fully(fd.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(), path);
  return text;
}

StoreOptions options_for(const LoopbackServer& server) {
  setenv("AWS_CONFIG_FILE", "/dev/null", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
  setenv("no_proxy", "127.0.0.1", 1);
  StoreOptions options;
  options.endpoint.endpoint_url = server.url();
  options.endpoint.region = "us-east-1";
  options.credentials.no_sign_request = true;
  options.transfer.stall_s = 1;
  options.retries = 3;
  return options;
}

struct Result {
  std::optional<Error> error;
  Fetched fetched;
  bool changed = false;
};

ObjectInfo object_of(const std::string& body, const std::string& etag) {
  ObjectInfo object;
  object.key = "key";
  object.size = body.size();
  object.etag = etag;
  return object;
}

std::future<Result> submit(Fetcher& fetcher, const ObjectInfo& object,
                           std::shared_ptr<FetchTarget> target, bool want_sha256 = false) {
  FetchJob job;
  job.url = {ObjectUrl::Scheme::s3, "bucket", "key"};
  job.object = object;
  job.target = std::move(target);
  job.want_sha256 = want_sha256;
  const auto promise = std::make_shared<std::promise<Result>>();
  job.done = [promise](const std::optional<Error>& error, const Fetched& fetched, bool changed) {
    promise->set_value({error, fetched, changed});
  };
  fetcher.submit(std::move(job));
  return promise->get_future();
}

std::shared_ptr<PartialTarget> partial(const std::string& path, std::uint64_t size) {
  return std::make_shared<PartialTarget>(
      std::make_shared<PartialObject>(PartialObject::create(path, "id", size, kPart)));
}

TEST_CASE("an object in parts is put together and checked") {
  const std::string body = body_of(1'234'567);
  const std::string etag =
      GENERATE_COPY(md5_of(body), multipart_etag(body, 200'000), std::string("no-md5"));
  const int workers = GENERATE(1, 3);
  const std::uint64_t max_buffered = GENERATE(std::uint64_t{1}, std::uint64_t{64} << 20);
  LoopbackServer server([&](const LoopbackRequest& r) { return test::serve(r, body, etag); });
  ObjectStore store(options_for(server));
  FetcherOptions options;
  options.workers = workers;
  options.max_buffered = max_buffered;
  Fetcher fetcher(store, options);
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  const Result result = submit(fetcher, object_of(body, etag), target, true).get();
  CHECK_FALSE(result.error);
  CHECK(result.fetched.sha256 == hex_digest(Digest::Kind::sha256, as_bytes(body)));
  CHECK((result.fetched.verdict == Verdict::verified) == (etag != "no-md5" && etag.size() == 32));
  CHECK(contents(directory / "x") == body);
  // That a size of parts cannot be learned is only believed when a second download agrees.
  const int downloads = etag.find('-') == 32 ? 2 : 1;
  CHECK(fetcher.received() == downloads * body.size());
  fetcher.wait();
}

TEST_CASE("what an earlier run left is used") {
  const std::string body = body_of(1'000'000);
  LoopbackServer server(
      [&](const LoopbackRequest& r) { return test::serve(r, body, md5_of(body)); });
  ObjectStore store(options_for(server));
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  const ByteView bytes = as_bytes(body);
  target->write(0, 0, bytes.first(kPart));
  target->write(3, 0, bytes.subspan(3 * kPart, 1000));
  const bool all = GENERATE(true, false);
  if (all) {
    for (std::uint64_t part = 0; part < 10; ++part) {
      target->write(
          part, target->received(part),
          bytes.subspan(part * kPart + target->received(part), kPart - target->received(part)));
    }
  }
  Fetcher fetcher(store, {});
  const Result result = submit(fetcher, object_of(body, md5_of(body)), target).get();
  CHECK_FALSE(result.error);
  CHECK(result.fetched.reused == (all ? body.size() : kPart + 1000));
  CHECK(result.fetched.verdict == Verdict::verified);
  CHECK(fetcher.received() == body.size() - result.fetched.reused);
  CHECK(contents(directory / "x") == body);
}

TEST_CASE("damaged bytes are fetched once more, then it is an error") {
  const std::string body = body_of(500'000);
  const int damages = GENERATE(1, 1000);
  int left = damages;
  LoopbackServer server([&](const LoopbackRequest& r) {
    LoopbackAnswer reply = test::serve(r, body, md5_of(body));
    if (r.header("range").find("=200000-") != std::string::npos && left-- > 0) {
      reply.bytes.back() ^= 1;
    }
    return reply;
  });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  const Result result = submit(fetcher, object_of(body, md5_of(body)), target).get();
  if (damages == 1) {
    CHECK_FALSE(result.error);
    CHECK(contents(directory / "x") == body);
    return;
  }
  REQUIRE(result.error);
  CHECK(result.error->code() == Code::corrupt);
  CHECK_THAT(result.error->what(), Contains("MD5 ETag"));
  for (std::uint64_t part = 0; part < target->parts(); ++part) CHECK(target->received(part) == 0);
}

TEST_CASE("parts of a size that nobody would guess are asked for") {
  constexpr std::size_t kOddPart = 123'457;
  const std::string body = body_of(1'000'000);
  const std::string etag = multipart_etag(body, kOddPart);
  enum class Server { tells, does_not_know, tells_and_damages, damages_at_random };
  const Server kind = GENERATE(Server::tells, Server::does_not_know, Server::tells_and_damages,
                               Server::damages_at_random);
  char damage = 1;
  LoopbackServer server([&](const LoopbackRequest& r) {
    if (r.method == "HEAD") {
      CHECK_THAT(r.target, Contains("partNumber=1"));
      const std::size_t size = kind == Server::does_not_know || kind == Server::damages_at_random
                                   ? body.size()
                                   : kOddPart;
      return test::serve(r, std::string(size, 'x'), etag);
    }
    LoopbackAnswer reply = test::serve(r, body, etag);
    if (kind == Server::tells_and_damages) reply.bytes.back() ^= 1;
    if (kind == Server::damages_at_random) reply.bytes.back() ^= damage++;
    return reply;
  });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  const Result result = submit(fetcher, object_of(body, etag), target).get();
  CHECK(result.error.has_value() ==
        (kind == Server::tells_and_damages || kind == Server::damages_at_random));
  if (kind == Server::tells) {
    CHECK(result.fetched.verdict == Verdict::verified);
    CHECK(result.fetched.method == "multipart ETag of 123457 bytes parts");
  }
  if (kind == Server::does_not_know) CHECK(result.fetched.verdict == Verdict::unverified);
}

TEST_CASE("an object that changes meanwhile is told as such") {
  const std::string body = body_of(500'000);
  int count = 0;
  LoopbackServer server([&](const LoopbackRequest& r) {
    return ++count > 2 ? answer(412, "") : test::serve(r, body, "tag");
  });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const Result result =
      submit(fetcher, object_of(body, "tag"), partial(directory / "x", body.size())).get();
  REQUIRE(result.error);
  CHECK(result.changed);
}

TEST_CASE("servers without ranges give the object in one piece") {
  const std::string body = body_of(1'000'000);
  LoopbackServer server([&](const LoopbackRequest&) {
    return answer(200, body, "ETag: \"" + md5_of(body) + "\"\r\n");
  });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  ObjectInfo object = object_of(body, md5_of(body));
  object.accepts_ranges = GENERATE(true, false);
  const Result result = submit(fetcher, object, target).get();
  CHECK_FALSE(result.error);
  CHECK(result.fetched.verdict == Verdict::verified);
  CHECK(contents(directory / "x") == body);
}

TEST_CASE("encrypted objects are unverified, not wrong") {
  const std::string body = body_of(1000);
  LoopbackServer server([&](const LoopbackRequest&) {
    return answer(200, body,
                  "ETag: \"" + md5_of("other") + "\"\r\nx-amz-server-side-encryption: aws:kms\r\n");
  });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const auto target = partial(directory / "x", body.size());
  const Result result = submit(fetcher, object_of(body, md5_of("other")), target).get();
  CHECK_FALSE(result.error);
  CHECK(result.fetched.verdict == Verdict::unverified);
}

TEST_CASE("small files, empty ones too, appear when they are published") {
  const std::string body = body_of(GENERATE(0, 1, 300'000));
  LoopbackServer server(
      [&](const LoopbackRequest& r) { return test::serve(r, body, md5_of(body)); });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  Directory directory;
  const auto target =
      std::make_shared<SmallFileTarget>(directory / "x", directory / ".x.tmp", body.size());
  const Result result = submit(fetcher, object_of(body, md5_of(body)), target).get();
  CHECK_FALSE(result.error);
  CHECK(result.fetched.verdict == Verdict::verified);
  CHECK(access((directory / "x").c_str(), F_OK) != 0);
  target->publish(1'000'000'000);
  CHECK(contents(directory / "x") == body);
}

TEST_CASE("a fetcher that goes away tells what is not done") {
  LoopbackServer server([](const LoopbackRequest&) {
    return LoopbackAnswer{"", LoopbackAnswer::Then::stall};
  });
  StoreOptions options = options_for(server);
  options.transfer.stall_s = 60;
  ObjectStore store(options);
  Directory directory;
  std::vector<std::future<Result>> results;
  {
    Fetcher fetcher(store, {});
    const std::string body = body_of(500'000);
    for (int i = 0; i < 20; ++i) {
      results.push_back(submit(fetcher, object_of(body, "tag"),
                               partial(directory / std::to_string(i), body.size())));
    }
  }
  for (auto& result : results) {
    const auto error = result.get().error;
    REQUIRE(error);
    CHECK(error->code() == Code::interrupted);
  }
}

TEST_CASE("a write that fails ends the job") {
  const std::string body = body_of(500'000);
  LoopbackServer server([&](const LoopbackRequest& r) { return test::serve(r, body, "tag"); });
  ObjectStore store(options_for(server));
  Fetcher fetcher(store, {});
  const auto target = std::make_shared<SmallFileTarget>("/dev/null/x", "/dev/null/.x", 500'000);
  const Result result = submit(fetcher, object_of(body, "tag"), target).get();
  REQUIRE(result.error);
  CHECK_THAT(result.error->what(), Contains("/dev/null/"));
}

TEST_CASE("sixteen MD5s at once are sixteen MD5s") {
  constexpr std::size_t kStride = 1024 + 64;
  alignas(4) static std::array<std::uint8_t, kStride * Md5Lanes::kLanes> data;
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::uint8_t>(i * 31 + i / 97);
  for (const std::size_t size : {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 1024}) {
    Md5Lanes lanes;
    const std::size_t blocks = size / 64 * 64;
    lanes.update(data.data(), kStride, blocks);
    const auto digests = lanes.finish(data.data() + blocks, kStride, size - blocks);
    for (std::size_t i = 0; i < Md5Lanes::kLanes; ++i) {
      std::string hex;
      for (const unsigned char byte : digests[i]) hex += fmt::format("{:02x}", byte);
      CHECK(hex == hex_digest(Digest::Kind::md5, {data.data() + i * kStride, size}));
    }
  }
}

}  // namespace
}  // namespace prep::remote_fetcher_test
