// Credentials that a program prints: credential_process of a profile.
// Source: "Process credential provider", AWS SDKs and Tools Reference Guide.
#pragma once

#include <string>

#include "lib/remote/credentials.h"

namespace prep {

// Runs the command in /bin/sh, with nothing to read, and takes the JSON that it prints. throws
// Error io (it failed: with what it wrote to standard error; or took longer than `timeout_s`),
// corrupt (what it printed is no such JSON, or more than 64 kB), interrupted.
Credentials credentials_of_process(const std::string& command, const std::string& origin,
                                   double timeout_s = 60);

}  // namespace prep
