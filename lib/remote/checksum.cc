#include "lib/remote/checksum.h"

#include <isa-l/crc.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <optional>

#include "lib/core/error.h"
#include "lib/remote/ascii.h"
#include "lib/remote/crc64_nvme.h"

namespace prep {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kMaxPartSizes = 4;
constexpr std::uint64_t kMaxParts = 10'000;  // of a multipart upload
constexpr std::size_t kMd5HexLength = 32;

// --- digests -------------------------------------------------------------------------------------

// A digest of bytes that come piece by piece, in the byte order in which S3 writes it.
class Hash {
 public:
  virtual ~Hash() = default;
  virtual void update(ByteView bytes) = 0;
  // The digest is then ready for other data.
  virtual std::string finish() = 0;
};

class EvpHash final : public Hash {
 public:
  explicit EvpHash(const EVP_MD* method) : method_(method), context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
  }
  // False where the system's OpenSSL refuses it (MD5 in FIPS mode).
  bool start() { return EVP_DigestInit_ex(context_.get(), method_, nullptr) == 1; }
  void update(ByteView bytes) override {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) fail_openssl();
  }
  std::string finish() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1 || !start()) fail_openssl();
    return {reinterpret_cast<const char*>(digest.data()), size};
  }

 private:
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  [[noreturn]] static void fail_openssl() {
    fail(Code::internal, "OpenSSL cannot go on with a digest");
  }
  const EVP_MD* method_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

std::uint32_t crc32(std::uint32_t crc, ByteView bytes) {
  return crc32_gzip_refl(crc, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::uint32_t crc, ByteView bytes) {
  crc = ~crc;
  while (!bytes.empty()) {  // ISA-L takes an int
    const ByteView piece = bytes.first(std::min<std::size_t>(bytes.size(), 1 << 30));
    crc = crc32_iscsi(const_cast<std::uint8_t*>(piece.data()), static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

template <typename Word>
class CrcHash final : public Hash {
 public:
  using Function = Word (*)(Word crc, ByteView bytes);
  explicit CrcHash(Function function) : function_(function) {}
  void update(ByteView bytes) override { crc_ = function_(crc_, bytes); }
  std::string finish() override {
    std::string digest;
    for (int shift = 8 * (sizeof(Word) - 1); shift >= 0; shift -= 8) {
      digest += static_cast<char>(crc_ >> shift);
    }
    crc_ = 0;
    return digest;
  }

 private:
  Function function_;
  Word crc_ = 0;
};

std::unique_ptr<Hash> make_evp(const EVP_MD* method) {
  auto hash = std::make_unique<EvpHash>(method);
  if (!hash->start()) return nullptr;
  return hash;
}

struct Algorithm {
  std::string_view name;   // in x-amz-checksum-NAME
  std::string_view title;  // for people
  std::unique_ptr<Hash> (*make)();
};

const std::array<Algorithm, 5> kAlgorithms = {{
    {"crc32c", "CRC-32C",
     []() -> std::unique_ptr<Hash> { return std::make_unique<CrcHash<std::uint32_t>>(crc32c); }},
    {"crc32", "CRC-32",
     []() -> std::unique_ptr<Hash> { return std::make_unique<CrcHash<std::uint32_t>>(crc32); }},
    {"crc64nvme", "CRC-64/NVME",
     []() -> std::unique_ptr<Hash> {
       return std::make_unique<CrcHash<std::uint64_t>>(crc64_nvme);
     }},
    {"sha1", "SHA-1", [] { return make_evp(EVP_sha1()); }},
    {"sha256", "SHA-256", [] { return make_evp(EVP_sha256()); }},
}};

const Algorithm kMd5 = {"md5", "MD5", [] { return make_evp(EVP_md5()); }};

const Algorithm* find_algorithm(std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // OpenSSL writes a NUL behind it
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// --- what is expected ----------------------------------------------------------------------------

struct Expectation {
  const Algorithm* algorithm = nullptr;
  bool is_etag = false;                // in hex, else in Base64
  std::string value;                   // without "-N"
  std::optional<std::uint64_t> parts;  // N

  std::string title() const {
    if (is_etag) return parts ? "multipart ETag" : "MD5 ETag";
    return fmt::format("{}{}", parts ? "composite " : "", algorithm->title);
  }
  std::string encode(std::string_view digest) const {
    return is_etag ? hex(digest) : base64(digest);
  }
};

// Splits "VALUE-N". False if what stands behind the dash is no number of parts.
bool split_parts(std::string_view text, Expectation& expected) {
  const std::size_t dash = text.find('-');
  expected.value = text.substr(0, dash);
  if (dash == text.npos) return true;
  const std::string_view number = text.substr(dash + 1);
  std::uint64_t parts = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parts);
  expected.parts = parts;
  return error == std::errc() && end == number.data() + number.size() && parts >= 1 &&
         parts <= kMaxParts;
}

std::optional<Expectation> of_checksum(const std::string& checksum) {
  const std::size_t colon = checksum.find(':');
  if (colon == checksum.npos || colon + 1 == checksum.size()) return std::nullopt;
  Expectation expected;
  expected.algorithm = find_algorithm(checksum.substr(0, colon));
  if (!expected.algorithm) return std::nullopt;
  if (!split_parts(std::string_view(checksum).substr(colon + 1), expected)) return std::nullopt;
  return expected;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

std::optional<Expectation> of_etag(const ObjectInfo& object) {
  Expectation expected;
  expected.algorithm = &kMd5;
  expected.is_etag = true;
  if (!object.etag_is_md5 || !split_parts(object.etag, expected)) return std::nullopt;
  if (expected.value.size() != kMd5HexLength || !is_hex(expected.value)) return std::nullopt;
  expected.value = ascii_lower(expected.value);
  return expected;
}

// --- one way to compute it -----------------------------------------------------------------------

// The digest of the whole, or of the digests of parts of one size.
class Attempt {
 public:
  virtual ~Attempt() = default;
  virtual void update(ByteView bytes) = 0;
  virtual std::string finish() = 0;
  virtual std::string suffix() const { return ""; }  // of the title
};

class WholeAttempt final : public Attempt {
 public:
  explicit WholeAttempt(std::unique_ptr<Hash> hash) : hash_(std::move(hash)) {}
  void update(ByteView bytes) override { hash_->update(bytes); }
  std::string finish() override { return hash_->finish(); }

 private:
  std::unique_ptr<Hash> hash_;
};

std::string size_text(std::uint64_t bytes) {
  return bytes % kMiB == 0 ? fmt::format("{} MiB", bytes / kMiB) : fmt::format("{} bytes", bytes);
}

class PartsAttempt final : public Attempt {
 public:
  PartsAttempt(std::unique_ptr<Hash> hash, std::uint64_t part_size)
      : hash_(std::move(hash)), part_size_(part_size) {}
  void update(ByteView bytes) override {
    while (!bytes.empty()) {
      const ByteView piece = bytes.first(std::min<std::uint64_t>(bytes.size(), left_));
      hash_->update(piece);
      bytes = bytes.subspan(piece.size());
      left_ -= piece.size();
      if (left_ == 0) end_part();
    }
  }
  std::string finish() override {
    if (left_ < part_size_ || digests_.empty()) end_part();
    hash_->update(as_bytes(digests_));
    return hash_->finish();
  }
  std::string suffix() const override { return fmt::format(" of {} parts", size_text(part_size_)); }

 private:
  void end_part() {
    digests_ += hash_->finish();
    left_ = part_size_;
  }
  std::unique_ptr<Hash> hash_;
  std::uint64_t part_size_, left_ = part_size_;
  std::string digests_;
};

}  // namespace

struct ObjectChecker::State {
  std::uint64_t size = 0, received = 0;
  std::optional<Expectation> expected;
  std::vector<std::unique_ptr<Attempt>> attempts;
  std::string method;

  void add_attempts() {
    if (!expected->parts) {
      if (auto hash = expected->algorithm->make()) {
        attempts.push_back(std::make_unique<WholeAttempt>(std::move(hash)));
      }
      return;
    }
    for (const std::uint64_t part_size : likely_part_sizes(size, *expected->parts)) {
      if (auto hash = expected->algorithm->make()) {
        attempts.push_back(std::make_unique<PartsAttempt>(std::move(hash), part_size));
      }
    }
  }
  // Nothing is computed from here on.
  void give_up(std::string why) {
    expected.reset();
    attempts.clear();
    method = std::move(why);
  }
  Verdict compare() {
    for (const auto& attempt : attempts) {
      if (expected->encode(attempt->finish()) == expected->value) {
        method = expected->title() + attempt->suffix();
        return Verdict::verified;
      }
    }
    if (expected->parts) {
      give_up(fmt::format("{} of parts of an unknown size", expected->title()));
      return Verdict::unverified;
    }
    method = expected->title();
    return Verdict::wrong;
  }
};

ObjectChecker::ObjectChecker(const ObjectInfo& object) : state_(std::make_unique<State>()) {
  state_->size = object.size;
  state_->expected = of_checksum(object.checksum);
  if (!state_->expected) state_->expected = of_etag(object);
  if (!state_->expected) {
    state_->give_up(object.etag.empty() ? "no ETag and no checksum" : "the ETag is no MD5");
    return;
  }
  state_->add_attempts();
  if (state_->attempts.empty()) {
    state_->give_up(fmt::format("{} that cannot be computed here", state_->expected->title()));
  }
}

ObjectChecker::~ObjectChecker() = default;
ObjectChecker::ObjectChecker(ObjectChecker&&) noexcept = default;
ObjectChecker& ObjectChecker::operator=(ObjectChecker&&) noexcept = default;

void ObjectChecker::etag_is_no_md5() {
  if (state_->expected && state_->expected->is_etag) state_->give_up("the object is encrypted");
}

void ObjectChecker::update(ByteView bytes) {
  state_->received += bytes.size();
  for (const auto& attempt : state_->attempts) attempt->update(bytes);
}

ObjectChecker::Verdict ObjectChecker::finish() {
  if (state_->received != state_->size) {
    state_->give_up(fmt::format("size of {} bytes, {} came", state_->size, state_->received));
    return Verdict::wrong;
  }
  return state_->expected ? state_->compare() : Verdict::unverified;
}

const std::string& ObjectChecker::method() const { return state_->method; }

// Of n parts all but the last are full, so the size of a part lies in [size/n, size/(n-1)).
std::vector<std::uint64_t> likely_part_sizes(std::uint64_t size, std::uint64_t parts) {
  if (parts == 0) return {};
  if (parts == 1) return {std::max<std::uint64_t>(size, 1)};
  if (size < parts) return {};
  const std::uint64_t smallest = size / parts + (size % parts != 0);
  const std::uint64_t next_mib = (smallest + kMiB - 1) / kMiB * kMiB;
  std::vector<std::uint64_t> sizes;
  const auto add = [&](std::uint64_t part_size) {
    const bool fits = size / part_size + (size % part_size != 0) == parts;
    const bool is_new = std::find(sizes.begin(), sizes.end(), part_size) == sizes.end();
    if (fits && is_new && sizes.size() < kMaxPartSizes) sizes.push_back(part_size);
  };
  for (const std::uint64_t mib : {8, 5, 16, 15, 64, 10, 100, 32, 50, 128, 256, 512, 1024, 5120}) {
    add(mib * kMiB);
  }
  add(next_mib);
  for (const std::uint64_t mb : {5, 8, 10, 16, 50, 64, 100}) add(mb * 1'000'000);
  add(smallest);
  return sizes;
}

}  // namespace prep
