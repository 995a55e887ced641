// Reads any bytes as both files of AWS profiles, the second behind a NUL if there is one.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/core/bytes.h"
#include "lib/core/error.h"
#include "lib/remote/profile_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  const std::string_view text = as_text({data, size});
  const std::size_t nul = text.find('\0');
  const std::string_view config = text.substr(0, nul);
  const std::string_view credentials = nul == text.npos ? text : text.substr(nul + 1);
  try {
    const ProfileFiles files(config, credentials);
    for (const char* name : {"default", "dev", ""}) {
      const ProfileFiles::Profile* profile = files.find(name);
      if (profile && profile->contains("")) std::abort();  // a setting has a name
      files.find_services(name);
    }
  } catch (const Error& error) {
    if (error.code() != Code::corrupt) std::abort();
  }
  return 0;
}
