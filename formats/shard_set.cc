#include "formats/shard_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>

#include "formats/dataset_index.h"
#include "formats/tree.h"
#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

constexpr char kClassesName[] = "classes.txt";

void write_file(const std::string& directory, const std::string& name, std::string_view text) {
  const std::string path = join_path(directory, name);
  make_directories(parent_directory(path));
  AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
  file.write(as_bytes(text));
  file.commit(/*sync=*/true);
}

// Writes a file that the manifest names.
void add_file(const std::string& directory, const std::string& name, const std::string& text,
              Manifest& manifest) {
  write_file(directory, name, text);
  manifest.files.push_back({name, text.size(), hex_digest(Digest::Kind::sha256, as_bytes(text))});
}

// A name a line; empty where the classes have only numbers.
std::string class_list(const Manifest& manifest) {
  std::string list;
  for (const ClassRecord& record : manifest.classes) {
    if (record.name.empty()) return "";
    list += record.name + "\n";
  }
  return list;
}

bool has(const std::vector<IndexKind>& kinds, IndexKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

IndexKind parse_index_kind(std::string_view word, bool tfrecord) {
  if (word == "dali") return tfrecord ? IndexKind::tfrecord : IndexKind::dali;
  if (word == "tfrecord" && tfrecord) return IndexKind::tfrecord;
  if (word == "wids" && !tfrecord) return IndexKind::wids;
  if (word == "energon" && !tfrecord) return IndexKind::energon;
  fail(Code::usage, "--index {}: {}", printable(word),
       tfrecord ? "of TFRecords there is an index for DALI only: tfrecord"
                : "of tars there are indexes for dali, wids and energon");
}

// The name of the data set in an index: its directory's.
std::string set_name(const std::string& directory) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(directory.c_str(), nullptr),
                                                    std::free);
  if (!real && errno == ENOMEM) throw std::bad_alloc();
  if (!real) fail_errno(errno, "find", directory);
  return std::string(base_name(real.get()));
}

// Whether `whole` was merged from this part among others.
bool is_part_of(const Manifest& part, const Manifest& whole) {
  const auto is_in_whole = [&](const ShardRecord& shard) {
    return std::any_of(whole.shards.begin(), whole.shards.end(), [&](const ShardRecord& other) {
      return other.name == shard.name && other.sha256 == shard.sha256;
    });
  };
  return part.settings == whole.settings && part.listing == whole.listing &&
         std::all_of(part.shards.begin(), part.shards.end(), is_in_whole);
}

void remove_files(const std::string& directory, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = join_path(directory, name);
    if (unlink(path.c_str()) != 0) fail_errno(errno, "remove", path);
  }
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for_each_entry(directory, [&](int, const dirent& entry) {
    names.emplace_back(entry.d_name);
    return true;
  });
  return names;
}

bool is_partial_manifest(std::string_view name) {
  return name.starts_with("manifest.") && name.ends_with(".json") &&
         name.find("-of-") != std::string_view::npos;
}

void check_file(const std::string& directory, const std::string& name, std::uint64_t bytes) {
  const std::string path = join_path(directory, name);
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) fail_errno(errno, "find", path);
  if (static_cast<std::uint64_t>(st.st_size) != bytes) {
    fail(Code::corrupt, "{}: has {} bytes, and {} in its manifest", printable(path), st.st_size,
         bytes);
  }
}

void check_files(const std::string& directory, const Manifest& manifest) {
  for (const ShardRecord& shard : manifest.shards) check_file(directory, shard.name, shard.bytes);
  for (const ExtraFile& file : manifest.files) check_file(directory, file.name, file.bytes);
}

}  // namespace

std::vector<IndexKind> parse_index_kinds(const std::vector<std::string>& words, bool tfrecord) {
  std::vector<IndexKind> kinds;
  for (const std::string& word : words) {
    const IndexKind kind = parse_index_kind(word, tfrecord);
    if (!has(kinds, kind)) kinds.push_back(kind);
  }
  return kinds;
}

std::string read_text_file(const std::string& path, std::uint64_t limit) {
  const Fd file = open_file(path, O_RDONLY);
  const struct stat st = file_status(file.get(), path);
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > limit) fail(Code::limit, "{}: over {} bytes", printable(path), limit);
  std::string text(size, '\0');
  text.resize(pread_fully(file.get(), reinterpret_cast<std::uint8_t*>(text.data()), size, 0, path));
  return text;
}

void write_shard_set(const std::string& directory, Manifest manifest,
                     const std::vector<IndexKind>& indexes) {
  manifest.sort();
  if (const std::string list = class_list(manifest); !list.empty()) {
    add_file(directory, kClassesName, list, manifest);
  }
  if (has(indexes, IndexKind::wids)) {
    add_file(directory, kWidsIndexName, wids_index(manifest, set_name(directory)), manifest);
  }
  if (has(indexes, IndexKind::energon)) {
    add_file(directory, kEnergonInfoName, energon_info(manifest), manifest);
    add_file(directory, kEnergonSplitsName, energon_splits(manifest), manifest);
  }
  manifest.sort();
  write_file(directory, kSumsName, manifest.sha256sums());
  write_file(directory, kManifestName, manifest.to_json());
}

void write_partial_manifest(const std::string& directory, Manifest manifest) {
  manifest.sort();
  write_file(directory, partial_manifest_name(manifest.task), manifest.to_json());
}

Manifest merge_shard_set(const std::string& directory) {
  std::vector<Manifest> parts;
  std::vector<std::string> names;
  bool has_whole = false;
  for (const std::string& name : names_in(directory)) {
    if (name.starts_with(".prep-") && name.ends_with(".partial")) {
      fail(Code::usage, "{}: is not complete: a task has not finished (it holds {}); run it again",
           printable(directory), printable(name));
    }
    has_whole = has_whole || name == kManifestName;
    if (!is_partial_manifest(name)) continue;
    const std::string path = join_path(directory, name);
    parts.push_back(Manifest::parse(read_text_file(path, Manifest::kLargest), path));
    names.push_back(name);
  }
  if (has_whole) {
    const std::string path = join_path(directory, kManifestName);
    Manifest whole = Manifest::parse(read_text_file(path, Manifest::kLargest), path);
    // Done already, but perhaps for tidying up.
    if (std::all_of(parts.begin(), parts.end(),
                    [&](const Manifest& part) { return is_part_of(part, whole); })) {
      check_files(directory, whole);
      remove_files(directory, names);
      return whole;
    }
  }
  if (parts.empty()) {
    fail(Code::usage, "{}: there is no manifest of a task in it (manifest.0-of-4.json, …)",
         printable(directory));
  }
  Manifest whole = merge_manifests(std::move(parts));
  check_files(directory, whole);
  std::vector<std::string> kinds;
  if (whole.settings.contains("index")) kinds = whole.settings["index"];
  write_shard_set(directory, whole, parse_index_kinds(kinds, whole.container == "tfrecord"));
  remove_files(directory, names);
  return whole;
}

}  // namespace prep
