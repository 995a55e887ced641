#include "lib/remote/simple_exchange.h"

namespace prep {
namespace {

bool is_worth_another_try(int status) { return status == 0 || status == 429 || status >= 500; }

}  // namespace

SimpleResponse ask_repeatedly(const SimpleRequest& request, int attempts, const SimpleHttp& http) {
  SimpleResponse response = http(request);
  for (int i = 1; i < attempts && is_worth_another_try(response.status); ++i) {
    response = http(request);
  }
  return response;
}

}  // namespace prep
