// Checks one shard, whatever it is, against its format, the indexes beside it and its manifest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "formats/example_schema.h"
#include "formats/manifest.h"
#include "formats/shard_body.h"
#include "formats/shard_index.h"
#include "formats/verify_finding.h"
#include "formats/verify_payload.h"
#include "formats/verify_samples.h"
#include "lib/core/file_io.h"

namespace prep {

struct ShardCheck {
  std::string path;                         // "-": standard input
  std::optional<ShardContainer> container;  // told by its content if it is not given
  // What the manifest says of it, and what its records hold; null if nobody said so.
  const ShardRecord* expected = nullptr;
  const ExampleSchema* schema = nullptr;
  std::set<std::string> repeated;  // keys that may come again in it (as json_text)
  bool wants_md5 = false;
};

struct VerifyOptions {
  bool quick = false;  // headers and sizes: no digests, nothing of the data
  PayloadOptions payload;
  std::set<std::string> optional_parts;
  bool for_repair = false;  // keeps what a repair needs
};

struct ShardReport {
  std::vector<Finding> findings;
  std::uint64_t errors = 0, warnings = 0;

  ShardContainer container = ShardContainer::tar;
  Compression compression = Compression::none;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string sha256, md5;  // "" if they were not taken
  std::map<std::int64_t, std::uint64_t> labels;
  std::string common_parts;
  ShardKeys keys;
  std::vector<IndexKind> indexes;  // that lie beside it

  // With for_repair: what was found, and the bytes of the archive, decompressed.
  bool is_intact = false;  // nothing is wrong with the archive itself
  std::vector<VerifiedSample> kept;
  std::vector<LostBytes> lost;
  std::shared_ptr<const Fd> archive;
};

// What is wrong with the shard is in the report. throws Error only for a signal, or where memory or
// the disk for temporary files is short.
ShardReport verify_shard(const ShardCheck& check, const VerifyOptions& options);

// Whether a path is called like a tar, or like a TFRecord.
bool has_tar_name(std::string_view path);
bool has_tfrecord_name(std::string_view path);

}  // namespace prep
