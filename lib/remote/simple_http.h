// One HTTP exchange, waited for: how credentials are asked for.
#pragma once

#include <string>

#include "lib/remote/credentials.h"

namespace prep {

// A SimpleHttp over libcurl. Ends early, as without an answer, when a signal asked the run to end.
SimpleHttp make_simple_http(std::string ca_bundle, std::string user_agent);

}  // namespace prep
