#include "lib/core/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <new>

#include "lib/core/error.h"

namespace prep {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Digest::Context {
  std::unique_ptr<EVP_MD_CTX, FreeContext> evp{EVP_MD_CTX_new()};
};

Digest::Digest(Kind kind) : kind_(kind), context_(std::make_unique<Context>()) {
  // OpenSSL 3.0 crashes where it has not found the memory to set itself up, unless that is asked
  // for.
  if (!context_->evp || !OSSL_LIB_CTX_get0_global_default()) throw std::bad_alloc();
  start();
}

Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::start() {
  const EVP_MD* method = kind_ == Kind::sha256 ? EVP_sha256() : EVP_md5();
  if (EVP_DigestInit_ex(context_->evp.get(), method, nullptr) == 1) return;
  fail(Code::unsupported,
       "this system's OpenSSL does not allow {}, or has not enough memory for it",
       kind_ == Kind::sha256 ? "SHA-256" : "MD5");
}

void Digest::update(ByteView data) {
  if (EVP_DigestUpdate(context_->evp.get(), data.data(), data.size()) != 1) {
    fail(Code::internal, "OpenSSL cannot go on with a digest");
  }
}

std::string Digest::hex() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context_->evp.get(), bytes.data(), &size) != 1) {
    fail(Code::internal, "OpenSSL cannot end a digest");
  }
  start();
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string hex_digest(Digest::Kind kind, ByteView data) {
  Digest digest(kind);
  digest.update(data);
  return digest.hex();
}

}  // namespace prep
