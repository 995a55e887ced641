// Reads any bytes as a tar, as a stream and as a file: both must come to the same samples or
// errors.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "formats/tar.h"
#include "lib/core/error.h"

namespace {

using namespace prep;

struct Result {
  std::string samples;  // keys, parts, data and faults
  std::string error;    // that ended it
};

Result read_all(Source& source) {
  Result result;
  try {
    Sample sample;
    while (source.next(sample)) {
      result.samples += sample.key;
      for (const Part& part : sample.parts) {
        result.samples.append("|").append(part.name).append("=").append(
            part.content->load().text());
      }
      if (sample.fault) result.samples.append("!").append(sample.fault->what());
    }
  } catch (const Error& error) {
    result.error.append(code_name(error.code())).append(" ").append(error.what());
  }
  return result;
}

void check(ByteView bytes) {
  TarSource stream(std::make_unique<MemoryReader>(Bytes::copy(bytes)), "x.tar");
  const Result streamed = read_all(stream);
  Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  write_fully(file.get(), bytes, "fuzz");
  lseek(file.get(), 0, SEEK_SET);
  TarSource range(std::move(file), "x.tar");
  const Result ranged = read_all(range);
  if (streamed.error != ranged.error) std::abort();
  // Where a file ends is known, so that a cut may be found out a sample earlier.
  if (!streamed.samples.starts_with(ranged.samples)) std::abort();
  if (streamed.error.empty() && streamed.samples != ranged.samples) std::abort();
}

// Puts the checksum right in every block that claims to be a header: otherwise hardly any change
// would get past it.
std::vector<std::uint8_t> with_checksums(ByteView bytes) {
  constexpr std::size_t kChecksum = 148, kMagic = 257;
  std::vector<std::uint8_t> fixed(bytes.begin(), bytes.end());
  for (std::size_t begin = 0; begin + kTarBlock <= fixed.size(); begin += kTarBlock) {
    const std::span block = std::span(fixed).subspan(begin, kTarBlock);
    if (std::memcmp(&block[kMagic], "ustar", 5) != 0) continue;
    std::fill_n(&block[kChecksum], 8, ' ');
    unsigned sum = 0;
    for (const std::uint8_t byte : block) sum += byte;
    fmt::format_to_n(&block[kChecksum], 6, "{:06o}", sum);
  }
  return fixed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({data, size});
  check(with_checksums({data, size}));
  return 0;
}
