// What shards hold, behind one interface: samples as members of a tar, or as records of a TFRecord.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "formats/compression.h"
#include "formats/example_schema.h"
#include "formats/shard_index.h"
#include "lib/core/sample.h"

namespace prep {

enum class ShardContainer { tar, tfrecord };
// "tar", "tfrecord".
const char* container_name(ShardContainer container);

class ShardBody {
 public:
  virtual ~ShardBody() = default;
  // throws BadSample when nothing of the sample was written, else Error.
  virtual PlacedSample add(const Sample& sample) = 0;
  // Writes the end mark, if the format has one.
  virtual void finish() = 0;
  // Bytes so far, before compression.
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t pax_members() const { return 0; }
};

// What a sample takes of a shard before compression: of a tar exactly, of a TFRecord at most; and
// what a shard takes by itself. `schema` as below.
std::uint64_t sample_size(ShardContainer container, const ExampleSchema* schema,
                          std::string_view key, std::span<const ExampleSchema::PartSize> parts);
std::uint64_t empty_shard_size(ShardContainer container);

// `out` must outlive the body. `schema` is a TFRecord's, else null.
std::unique_ptr<ShardBody> make_shard_body(ShardContainer container, ByteWriter& out,
                                           std::shared_ptr<const ExampleSchema> schema);

}  // namespace prep
