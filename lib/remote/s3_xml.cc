#include "lib/remote/s3_xml.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "lib/core/error.h"
#include "lib/remote/ascii.h"
#include "lib/remote/iso_time.h"

namespace prep {
namespace {

constexpr std::size_t kMaxPage = 16 << 20;
constexpr std::size_t kMaxError = 1 << 20;
constexpr std::size_t kMaxText = 1000;  // of an error's message
constexpr std::size_t kMaxKey = 1024;

// Names may end in blanks, be nothing but a blank, and hold carriage returns: nothing is trimmed,
// nothing normalised. Document types are found, so that they can be refused.
constexpr unsigned kParseOptions =
    pugi::parse_escapes | pugi::parse_cdata | pugi::parse_ws_pcdata_single | pugi::parse_doctype;

// A document and the buffer that it points into.
class Document {
 public:
  explicit Document(std::string_view xml) : buffer_(xml) {
    const pugi::xml_parse_result result = document_.load_buffer_inplace(
        buffer_.data(), buffer_.size(), kParseOptions, pugi::encoding_utf8);
    if (!result) problem_ = result.description();
    for (const pugi::xml_node node : document_.children()) {
      if (node.type() == pugi::node_doctype) problem_ = "it has a document type";
    }
  }
  // Null: it is sound.
  const char* problem() const { return problem_; }
  pugi::xml_node root() const { return document_.document_element(); }

 private:
  std::string buffer_;
  pugi::xml_document document_;
  const char* problem_ = nullptr;
};

std::string text_of(pugi::xml_node node) {
  std::string text;
  for (const pugi::xml_node child : node.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
      text += child.value();
    }
  }
  return text;
}

std::string text_of(pugi::xml_node parent, const char* name) { return text_of(parent.child(name)); }

// --- listings ------------------------------------------------------------------------------------

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// AWS and MinIO write a space as "+", Ceph as "%20"; all of them write "+" as "%2B".
std::string url_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      fail(Code::corrupt, "the server's listing has a name that is badly encoded: \"{}\"",
           printable(text));
    }
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  return decoded;
}

std::string decode_name(std::string text, bool is_encoded) {
  std::string name = is_encoded ? url_decode(text) : std::move(text);
  if (name.empty()) fail(Code::corrupt, "the server's listing has an object without a name");
  if (name.size() > kMaxKey) {
    fail(Code::corrupt, "the server's listing has a key of {} bytes, where S3 allows {}",
         name.size(), kMaxKey);
  }
  return name;
}

std::uint64_t parse_size(const std::string& text, const std::string& key) {
  std::uint64_t size = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size);
  // A file's size is a signed number for the operating system.
  if (error != std::errc() || stop != end || size > INT64_MAX) {
    fail(Code::corrupt, "the server's listing gives {} the size \"{}\"", printable(key),
         printable(text.substr(0, kMaxText)));
  }
  return size;
}

std::string without_quotes(std::string etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

// A listing names the kind of checksum, not its value.
std::string checksum_of(pugi::xml_node contents) {
  const std::string algorithm = ascii_lower(text_of(contents, "ChecksumAlgorithm"));
  return algorithm.empty() ? "" : algorithm + ":";
}

ObjectInfo parse_contents(pugi::xml_node contents, bool is_encoded) {
  ObjectInfo object;
  object.key = decode_name(text_of(contents, "Key"), is_encoded);
  object.size = parse_size(text_of(contents, "Size"), object.key);
  object.etag = without_quotes(text_of(contents, "ETag"));
  object.mtime_ns = parse_iso_time(text_of(contents, "LastModified")).value_or(0);
  object.checksum = checksum_of(contents);
  return object;
}

// An error in the place of a page, or something that is no answer of S3's at all.
[[noreturn]] void fail_no_listing(std::string_view xml, const char* problem) {
  const S3Error error = parse_s3_error(xml);
  if (!error.code.empty()) {
    fail(Code::corrupt, "instead of a listing the server sent the error {}: {}",
         printable(error.code), printable(error.message));
  }
  fail(Code::corrupt, "the server's listing is no listing of S3's: {}",
       problem ? problem : "it is another document");
}

void read_rest(pugi::xml_node root, ListPage& page) {
  page.is_truncated = text_of(root, "IsTruncated") == "true";
  page.next_token = text_of(root, "NextContinuationToken");
  if (page.is_truncated && page.next_token.empty()) {
    fail(Code::corrupt,
         "the server's listing goes on, but it does not say where: it may not know ListObjectsV2");
  }
}

// --- errors --------------------------------------------------------------------------------------

std::string short_text(pugi::xml_node parent, const char* name) {
  return text_of(parent, name).substr(0, kMaxText);
}

}  // namespace

ListPage parse_list_page(std::string_view xml) {
  if (xml.size() > kMaxPage) {
    fail(Code::limit, "the server's listing has more than {} MB a page", kMaxPage >> 20);
  }
  const Document document(xml);
  const pugi::xml_node root = document.root();
  if (document.problem() || std::string_view(root.name()) != "ListBucketResult") {
    fail_no_listing(xml, document.problem());
  }
  const bool is_encoded = text_of(root, "EncodingType") == "url";
  ListPage page;
  for (const pugi::xml_node node : root.children()) {
    const std::string_view name = node.name();
    if (name == "Contents") {
      page.objects.push_back(parse_contents(node, is_encoded));
    } else if (name == "CommonPrefixes") {
      page.common_prefixes.push_back(decode_name(text_of(node, "Prefix"), is_encoded));
    }
  }
  read_rest(root, page);
  return page;
}

S3Error parse_s3_error(std::string_view xml) {
  if (xml.size() > kMaxError) return {};
  const Document document(xml);
  const pugi::xml_node root = document.root();
  const bool is_of_sts = std::string_view(root.name()) == "ErrorResponse";
  const pugi::xml_node node = is_of_sts ? root.child("Error") : root;
  if (document.problem() || std::string_view(node.name()) != "Error") return {};
  return {short_text(node, "Code"), short_text(node, "Message"), short_text(node, "Region"),
          short_text(is_of_sts ? root : node, "RequestId")};
}

StsCredentials parse_sts_credentials(std::string_view xml) {
  if (xml.size() > kMaxError) fail(Code::corrupt, "the token service's answer is too long");
  const Document document(xml);
  for (const char* action : {"AssumeRole", "AssumeRoleWithWebIdentity"}) {
    const pugi::xml_node node =
        document.root().child((std::string(action) + "Result").c_str()).child("Credentials");
    StsCredentials credentials{text_of(node, "AccessKeyId"), text_of(node, "SecretAccessKey"),
                               text_of(node, "SessionToken"), text_of(node, "Expiration")};
    const bool is_whole = !credentials.access_key.empty() && !credentials.secret_key.empty();
    if (!document.problem() && is_whole) return credentials;
  }
  fail(Code::corrupt, "the token service's answer has no credentials in it");
}

}  // namespace prep
