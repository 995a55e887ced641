// Roles: AWS's Security Token Service, over its query API.
// Source: AWS Security Token Service API Reference, AssumeRole and AssumeRoleWithWebIdentity.
#pragma once

#include <cstdint>
#include <string>

#include "lib/remote/credentials.h"

namespace prep {

struct Sts {
  std::string endpoint_url;  // without "/" at its end
  std::string region;        // that it signs for
};
// Its configured endpoint, else the region's. throws Error usage.
Sts resolve_sts(const std::string& region, const std::string& profile);

struct RoleRequest {
  std::string role_arn;
  std::string session_name;  // "": one that tells this program
  std::string external_id;   // "": none
  std::string duration;      // seconds, "": the service's default
};

// `origin` is what the credentials are called, and begins messages. throws Error io, corrupt.
Credentials assume_role(const Sts& sts, const RoleRequest& role, const Credentials& source,
                        const std::string& origin, const SimpleHttp& http, std::int64_t now);
// The token is what stands in the file. throws Error not_found, io, corrupt, limit.
Credentials assume_role_with_web_identity(const Sts& sts, const RoleRequest& role,
                                          const std::string& token_file, const std::string& origin,
                                          const SimpleHttp& http, std::int64_t now);

}  // namespace prep
