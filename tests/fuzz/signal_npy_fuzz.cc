// Reads any bytes as a .npy in both layouts, and all samples of what opens.
#include <cstdint>

#include "lib/signal/npy.h"
#include "tests/fuzz/read_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  const auto content = std::make_shared<MemoryContent>(Bytes::copy({data, size}), "fuzz");
  using Layout = signal::OpenOptions::NpyLayout;
  for (const Layout layout : {Layout::channels_time, Layout::time_channels}) {
    signal::OpenOptions options;
    options.rate = 128;
    options.npy_layout = layout;
    fuzz::open_and_read([&] { return signal::open_npy(content, options); });
  }
  return 0;
}
