#include "lib/core/digest.h"

#include <catch2/catch.hpp>
#include <string>

namespace prep::digest_test {

using prep::as_bytes;
using prep::Digest;
using prep::hex_digest;

// FIPS 180-4 and RFC 1321, appendix A.5.
TEST_CASE("known digests") {
  CHECK(hex_digest(Digest::Kind::sha256, {}) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex_digest(Digest::Kind::sha256, as_bytes("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex_digest(Digest::Kind::md5, {}) == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(hex_digest(Digest::Kind::md5, as_bytes("abc")) == "900150983cd24fb0d6963f7d28e17f72");
}

TEST_CASE("pieces give the digest of the whole, and a digest starts anew") {
  const std::string text(100'000, 'x');
  Digest digest(Digest::Kind::sha256);
  for (std::size_t i = 0; i < text.size(); i += 777) digest.update(as_bytes(text.substr(i, 777)));
  const std::string whole = hex_digest(Digest::Kind::sha256, as_bytes(text));
  CHECK(digest.hex() == whole);
  digest.update(as_bytes(text));
  Digest moved = std::move(digest);
  CHECK(moved.hex() == whole);
}

}  // namespace prep::digest_test
