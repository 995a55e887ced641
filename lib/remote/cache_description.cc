#include "lib/remote/cache_description.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargest = 64 << 10;

// Keys are bytes, and JSON's strings are not.
Json json_of(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return Json{{"bytes", numbers}};
}

std::string bytes_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  std::string bytes;
  for (const Json& byte : json.at("bytes")) {
    bytes.push_back(static_cast<char>(byte.get<unsigned>()));
  }
  return bytes;
}

}  // namespace

std::string description_text(const CacheKey& key, std::string_view sha256, bool verified) {
  return Json{{"endpoint", json_of(key.endpoint)},
              {"bucket", json_of(key.bucket)},
              {"key", json_of(key.key)},
              {"etag", json_of(key.etag)},
              {"size", key.size},
              {"sha256", sha256},
              {"verified", verified}}
             .dump() +
         "\n";
}

bool read_description(const std::string& path, CacheEntry& entry) {
  try {
    std::vector<std::uint8_t> text(kLargest);
    const Fd file = open_file(path, O_RDONLY);
    text.resize(read_fully(file.get(), text.data(), text.size(), path));
    const Json json = Json::parse(text);
    CacheEntry read;
    read.key.endpoint = bytes_of(json.at("endpoint"));
    read.key.bucket = bytes_of(json.at("bucket"));
    read.key.key = bytes_of(json.at("key"));
    read.key.etag = bytes_of(json.at("etag"));
    entry.key.endpoint = read.key.endpoint;
    entry.key.bucket = read.key.bucket;
    entry.key.key = read.key.key;
    entry.key.etag = read.key.etag;
    entry.sha256 = json.at("sha256").get<std::string>();
    entry.verified = json.at("verified").get<bool>();
    return true;
  } catch (const Json::exception&) {
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
  }
  return false;
}

}  // namespace prep
