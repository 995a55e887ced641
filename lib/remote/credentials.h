// Who signs: the chain in which AWS's SDKs look for credentials.
// Source: "Standardized credential providers", AWS SDKs and Tools Reference Guide.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/remote/simple_exchange.h"

namespace prep {

struct Credentials {
  std::string access_key, secret_key, session_token;
  std::optional<std::int64_t> expires;  // seconds since 1970
  std::string origin;  // "environment", "profile x of ~/.aws/credentials": for messages
  bool anonymous() const { return access_key.empty(); }
};

struct CredentialOptions {
  std::string profile;  // --profile; "": AWS_PROFILE, then "default"
  bool no_sign_request = false;
  std::string region;                 // for STS; "": the profile's
  std::function<std::int64_t()> now;  // seconds since 1970; none: the system's clock
};

// In this order: environment; web identity; profile (static keys, role_arn with source_profile or
// credential_source, web identity, credential_process); ECS/EKS container; EC2's IMDSv2. An
// explicit
// --profile goes before the environment, and nothing comes after it. A provider that is configured
// and fails ends the search. Thread-safe: one thread looks, the others wait for it.
class CredentialChain {
 public:
  CredentialChain(CredentialOptions options, SimpleHttp http);
  ~CredentialChain();

  // Looked up again some minutes before they expire; as long as that fails, those that are there
  // do. throws Error not_found (there are none: says where was looked), io, usage, corrupt,
  // unsupported.
  Credentials get();
  // The server said that these are expired: the next get() looks again.
  void expired(const Credentials& credentials);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prep
