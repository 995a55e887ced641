#include "formats/manifest.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/sample.h"
#include "lib/core/text.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;

// Guards against hostile input; 10 million shards are described in less.
constexpr std::size_t kMaxBytes = std::size_t{4} << 30;
constexpr int kMaxDepth = 64;
constexpr std::size_t kSha256Digits = 64, kMd5Digits = 32;

// The digits at `text`'s beginning, without zeros before them; taken away from `text`.
std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool shard_name_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[0] != b[0]) {
      return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // x-1 and x-01
}

void Manifest::sort() {
  const auto by_name = [](const auto& a, const auto& b) { return shard_name_less(a.name, b.name); };
  std::sort(shards.begin(), shards.end(), by_name);
  std::sort(files.begin(), files.end(), by_name);
  std::sort(classes.begin(), classes.end(),
            [](const ClassRecord& a, const ClassRecord& b) { return a.index < b.index; });
  std::sort(dropped.begin(), dropped.end());
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  const auto place = [](const RepeatedSample& s) { return std::tie(s.key, s.shard); };
  std::sort(repeated.begin(), repeated.end(),
            [&](const RepeatedSample& a, const RepeatedSample& b) { return place(a) < place(b); });
  repeated.erase(std::unique(repeated.begin(), repeated.end(),
                             [&](const RepeatedSample& a, const RepeatedSample& b) {
                               return place(a) == place(b);
                             }),
                 repeated.end());
}

// --- writing ----------------------------------------------------------------------------------

namespace {

std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json shard_json(const ShardRecord& shard) {
  Json json{{"name", json_text(shard.name)}};
  if (!shard.split.empty()) json["split"] = json_text(shard.split);
  json["samples"] = shard.samples;
  json["bytes"] = shard.bytes;
  json["sha256"] = shard.sha256;
  if (!shard.md5.empty()) json["md5"] = shard.md5;
  return json;
}

Json file_json(const ExtraFile& file) {
  return {{"name", json_text(file.name)}, {"bytes", file.bytes}, {"sha256", file.sha256}};
}

Json class_json(const ClassRecord& record) {
  Json json{{"index", record.index}};
  if (!record.name.empty()) json["name"] = json_text(record.name);
  json["samples"] = record.samples;
  return json;
}

Json repeated_json(const RepeatedSample& sample) {
  return {{"key", json_text(sample.key)}, {"shard", json_text(sample.shard)}};
}

struct Totals {
  std::uint64_t shards = 0, samples = 0, bytes = 0;
  void add(const ShardRecord& shard) {
    ++shards;
    samples += shard.samples;
    bytes += shard.bytes;
  }
  Json json() const { return {{"shards", shards}, {"samples", samples}, {"bytes", bytes}}; }
};

Totals totals_of(const std::vector<ShardRecord>& shards) {
  Totals totals;
  for (const ShardRecord& shard : shards) totals.add(shard);
  return totals;
}

Json splits_json(const std::vector<ShardRecord>& shards) {
  std::map<std::string, Totals> splits;
  for (const ShardRecord& shard : shards) {
    if (!shard.split.empty()) splits[shard.split].add(shard);
  }
  Json json = Json::object();
  for (const auto& [name, totals] : splits) json[json_text(name)] = totals.json();
  return json;
}

// The members of an object, one an entry, and arrays one element a line, so that `grep`, `diff` and
// people can read a manifest of 100,000 shards.
class Layout {
 public:
  void member(std::string_view name, const Json& value) {
    begin(name);
    std::string text = dump(value, 2);
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) {
      text.insert(at + 1, "  ");
    }
    text_ += text;
  }

  template <typename Records, typename ToJson>
  void lines(std::string_view name, const Records& records, ToJson to_json) {
    begin(name);
    text_ += '[';
    const char* separator = "\n    ";
    for (const auto& record : records) {
      text_ += separator + dump(to_json(record));
      separator = ",\n    ";
    }
    text_ += records.empty() ? "]" : "\n  ]";
  }

  std::string finish() { return std::move(text_) + "\n}\n"; }

 private:
  void begin(std::string_view name) {
    text_ += fmt::format("{}\n  \"{}\": ", text_.empty() ? "{" : ",", name);
  }
  std::string text_;
};

}  // namespace

std::string Manifest::to_json() const {
  Layout layout;
  layout.member("manifest_version", kVersion);
  layout.member("tool", tool);
  layout.member("tool_version", tool_version);
  layout.member("task", {{"index", task.index}, {"count", task.count}});
  layout.member("container", container);
  layout.member("compression", compression);
  layout.member("settings", settings);
  layout.member("listing", listing);
  layout.member("totals", totals_of(shards).json());
  layout.member("splits", splits_json(shards));
  layout.member("failed", failed);
  layout.member("schema", schema);
  layout.lines("classes", classes, class_json);
  layout.lines("dropped", dropped, [](const std::string& key) { return Json(json_text(key)); });
  layout.lines("repeated", repeated, repeated_json);
  layout.lines("files", files, file_json);
  layout.lines("shards", shards, shard_json);
  return layout.finish();
}

namespace {

// A backslash before the digest says that the name is escaped (coreutils, "md5sum invocation").
std::string sums_line(std::string_view digest, std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == '\\') {
      escaped += "\\\\";
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\r') {
      escaped += "\\r";
    } else {
      escaped += c;
    }
  }
  return fmt::format("{}{}  {}\n", escaped == name ? "" : "\\", digest, escaped);
}

}  // namespace

std::string Manifest::sha256sums() const {
  std::string text;
  for (const ShardRecord& shard : shards) text += sums_line(shard.sha256, shard.name);
  for (const ExtraFile& file : files) text += sums_line(file.sha256, file.name);
  return text;
}

// --- reading ----------------------------------------------------------------------------------

namespace {

// A value and where it stands, for messages: "x/manifest.json: shards[3].bytes: …".
class Node {
 public:
  Node(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void wrong(std::string_view expected) const {
    fail(Code::corrupt, "{}: {} was expected", place_, expected);
  }

  const Json& json() const { return json_; }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }
  Node operator[](const char* name) const {
    if (!json_.is_object()) wrong("an object");
    const auto found = json_.find(name);
    const std::string place = fmt::format("{}{}{}", place_, is_root() ? ": " : ".", name);
    if (found == json_.end()) fail(Code::corrupt, "{}: is missing", place);
    return {*found, place};
  }

  std::string text() const {
    if (!json_.is_string()) wrong("a string");
    return json_.get<std::string>();
  }
  std::uint64_t count() const {
    if (!json_.is_number_unsigned()) wrong("a whole number, 0 or more,");
    return json_.get<std::uint64_t>();
  }
  std::int64_t integer() const {
    const bool fits = json_.is_number_integer() &&
                      (!json_.is_number_unsigned() ||
                       json_.get<std::uint64_t>() <=
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits) wrong("a whole number of 64 bits");
    return json_.get<std::int64_t>();
  }
  std::string hex(std::size_t digits) const {
    const std::string value = text();
    const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
    if (value.size() != digits || !std::all_of(value.begin(), value.end(), is_hex)) {
      wrong(fmt::format("a digest of {} lower-case hex digits", digits));
    }
    return value;
  }
  // A path that stays below the manifest's directory.
  std::string name() const {
    const std::string value = text();
    try {
      if (clean_path(value) == value) return value;
    } catch (const Error&) {
    }
    wrong("a name relative to the manifest's directory, inside of it,");
  }
  std::string one_of(std::initializer_list<std::string_view> words) const {
    const std::string value = text();
    if (std::find(words.begin(), words.end(), value) != words.end()) return value;
    wrong(fmt::format("one of {}", fmt::join(words, ", ")));
  }

  // What `read` makes of each element.
  template <typename Read>
  auto list(Read read) const {
    if (!json_.is_array()) wrong("a list");
    std::vector<decltype(read(*this))> out;
    for (std::size_t i = 0; i < json_.size(); ++i) {
      out.push_back(read(Node(json_[i], fmt::format("{}[{}]", place_, i))));
    }
    return out;
  }

 private:
  bool is_root() const { return place_.find(": ") == std::string::npos; }

  const Json& json_;
  std::string place_;
};

ShardRecord read_shard(const Node& node) {
  ShardRecord shard;
  shard.name = node["name"].name();
  if (node.has("split")) shard.split = node["split"].text();
  shard.samples = node["samples"].count();
  shard.bytes = node["bytes"].count();
  shard.sha256 = node["sha256"].hex(kSha256Digits);
  if (node.has("md5")) shard.md5 = node["md5"].hex(kMd5Digits);
  return shard;
}

ExtraFile read_file(const Node& node) {
  return {node["name"].name(), node["bytes"].count(), node["sha256"].hex(kSha256Digits)};
}

ClassRecord read_class(const Node& node) {
  return {node.has("name") ? node["name"].text() : "", node["index"].integer(),
          node["samples"].count()};
}

RepeatedSample read_repeated(const Node& node) {
  return {node["key"].text(), node["shard"].name()};
}

Task read_task(const Node& node) {
  const Task task{node["index"].count(), node["count"].count()};
  if (task.index >= task.count) node.wrong("an index below the count");
  return task;
}

// nlohmann's own words begin with a number in brackets.
std::string without_prefix(std::string_view what) {
  const std::size_t end = what.find("] ");
  return printable(end == std::string_view::npos ? what : what.substr(end + 2));
}

Json parse_json(std::string_view text, std::string_view name) {
  if (text.size() > kMaxBytes) {
    fail(Code::limit, "{}: {} bytes are too many for a manifest", printable(name), text.size());
  }
  const Json::parser_callback_t check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) {
      fail(Code::limit, "{}: nested more than {} deep", printable(name), kMaxDepth);
    }
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::exception& error) {
    fail(Code::corrupt, "{}: not JSON: {}", printable(name), without_prefix(error.what()));
  }
}

template <typename Records, typename Key>
void refuse_twins(const Records& records, std::string_view name, std::string_view what, Key key) {
  std::set<std::decay_t<decltype(key(*records.begin()))>> seen;
  for (const auto& record : records) {
    if (!seen.insert(key(record)).second) {
      fail(Code::corrupt, "{}: {}: {} comes twice", printable(name), what, key(record));
    }
  }
}

// Says whether somebody has changed a shard's line by hand.
void check_totals(const Node& node, const Totals& totals) {
  const auto check = [&](const char* name, std::uint64_t value) {
    if (node[name].count() != value) {
      node[name].wrong(fmt::format("{}, which the shards add up to,", value));
    }
  };
  check("shards", totals.shards);
  check("samples", totals.samples);
  check("bytes", totals.bytes);
}

}  // namespace

Manifest Manifest::parse(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  const Node root(json, printable(name));
  const std::uint64_t version = root["manifest_version"].count();
  if (version != kVersion) {
    fail(Code::unsupported, "{}: a manifest of version {}; this program knows version {}",
         printable(name), version, kVersion);
  }
  const auto text_of = [](const Node& node) { return node.text(); };
  Manifest manifest;
  manifest.tool = root["tool"].text();
  manifest.tool_version = root["tool_version"].text();
  manifest.task = read_task(root["task"]);
  manifest.container = root["container"].one_of({"tar", "tfrecord"});
  manifest.compression = root["compression"].one_of({"none", "gzip", "zstd"});
  manifest.settings = root["settings"].json();
  manifest.listing = root["listing"].text();
  manifest.failed = root["failed"].count();
  manifest.schema = root["schema"].json();
  manifest.classes = root["classes"].list(read_class);
  manifest.dropped = root["dropped"].list(text_of);
  manifest.repeated = root["repeated"].list(read_repeated);
  manifest.files = root["files"].list(read_file);
  manifest.shards = root["shards"].list(read_shard);
  const auto name_of = [](const auto& record) { return record.name; };
  refuse_twins(manifest.shards, name, "shards", name_of);
  refuse_twins(manifest.files, name, "files", name_of);
  refuse_twins(manifest.classes, name, "classes", [](const ClassRecord& c) { return c.index; });
  check_totals(root["totals"], totals_of(manifest.shards));
  return manifest;
}

// --- merging ----------------------------------------------------------------------------------

std::string partial_manifest_name(const Task& task) {
  return fmt::format("manifest.{}-of-{}.json", task.index, task.count);
}

namespace {

[[noreturn]] void fail_different(const Manifest& a, const Manifest& b, const std::string& what) {
  fail(Code::usage, "{} and {} do not belong together: {}", partial_manifest_name(a.task),
       partial_manifest_name(b.task), what);
}

// The first setting that is not the same: "--shuffle is 1 in the one and 2 in the other".
std::string different_setting(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) {
    for (const Json* side : {&a, &b}) {
      for (const auto& [name, unused] : side->items()) {
        const Json x = a.value(name, Json()), y = b.value(name, Json());
        if (x != y) {
          return fmt::format("{} is {} in the one and {} in the other", printable(name), dump(x),
                             dump(y));
        }
      }
    }
  }
  return "they were made with other settings";
}

void check_belongs(const Manifest& first, const Manifest& part) {
  if (part.task.count != first.task.count) {
    fail_different(first, part, "the number of tasks is another");
  }
  if (part.tool != first.tool || part.tool_version != first.tool_version) {
    fail_different(first, part,
                   fmt::format("{} {} wrote the one and {} {} the other", printable(first.tool),
                               printable(first.tool_version), printable(part.tool),
                               printable(part.tool_version)));
  }
  if (part.settings != first.settings || part.container != first.container ||
      part.compression != first.compression) {
    fail_different(first, part, different_setting(first.settings, part.settings));
  }
  if (part.listing != first.listing) fail_different(first, part, "the inputs were not the same");
  if (part.schema != first.schema) fail_different(first, part, "the records have other fields");
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// What tasks say of the whole data set is the same in each: classes.txt, a plan's dropped keys.
void unite_files(Manifest& whole) {
  for (std::size_t i = 1; i < whole.files.size(); ++i) {
    const ExtraFile &a = whole.files[i - 1], &b = whole.files[i];
    if (a.name == b.name && a.sha256 != b.sha256) {
      fail(Code::usage, "the parts do not belong together: {} is not the same in all",
           printable(a.name));
    }
  }
  const auto same = [](const ExtraFile& a, const ExtraFile& b) { return a.name == b.name; };
  whole.files.erase(std::unique(whole.files.begin(), whole.files.end(), same), whole.files.end());
}

void unite_classes(Manifest& whole) {
  std::vector<ClassRecord> classes;
  for (ClassRecord& record : whole.classes) {
    if (classes.empty() || classes.back().index != record.index) {
      classes.push_back(std::move(record));
    } else if (classes.back().name != record.name) {
      fail(Code::usage,
           "the parts do not belong together: class {} is '{}' in one and '{}' in "
           "another",
           record.index, printable(classes.back().name), printable(record.name));
    } else {
      classes.back().samples += record.samples;
    }
  }
  whole.classes = std::move(classes);
}

void check_complete(const std::vector<Manifest>& parts) {
  const std::uint64_t count = parts[0].task.count;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i < parts.size() && parts[i].task.index < i) {
      fail(Code::usage, "{} is there twice", partial_manifest_name(parts[i].task));
    }
    if (i >= parts.size() || parts[i].task.index > i) {
      fail(Code::usage, "{} is missing", partial_manifest_name({i, count}));
    }
  }
  if (parts.size() > count) {
    fail(Code::usage, "{} is there twice", partial_manifest_name(parts[count].task));
  }
}

}  // namespace

Manifest merge_manifests(std::vector<Manifest> parts) {
  if (parts.empty()) fail(Code::usage, "there is no manifest to merge");
  std::sort(parts.begin(), parts.end(),
            [](const Manifest& a, const Manifest& b) { return a.task.index < b.task.index; });
  for (const Manifest& part : parts) check_belongs(parts[0], part);
  check_complete(parts);
  Manifest whole = std::move(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    append(whole.files, std::move(parts[i].files));
    append(whole.classes, std::move(parts[i].classes));
    append(whole.shards, std::move(parts[i].shards));
    append(whole.dropped, std::move(parts[i].dropped));
    append(whole.repeated, std::move(parts[i].repeated));
    whole.failed += parts[i].failed;
  }
  whole.task = Task();
  whole.sort();
  unite_files(whole);
  unite_classes(whole);
  return whole;
}

}  // namespace prep
