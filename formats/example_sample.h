// Records as samples: which feature is which part. docs/tfrecord.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "formats/tfrecord_reader.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep {

// The file that records come from.
struct RecordFile {
  std::string name;                // for messages and, without directory and dots, for keys
  std::shared_ptr<const Fd> file;  // null, or where contents lie as ranges at the records' offsets
  std::int64_t mtime_ns = 0;
};

// Makes a sample of a record; `number` counts from 0 in the file. The parts are slices of the
// record, in order of their names. What is wrong with a record becomes the sample's fault. What
// only describes the picture is left out and counted.
Sample sample_of_record(const TfRecord& record, std::uint64_t number, const RecordFile& file,
                        Tally& left_out);

}  // namespace prep
