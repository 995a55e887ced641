#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/remote/s3_xml.h"

namespace prep::remote_s3_xml_test {

using prep::ListPage;
using prep::parse_list_page;
using prep::parse_s3_error;
using prep::parse_sts_credentials;
using prep::S3Error;

namespace {

std::string page_of(const std::string& inner, const std::string& encoding = "url") {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>" +
         (encoding.empty() ? "" : "<EncodingType>" + encoding + "</EncodingType>") + inner +
         "</ListBucketResult>";
}

std::string object_of(const std::string& key, const std::string& size = "1") {
  return "<Contents><Key>" + key + "</Key><Size>" + size + "</Size></Contents>";
}

std::string key_of(const std::string& key, const std::string& encoding = "url") {
  return parse_list_page(page_of(object_of(key), encoding)).objects.at(0).key;
}

std::string problem_of(const std::string& xml) {
  try {
    parse_list_page(xml);
  } catch (const prep::Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a page of AWS") {
  const ListPage page = parse_list_page(page_of(
      "<Prefix>photos/</Prefix><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/"
      "wm36Hy4v"
      "bOwM=</NextContinuationToken>"
      "<Contents><Key>photos/a+b%2Bc.jpg</Key><LastModified>2009-10-12T17:50:30.120Z</LastModified>"
      "<ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag>"
      "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>"
      "<Size>434234</Size><StorageClass>STANDARD</StorageClass></Contents>"
      "<Contents><Key>photos/empty</Key><ETag>\"d41d8cd98f00b204e9800998ecf8427e-3\"</ETag>"
      "<Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>photos/x+y/</Prefix></CommonPrefixes>"));
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].key == "photos/a b+c.jpg");
  CHECK(page.objects[0].size == 434234);
  CHECK(page.objects[0].etag == "fba9dede5f27731c9771645a39863328");
  CHECK(page.objects[0].mtime_ns == 1255369830'120'000'000);
  CHECK(page.objects[0].checksum == "crc64nvme:");
  CHECK(page.objects[1].etag == "d41d8cd98f00b204e9800998ecf8427e-3");
  CHECK(page.objects[1].mtime_ns == 0);
  CHECK(page.objects[1].checksum.empty());
  CHECK(page.common_prefixes == std::vector<std::string>{"photos/x y/"});
  CHECK(page.is_truncated);
  CHECK(page.next_token == "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST_CASE("keys are decoded to their bytes") {
  CHECK(key_of("a%0Ab") == "a\nb");
  CHECK(key_of("%01%FF%00") == std::string("\x01\xff\0", 3));
  CHECK(key_of("a%20b+c%2Bd%252F") == "a b c+d%2F");
  CHECK(key_of("%c3%A9") == "\xc3\xa9");
  CHECK(key_of("+") == " ");
  CHECK(key_of("a&amp;b&lt;&#x41;&#10;") == "a&b<A\n");
  CHECK(key_of("..%2F../x") == "../../x");
  CHECK(key_of(std::string(3072, ' ').replace(0, 3072, [] {
          std::string text;
          for (int i = 0; i < 1024; ++i) text += "%FF";
          return text;
        }())) == std::string(1024, '\xff'));
}

TEST_CASE("keys of a server that does not encode them are taken as they are") {
  CHECK(key_of("a+b%20&amp;", "") == "a+b%20&");
  CHECK(key_of(" a ", "") == " a ");
  CHECK(key_of(" ", "") == " ");
  CHECK(key_of("a\r\nb", "") == "a\r\nb");
  CHECK(key_of("&#1;\xff", "") == "\x01\xff");
  CHECK(key_of("<![CDATA[a<b]]>c", "") == "a<bc");
}

TEST_CASE("an empty listing") {
  const ListPage page = parse_list_page(page_of("<IsTruncated>false</IsTruncated>"));
  CHECK(page.objects.empty());
  CHECK_FALSE(page.is_truncated);
}

TEST_CASE("pages that contradict themselves are refused") {
  CHECK(problem_of("").starts_with("corrupt"));
  CHECK(problem_of("no XML").starts_with("corrupt"));
  CHECK(problem_of("<html><body>Login</body></html>").starts_with("corrupt"));
  CHECK(problem_of("<ListBucketResult><Contents>").starts_with("corrupt"));
  CHECK(problem_of("<!DOCTYPE x [<!ENTITY a \"b\">]>" + page_of("")).find("document type") !=
        std::string::npos);
  CHECK(problem_of(page_of("<IsTruncated>true</IsTruncated>")).find("ListObjectsV2") !=
        std::string::npos);
  CHECK(problem_of(page_of(object_of("%4"))).starts_with("corrupt"));
  CHECK(problem_of(page_of(object_of("%"))).starts_with("corrupt"));
  CHECK(problem_of(page_of(object_of("%zz"))).starts_with("corrupt"));
  CHECK(problem_of(page_of(object_of(""))).starts_with("corrupt"));
  CHECK(problem_of(page_of(object_of(std::string(1025, 'k')))).starts_with("corrupt"));
  CHECK(problem_of(page_of("<Contents><Size>1</Size></Contents>")).starts_with("corrupt"));
  CHECK(problem_of("<Error><Code>SlowDown</Code><Message>Please\nreduce</Message></Error>") ==
        "corrupt: instead of a listing the server sent the error SlowDown: Please\\nreduce");
  CHECK(problem_of(std::string((16 << 20) + 1, ' ')).starts_with("limit"));
}

TEST_CASE("sizes are whole numbers that a file can have") {
  const std::string size = GENERATE("", "-1", "1.5", "1 ", "0x10", "9223372036854775808",
                                    "99999999999999999999", "+1", "12\n");
  CHECK(problem_of(page_of(object_of("k", size))).starts_with("corrupt"));
}

TEST_CASE("the largest size") {
  const ListPage page = parse_list_page(page_of(object_of("k", "9223372036854775807")));
  CHECK(page.objects[0].size == INT64_MAX);
}

TEST_CASE("documents that are deep, or have many entities, cost no more than their size") {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "<a>";
  CHECK_FALSE(problem_of(deep).empty());
  for (int i = 0; i < 1'000'000; ++i) deep += "</a>";
  CHECK_FALSE(problem_of(deep).empty());
  CHECK(problem_of(page_of(deep)).empty());
  CHECK(key_of("&lol;", "") == "&lol;");
}

TEST_CASE("errors of S3") {
  const S3Error error = parse_s3_error(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code>"
      "<Message>the region 'us-east-1' is wrong; expecting 'eu-west-1'</Message>"
      "<Region>eu-west-1</Region><RequestId>4442587FB7D0A2F9</RequestId><HostId>x</HostId></"
      "Error>");
  CHECK(error.code == "AuthorizationHeaderMalformed");
  CHECK(error.message == "the region 'us-east-1' is wrong; expecting 'eu-west-1'");
  CHECK(error.region == "eu-west-1");
  CHECK(error.request_id == "4442587FB7D0A2F9");
}

TEST_CASE("errors of STS") {
  const S3Error error = parse_s3_error(
      "<ErrorResponse "
      "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
      "<Code>AccessDenied</Code><Message>not authorized</Message></Error>"
      "<RequestId>4f41</RequestId></ErrorResponse>");
  CHECK(error.code == "AccessDenied");
  CHECK(error.message == "not authorized");
  CHECK(error.request_id == "4f41");
}

TEST_CASE("bodies that are no errors") {
  const std::string body = GENERATE("", "<html>502 Bad Gateway</html>", "<Error", "{\"error\": 1}",
                                    "<Errors/>", "<!DOCTYPE Error><Error><Code>x</Code></Error>");
  CHECK(parse_s3_error(body).code.empty());
}

TEST_CASE("an error's texts are bounded") {
  const S3Error error = parse_s3_error("<Error><Code>x</Code><Message>" +
                                       std::string(100'000, 'm') + "</Message></Error>");
  CHECK(error.message.size() == 1000);
  CHECK(
      parse_s3_error("<Error><Code>" + std::string(2 << 20, 'c') + "</Code></Error>").code.empty());
}

TEST_CASE("credentials of STS") {
  const std::string action = GENERATE("AssumeRole", "AssumeRoleWithWebIdentity");
  const prep::StsCredentials found = parse_sts_credentials(
      "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
      "Result><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s/+=</SecretAccessKey>"
      "<SessionToken>t&amp;t</SessionToken><Expiration>2026-12-01T00:00:00Z</Expiration>"
      "</Credentials></" +
      action + "Result></" + action + "Response>");
  CHECK(found.access_key == "ASIA1");
  CHECK(found.secret_key == "s/+=");
  CHECK(found.session_token == "t&t");
  CHECK(found.expiration == "2026-12-01T00:00:00Z");
}

TEST_CASE("an answer of STS without credentials is not quoted") {
  try {
    parse_sts_credentials(
        "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
        "<SecretAccessKey>hush</SecretAccessKey></Credentials>");
    FAIL();
  } catch (const prep::Error& error) {
    CHECK(error.code() == prep::Code::corrupt);
    CHECK(std::string(error.what()).find("hush") == std::string::npos);
  }
}

}  // namespace prep::remote_s3_xml_test
