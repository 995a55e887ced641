// Reads any bytes as the three files of a BrainVision recording, which two lines of "=====" part:
// header, markers, data.
#include <cstdint>
#include <string_view>

#include "lib/signal/format.h"
#include "tests/fuzz/read_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  constexpr std::string_view kBetween = "=====\n";
  std::string_view rest = as_text({data, size});
  Sample sample;
  sample.key = "a";
  for (const char* name : {"vhdr", "vmrk", "eeg"}) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    const Bytes bytes = Bytes::copy(as_bytes(rest.substr(0, end)));
    sample.parts.push_back({name, std::make_shared<MemoryContent>(bytes, "fuzz")});
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  try {
    for (const auto& parts : signal::find_recordings(sample)) {
      fuzz::open_and_read([&] { return signal::open_recording(sample, parts, {}); });
    }
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
  }
  return 0;
}
