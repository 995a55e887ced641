// Credentials that the place gives where the program runs: a container's, an EC2 instance's.
#pragma once

#include <optional>
#include <string>

#include "lib/remote/credentials.h"

namespace prep {

// ECS and EKS: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, the latter only over https, or
// to this machine and the addresses that ECS and EKS use; AWS_CONTAINER_AUTHORIZATION_TOKEN(_FILE).
// Nothing if neither is set. throws Error usage, io, corrupt.
// Source: "Container credential provider", AWS SDKs and Tools Reference Guide.
std::optional<Credentials> container_credentials(const SimpleHttp& http);

// EC2: the instance metadata service, version 2 only. Nothing if AWS_EC2_METADATA_DISABLED, or if
// there is no such service or no role, and then `why` says so. throws Error usage, io, corrupt.
// Source: "IMDS credential provider", AWS SDKs and Tools Reference Guide.
std::optional<Credentials> instance_credentials(const SimpleHttp& http, std::string* why);

}  // namespace prep
