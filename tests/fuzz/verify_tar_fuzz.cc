// Checks any bytes as a tar, as a stream and as a file. Where both find nothing, a reader must come
// through, and what is kept for a repair must lie in the archive.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "formats/tar.h"
#include "formats/verify_tar.h"
#include "lib/core/error.h"

namespace {

using namespace prep;

// The number of errors.
std::uint64_t check(VerifyInput& input, std::uint64_t size) {
  Findings findings("x.tar");
  SampleLedger::Options options;
  options.keep_samples = true;
  options.indexes = {IndexKind::dali, IndexKind::energon};
  SampleLedger ledger(findings, std::move(options));
  verify_tar(input, {}, ledger, findings);
  ledger.finish();
  for (const VerifiedSample& sample : ledger.take_samples()) {
    for (const PlacedSample::Part& part : sample.placed.parts) {
      if (part.offset > size || part.size > size - part.offset) std::abort();
    }
  }
  for (const LostBytes& lost : ledger.take_lost()) {
    if (lost.begin > lost.end || lost.end > size) std::abort();
  }
  findings.finish();
  return findings.errors();
}

bool can_be_read(ByteView bytes) {
  TarSource source(std::make_unique<MemoryReader>(Bytes::copy(bytes)), "x.tar");
  try {
    Sample sample;
    while (source.next(sample)) {
      if (sample.fault) return false;
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  VerifyInput stream(std::make_unique<MemoryReader>(Bytes::copy(bytes)));
  const std::uint64_t streamed = check(stream, size);
  const auto file = std::make_shared<const Fd>(memfd_create("fuzz", MFD_CLOEXEC));
  write_fully(file->get(), bytes, "fuzz");
  VerifyInput ranges(file, "x.tar", size);
  const std::uint64_t ranged = check(ranges, size);
  if ((streamed == 0) != (ranged == 0)) std::abort();
  // Gzip and zstd are not decompressed here.
  if (streamed == 0 && !can_be_read(bytes)) std::abort();
  return 0;
}
