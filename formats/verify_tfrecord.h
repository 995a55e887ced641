// Checks a TFRecord: framing and checksums, the message in each record, and the samples that they
// are. Damage does not end the walk; it goes on at the next record.
#pragma once

#include <string>

#include "formats/example_schema.h"
#include "formats/tfrecord_reader.h"
#include "formats/verify_finding.h"
#include "formats/verify_payload.h"
#include "formats/verify_samples.h"

namespace prep {

struct TfRecordCheck {
  std::string name;                       // the reader's, for keys, and as its messages begin
  std::uint64_t size = UINT64_MAX;        // of the records' bytes, if it is known
  bool quick = false;                     // lengths only: no data is looked at
  const ExampleSchema* schema = nullptr;  // that each record has to fit
  PayloadOptions payload;
};

// Does not finish the ledger. throws what reading throws (io, and what decompressing does).
void verify_tfrecord(TfRecordReader& reader, const TfRecordCheck& check, SampleLedger& ledger,
                     Findings& findings);

}  // namespace prep
