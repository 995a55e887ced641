// Reads any bytes as each document of S3 and STS: what a listing yields keeps to S3's limits.
#include <cstdint>
#include <cstdlib>

#include "lib/core/bytes.h"
#include "lib/core/error.h"
#include "lib/remote/s3_xml.h"

namespace {

void check(const prep::ListPage& page) {
  for (const prep::ObjectInfo& object : page.objects) {
    if (object.key.empty() || object.key.size() > 1024 || object.size > INT64_MAX) std::abort();
  }
  if (page.is_truncated && page.next_token.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prep;
  const std::string_view xml = as_text({data, size});
  try {
    check(parse_list_page(xml));
  } catch (const Error&) {
  }
  if (parse_s3_error(xml).message.size() > 1000) std::abort();
  try {
    if (parse_sts_credentials(xml).access_key.empty()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
