// Reads any bytes as a table, with every idea of its time column, and all samples of what opens.
#include <cstdint>

#include "lib/signal/csv.h"
#include "tests/fuzz/read_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  const auto content = std::make_shared<MemoryContent>(Bytes::copy({data, size}), "fuzz");
  signal::looks_like_csv({data, size}, true);
  signal::looks_like_csv({data, size}, false);
  using Time = signal::OpenOptions::TimeColumn;
  for (const Time time : {Time::automatic, Time::first, Time::none}) {
    signal::OpenOptions options;
    options.time_column = time;
    if (time == Time::none) options.rate = 128;
    fuzz::open_and_read([&] { return signal::open_csv(content, options); });
  }
  return 0;
}
