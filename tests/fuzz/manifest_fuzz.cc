// Reads any bytes as a manifest: what can be read comes back from its own JSON as it was.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/manifest.h"
#include "lib/core/bytes.h"
#include "lib/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  std::string json;
  try {
    Manifest manifest = Manifest::parse(as_text({data, size}), "manifest.json");
    manifest.sort();
    manifest.sha256sums();
    json = manifest.to_json();
  } catch (const Error&) {
    return 0;
  }
  if (Manifest::parse(json, "manifest.json").to_json() != json) std::abort();
  return 0;
}
