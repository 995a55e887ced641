// Reads any bytes as an EDF or BDF, and all samples of what opens: as float and as double, one
// channel at a time and all at once, which must come to the same.
#include <cstdint>

#include "lib/signal/edf.h"
#include "tests/fuzz/read_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  const auto content = std::make_shared<MemoryContent>(Bytes::copy({data, size}), "fuzz");
  fuzz::open_and_read([&] { return signal::open_edf(content, {}); });
  return 0;
}
