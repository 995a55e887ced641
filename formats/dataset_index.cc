#include "formats/dataset_index.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "lib/core/error.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;
using Shards = std::vector<const ShardRecord*>;

Shards sorted_by_name(const Manifest& manifest) {
  Shards shards;
  for (const ShardRecord& shard : manifest.shards) shards.push_back(&shard);
  std::sort(shards.begin(), shards.end(),
            [](const ShardRecord* a, const ShardRecord* b) { return a->name < b->name; });
  return shards;
}

// As Python's json.dump(…, indent=2) writes it.
std::string dump(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

std::string wids_index(const Manifest& manifest, std::string_view name) {
  Json shards = Json::array();
  for (const ShardRecord* shard : sorted_by_name(manifest)) {
    if (shard->md5.empty()) {
      fail(Code::usage, "{}: a wids index needs its MD5, which was not taken",
           printable(shard->name));
    }
    shards.push_back({{"url", json_text(shard->name)},
                      {"md5sum", shard->md5},
                      {"nsamples", shard->samples},
                      {"filesize", shard->bytes}});
  }
  return dump({{"__kind__", "wids-shard-index-v1"},
               {"wids_version", 1},
               {"shardlist", std::move(shards)},
               {"name", json_text(name)}});
}

std::string energon_info(const Manifest& manifest) {
  Json counts = Json::object();
  for (const ShardRecord& shard : manifest.shards) counts[json_text(shard.name)] = shard.samples;
  // The version of the program that prepared the data set; the loader does not read it.
  return dump({{"energon_version", "preptools " + manifest.tool_version},
               {"shard_counts", std::move(counts)}});
}

namespace {

// Whether YAML takes the text for a string without quotes: these characters, beginning with a
// letter, and none of YAML 1.1's words for other things.
bool is_plain_yaml(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"y",   "n",    "yes",   "no",  "on",
                                                   "off", "true", "false", "null"};
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text[0]))) return false;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::all_of(text.begin(), text.end(), allowed) &&
         std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

// A JSON string is a YAML string too.
std::string yaml_text(std::string_view text) {
  return is_plain_yaml(text) ? std::string(text) : dump(Json(json_text(text)));
}

// The loader expands braces in shards' names, where a backslash takes the next character as it is.
std::string without_braces(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '{' || c == '}' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string energon_splits(const Manifest& manifest) {
  std::vector<std::string> splits;  // in the order of their first shard
  for (const ShardRecord& shard : manifest.shards) {
    if (std::find(splits.begin(), splits.end(), shard.split) == splits.end()) {
      splits.push_back(shard.split);
    }
  }
  std::string yaml = "split_parts:\n";
  for (const std::string& split : splits) {
    yaml += fmt::format("  {}:\n", yaml_text(split.empty() ? "train" : split));
    for (const ShardRecord& shard : manifest.shards) {
      if (shard.split == split) {
        yaml += fmt::format("  - {}\n", yaml_text(without_braces(shard.name)));
      }
    }
  }
  return yaml + "exclude: []\n";
}

}  // namespace prep
