// Reads any bytes as a TFRecord, as a stream and as a file, which must come to the same; goes on
// behind damage; and puts what can be read together again.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/tfrecord.h"
#include "lib/core/error.h"

namespace {

using namespace prep;

std::shared_ptr<const Fd> memory_file(ByteView bytes) {
  auto file = std::make_shared<const Fd>(memfd_create("fuzz", MFD_CLOEXEC));
  write_fully(file->get(), bytes, "fuzz");
  return file;
}

// Goes on behind damage, to the end. Each step must lead forward, or it would never get there.
void walk(TfRecordReader reader, bool skip) {
  TfRecord record;
  std::uint64_t next_failure = 0;
  for (;;) {
    try {
      if (!(skip ? reader.skip(record) : reader.next(record))) return;
    } catch (const Error&) {
      if (reader.record_offset() < next_failure) std::abort();
      next_failure = reader.record_offset() + 1;
      if (!reader.resync()) return;
      if (reader.position() < next_failure) std::abort();
    }
  }
}

void check_framing(ByteView bytes) {
  walk({std::make_unique<MemoryReader>(Bytes::copy(bytes)), "x"}, false);
  const auto file = memory_file(bytes);
  walk({file, "x", 0, bytes.size()}, false);
  walk({file, "x", 0, bytes.size()}, true);
}

// Samples, and the error that ended it.
std::string read_all(Source& source, std::vector<Sample>* samples = nullptr) {
  std::string result;
  Sample sample;
  try {
    while (source.next(sample)) {
      result += sample.key;
      for (const Part& part : sample.parts) {
        result.append("|").append(part.name).append("=").append(part.content->load().text());
      }
      if (sample.fault) result.append("!").append(sample.fault->what());
      if (samples && !sample.fault) samples->push_back(std::move(sample));
    }
  } catch (const Error& error) {
    result.append("#").append(error.what());
  }
  return result;
}

// A sample whose record is written comes back as it was, where its parts are bytes.
void check_round_trip(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    ExampleOptions options;
    for (const Part& part : sample.parts) options.types.push_back({part.name, FeatureType::bytes});
    ExampleRecord record;
    ExampleSchema schema;
    try {
      schema = ExampleSchema::decide(sample, options);
      schema.encode(sample, record);
    } catch (const Error& error) {
      if (error.code() != Code::name && error.code() != Code::duplicate) std::abort();
      continue;
    }
    std::vector<std::uint8_t> data;
    for (const ByteView piece : record.pieces())
      data.insert(data.end(), piece.begin(), piece.end());
    schema.check(parse_example(data));
    TfRecord again;
    again.length = data.size();
    again.data = Bytes::take(data);
    Tally left_out;
    const Sample back = sample_of_record(again, 0, {}, left_out);
    if (back.fault || back.key != sample.key || back.parts.size() != sample.parts.size()) {
      std::abort();
    }
    for (std::size_t i = 0; i < back.parts.size(); ++i) {
      if (back.parts[i].name != sample.parts[i].name) std::abort();
      if (back.parts[i].content->load().text() != sample.parts[i].content->load().text()) {
        std::abort();
      }
    }
  }
}

void check_samples(ByteView bytes) {
  std::vector<Sample> samples;
  TfRecordSource stream(std::make_unique<MemoryReader>(Bytes::copy(bytes)), "x.tfrecord");
  const std::string streamed = read_all(stream, &samples);
  Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  write_fully(file.get(), bytes, "fuzz");
  lseek(file.get(), 0, SEEK_SET);
  TfRecordSource range(std::move(file), "x.tfrecord");
  if (read_all(range) != streamed) std::abort();
  check_round_trip(samples);
}

std::string framed(ByteView data) {
  Crc32c crc;
  crc.update(data);
  std::string record(as_text(tfrecord_header(data.size())));
  return record.append(as_text(data)).append(as_text(tfrecord_footer(crc)));
}

// Records whose lengths are those that the bytes give, as far as they go, with checksums that fit:
// otherwise hardly any change would get past them.
std::string with_checksums(ByteView bytes) {
  std::string fixed;
  while (bytes.size() >= kTfRecordOverhead) {
    const std::size_t wanted = bytes[0] | bytes[1] << 8;
    bytes = bytes.subspan(kTfRecordHeader);
    const std::size_t length = std::min(wanted, bytes.size());
    fixed += framed(bytes.first(length));
    bytes = bytes.subspan(std::min(length + kTfRecordFooter, bytes.size()));
  }
  return fixed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  check_framing(bytes);
  check_samples(bytes);
  check_samples(as_bytes(with_checksums(bytes)));
  check_samples(as_bytes(framed(bytes)));
  return 0;
}
