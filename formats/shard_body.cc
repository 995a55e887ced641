#include "formats/shard_body.h"

#include "formats/tar_header.h"
#include "formats/tar_sample_writer.h"
#include "formats/tfrecord_writer.h"

namespace prep {
namespace {

class TarBody final : public ShardBody {
 public:
  explicit TarBody(ByteWriter& out) : writer_(out) {}
  PlacedSample add(const Sample& sample) override { return writer_.add(sample); }
  void finish() override { writer_.finish(); }
  std::uint64_t size() const override { return writer_.offset(); }
  std::uint64_t pax_members() const override { return writer_.pax_members(); }

 private:
  TarSampleWriter writer_;
};

class TfRecordBody final : public ShardBody {
 public:
  TfRecordBody(ByteWriter& out, std::shared_ptr<const ExampleSchema> schema)
      : writer_(out), schema_(std::move(schema)) {}

  PlacedSample add(const Sample& sample) override {
    const auto record = std::make_shared<ExampleRecord>();
    try {
      schema_->encode(sample, *record);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      throw BadSample(error.code(), error.what());
    }
    const TfRecordWriter::Place place = writer_.add(record->pieces(), record);
    return {sample.key, place.offset, place.offset + place.size, {}};
  }
  void finish() override { writer_.finish(); }
  std::uint64_t size() const override { return writer_.offset(); }

 private:
  TfRecordWriter writer_;
  const std::shared_ptr<const ExampleSchema> schema_;
};

}  // namespace

const char* container_name(ShardContainer container) {
  return container == ShardContainer::tar ? "tar" : "tfrecord";
}

std::uint64_t sample_size(ShardContainer container, const ExampleSchema* schema,
                          std::string_view key, std::span<const ExampleSchema::PartSize> parts) {
  if (container == ShardContainer::tfrecord) return schema->max_record_size(key.size(), parts);
  std::uint64_t sum = 0;
  for (const auto& part : parts) {
    sum += TarSampleWriter::member_size(part_path(key, part.name), part.size);
  }
  return sum;
}

std::uint64_t empty_shard_size(ShardContainer container) {
  return container == ShardContainer::tar ? 2 * kTarBlock : 0;
}

std::unique_ptr<ShardBody> make_shard_body(ShardContainer container, ByteWriter& out,
                                           std::shared_ptr<const ExampleSchema> schema) {
  if (container == ShardContainer::tar) return std::make_unique<TarBody>(out);
  return std::make_unique<TfRecordBody>(out, std::move(schema));
}

}  // namespace prep
