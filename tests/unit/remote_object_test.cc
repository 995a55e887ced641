#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/remote/object.h"

namespace prep::remote_object_test {

using prep::ObjectUrl;
using prep::parse_object_url;

namespace {

prep::Code code_of(const std::string& word) {
  try {
    parse_object_url(word);
  } catch (const prep::Error& error) {
    return error.code();
  }
  return prep::Code::internal;
}

}  // namespace

TEST_CASE("a key's bytes are taken as they are") {
  const ObjectUrl url = parse_object_url("s3://my-bucket/a//b/../c%2F+d ?x#y\n\x01\xff");
  CHECK(url.scheme == ObjectUrl::Scheme::s3);
  CHECK(url.bucket == "my-bucket");
  CHECK(url.key == "a//b/../c%2F+d ?x#y\n\x01\xff");
  CHECK(url.text() == "s3://my-bucket/a//b/../c%2F+d ?x#y\n\x01\xff");
}

TEST_CASE("a bucket alone, and prefixes") {
  CHECK(parse_object_url("s3://b").key.empty());
  CHECK(parse_object_url("s3://b").bucket == "b");
  CHECK(parse_object_url("s3://b/").key.empty());
  CHECK(parse_object_url("s3://b//").key == "/");
  CHECK(parse_object_url("s3://b/p/").key == "p/");
  CHECK(parse_object_url("s3://b/" + std::string(1024, 'k')).key.size() == 1024);
}

TEST_CASE("URLs are kept whole, and shown without what may be a signature") {
  const std::string word = "https://host:8443/a%20b.tar?X-Amz-Signature=5ec2e7";
  const ObjectUrl url = parse_object_url(word);
  CHECK(url.scheme == ObjectUrl::Scheme::http);
  CHECK(url.key == word);
  CHECK(url.bucket.empty());
  CHECK(url.text() == "https://host:8443/a%20b.tar?…");
  CHECK(parse_object_url("http://h/x").text() == "http://h/x");
}

TEST_CASE("words that name no object are refused") {
  const std::string word = GENERATE(
      std::string(""), "/a/b", "s3:/b/k", "s3://", "s3:///k", "s3://../k", "s3://b c/k",
      "s3://arn:aws:s3:us-east-1:1:accesspoint/x", "S3://b/k", "ftp://h/x", "http://", "http:///x",
      "http://h/a b", "http://h/#x", "http://h/\xff", "http://user:secret@h/x", "s3://b\n/k",
      "s3://b/" + std::string(1025, 'k'), std::string("s3://b/k\0x", 10));
  CHECK(code_of(word) == prep::Code::usage);
}

TEST_CASE("a password in a URL is not repeated") {
  try {
    parse_object_url("http://user:secret@h/x");
    FAIL();
  } catch (const prep::Error& error) {
    CHECK(std::string(error.what()).find("secret") == std::string::npos);
  }
}

}  // namespace prep::remote_object_test
