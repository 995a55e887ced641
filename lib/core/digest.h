// Digests of bytes that come piece by piece: SHA-256 and MD5, through OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "lib/core/bytes.h"

namespace prep {

class Digest {
 public:
  enum class Kind { sha256, md5 };

  // throws Error unsupported where the system's OpenSSL refuses the kind (MD5 in FIPS mode).
  explicit Digest(Kind kind);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void update(ByteView data);
  // Lower-case hex; the digest is then ready for other data.
  std::string hex();

 private:
  struct Context;
  void start();

  Kind kind_;
  std::unique_ptr<Context> context_;
};

// The digest of bytes that are all there.
std::string hex_digest(Digest::Kind kind, ByteView data);

}  // namespace prep
