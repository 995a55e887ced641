#include <catch2/catch.hpp>
#include <thread>

#include "lib/remote/sigv4.h"

namespace prep::remote_sigv4_test {

using prep::canonical_query;
using prep::Credentials;
using prep::Fields;
using prep::sign;
using prep::SigningRequest;
using prep::uri_encode;
using prep::uri_encode_path;

namespace {

const std::string kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string value_of(const Fields& fields, const std::string& name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return value;
  }
  return "(missing)";
}

std::string signature_of(const Fields& fields) {
  const std::string text = value_of(fields, "authorization");
  const std::size_t at = text.find("Signature=");
  return at == std::string::npos ? text : text.substr(at + 10);
}

// "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk",
// Amazon S3 API Reference.
const Credentials kOfS3 = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", {}, "test"};
constexpr std::int64_t kTimeOfS3 = 1369353600;  // 2013-05-24T00:00:00Z

SigningRequest s3_request(std::string path, Fields query = {}, Fields headers = {}) {
  return {"GET",
          "examplebucket.s3.amazonaws.com",
          std::move(path),
          std::move(query),
          std::move(headers),
          kEmptyHash};
}

// "Signature Version 4 Test Suite", AWS General Reference.
const Credentials kOfSuite = {
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}, "test"};
constexpr std::int64_t kTimeOfSuite = 1440938160;  // 2015-08-30T12:36:00Z

std::string suite_signature(std::string path, Fields query = {}, Fields headers = {},
                            std::string method = "GET", std::string hash = kEmptyHash) {
  const SigningRequest request = {std::move(method), "example.amazonaws.com", std::move(path),
                                  std::move(query),  std::move(headers),      std::move(hash)};
  return signature_of(sign(request, kOfSuite, "us-east-1", "service", kTimeOfSuite));
}

}  // namespace

TEST_CASE("S3's example: GET Object with a range") {
  const Fields fields = sign(s3_request("/test.txt", {}, {{"range", "bytes=0-9"}}), kOfS3,
                             "us-east-1", "s3", kTimeOfS3);
  CHECK(value_of(fields, "authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(value_of(fields, "x-amz-date") == "20130524T000000Z");
  CHECK(value_of(fields, "x-amz-content-sha256") == kEmptyHash);
  CHECK(fields.size() == 3);
}

TEST_CASE("S3's example: PUT Object") {
  SigningRequest request = s3_request(
      uri_encode_path("/test$file.text"), {},
      {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}});
  request.method = "PUT";
  request.payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
  CHECK(signature_of(sign(request, kOfS3, "us-east-1", "s3", kTimeOfS3)) ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_CASE("S3's examples: GET Bucket Lifecycle, List Objects") {
  CHECK(signature_of(
            sign(s3_request("/", {{"lifecycle", ""}}), kOfS3, "us-east-1", "s3", kTimeOfS3)) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature_of(sign(s3_request("/", {{"prefix", "J"}, {"max-keys", "2"}}), kOfS3, "us-east-1",
                          "s3", kTimeOfS3)) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("the test suite: paths and queries") {
  CHECK(suite_signature("/") == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  CHECK(suite_signature("") == suite_signature("/"));
  CHECK(suite_signature("/", {{"Param2", "value2"}, {"Param1", "value1"}}) ==
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  CHECK(suite_signature(uri_encode_path("/\xe1\x88\xb4")) ==
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  CHECK(suite_signature("/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") ==
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  CHECK(suite_signature("/", {{"Param1", "value2"}, {"Param1", "Value1"}}) ==
        "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1");
}

TEST_CASE("the test suite: headers and methods") {
  CHECK(suite_signature("/", {}, {}, "POST") ==
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  CHECK(suite_signature("/", {}, {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}) ==
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  CHECK(suite_signature("/", {}, {{"Content-Type", "application/x-www-form-urlencoded"}}, "POST",
                        "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e") ==
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

TEST_CASE("the session's token is signed") {
  Credentials credentials = kOfS3;
  credentials.session_token = "token/with+characters==";
  const Fields fields = sign(s3_request("/x"), credentials, "us-east-1", "s3", kTimeOfS3);
  CHECK(value_of(fields, "x-amz-security-token") == credentials.session_token);
  CHECK(value_of(fields, "authorization").find("x-amz-date;x-amz-security-token,") !=
        std::string::npos);
}

TEST_CASE("anonymous requests are not signed") {
  CHECK(sign(s3_request("/x"), Credentials{}, "us-east-1", "s3", kTimeOfS3).empty());
}

TEST_CASE("a key that was derived is not taken for another one's") {
  const auto signature = [](const Credentials& credentials, const char* region, const char* service,
                            std::int64_t time) {
    return signature_of(sign(s3_request("/x"), credentials, region, service, time));
  };
  const std::string first = signature(kOfS3, "us-east-1", "s3", kTimeOfS3);
  for (int round = 0; round < 3; ++round) {
    Credentials other = kOfS3;
    other.secret_key += "x";
    CHECK(signature(other, "us-east-1", "s3", kTimeOfS3) != first);
    CHECK(signature(kOfS3, "us-east-2", "s3", kTimeOfS3) != first);
    CHECK(signature(kOfS3, "us-east-1", "sts", kTimeOfS3) != first);
    CHECK(signature(kOfS3, "us-east-1", "s3", kTimeOfS3 + 86400) != first);
    CHECK(signature(kOfS3, "eu-west-1", "s3", kTimeOfS3) != first);
    CHECK(signature(kOfS3, "us-east-1", "s3", kTimeOfS3) == first);
  }
  std::string of_thread;
  std::thread([&] { of_thread = signature(kOfS3, "us-east-1", "s3", kTimeOfS3); }).join();
  CHECK(of_thread == first);
}

TEST_CASE("every byte but the unreserved ones is encoded") {
  CHECK(uri_encode("AZaz09-_.~") == "AZaz09-_.~");
  CHECK(uri_encode(" +/%?&=*'()!$@:;,\n\x01") ==
        "%20%2B%2F%25%3F%26%3D%2A%27%28%29%21%24%40%3A%3B%2C%0A%01");
  CHECK(uri_encode("\xc3\xa9\xff") == "%C3%A9%FF");
  CHECK(uri_encode(std::string_view("\0", 1)) == "%00");
  CHECK(uri_encode_path("/a b//../c") == "/a%20b//../c");
}

TEST_CASE("a query is sorted as it is encoded") {
  CHECK(canonical_query({}).empty());
  CHECK(canonical_query({{"b", "2"}, {"a", "x y"}, {"a", "1"}, {"A", ""}}) == "A=&a=1&a=x%20y&b=2");
  // "é" sorts before "z" as %C3…, and "a-b" before "a=…" of "a".
  CHECK(canonical_query({{"z", ""}, {"\xc3\xa9", ""}}) == "%C3%A9=&z=");
}

}  // namespace prep::remote_sigv4_test
