#include "lib/remote/credentials.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "lib/core/error.h"
#include "lib/remote/credential_process.h"
#include "lib/remote/environment.h"
#include "lib/remote/metadata_credentials.h"
#include "lib/remote/profile_files.h"
#include "lib/remote/sts.h"

namespace prep {
namespace {

constexpr std::int64_t kRenewBefore = 300;  // seconds before the expiry
constexpr std::int64_t kLookAgain = 30;     // after a lookup that brought nothing better
constexpr std::size_t kMaxChain = 16;       // profiles that refer to each other

std::string setting(const ProfileFiles::Profile& profile, const std::string& name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

bool has_sso(const ProfileFiles::Profile& profile) {
  return profile.contains("sso_session") || profile.contains("sso_start_url");
}

// One walk through all providers.
class Search {
 public:
  Search(const CredentialOptions& options, const SimpleHttp& http, std::int64_t now)
      : options_(options), http_(http), now_(now), files_(ProfileFiles::load()) {}

  Credentials find() {
    if (!options_.profile.empty()) return explicit_profile();
    std::optional<Credentials> found = of_environment();
    if (!found) found = of_web_identity();
    if (!found) found = of_chosen_profile();
    if (!found) found = of_container();
    if (!found) found = of_instance();
    if (!found) fail_nowhere();
    return *std::move(found);
  }

 private:
  // --- the environment ---------------------------------------------------------------------------

  std::optional<Credentials> of_environment() {
    Credentials credentials{environment("AWS_ACCESS_KEY_ID"),
                            environment("AWS_SECRET_ACCESS_KEY"),
                            environment("AWS_SESSION_TOKEN"),
                            {},
                            "environment"};
    if (credentials.access_key.empty() != credentials.secret_key.empty()) {
      fail(Code::usage, "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set");
    }
    if (!credentials.access_key.empty()) return credentials;
    looked_.push_back("environment (AWS_ACCESS_KEY_ID is not set)");
    return std::nullopt;
  }

  std::optional<Credentials> of_web_identity() {
    const std::string token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    const std::string role_arn = environment("AWS_ROLE_ARN");
    if (token_file.empty()) {
      looked_.push_back("web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not set)");
      return std::nullopt;
    }
    if (role_arn.empty()) {
      fail(Code::usage, "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
    }
    const RoleRequest role{role_arn, environment("AWS_ROLE_SESSION_NAME"), "", ""};
    const std::string origin = fmt::format("web identity as {}", printable(role_arn));
    return assume_role_with_web_identity(sts(options_.region), role, expand_home(token_file),
                                         origin, http_, now_);
  }

  // --- profiles ----------------------------------------------------------------------------------

  Credentials explicit_profile() {
    std::optional<Credentials> found = of_profile(options_.profile);
    if (!found) {
      fail(Code::not_found, "profile {} has no credentials in {}", printable(options_.profile),
           files_.names());
    }
    return *std::move(found);
  }

  std::optional<Credentials> of_chosen_profile() {
    const std::string name = chosen_profile("");
    const bool is_named = !environment("AWS_PROFILE").empty();
    if (is_named || files_.find(name)) {
      if (std::optional<Credentials> found = of_profile(name)) return found;
    }
    looked_.push_back(
        fmt::format("profile {} (no credentials in {})", printable(name), files_.names()));
    return std::nullopt;
  }

  const ProfileFiles::Profile& profile(const std::string& name) const {
    const ProfileFiles::Profile* found = files_.find(name);
    if (!found) {
      fail(Code::not_found, "there is no profile {} in {}", printable(name), files_.names());
    }
    return *found;
  }

  std::string origin_of(const std::string& name) const {
    return fmt::format("profile {}", printable(name));
  }

  // What a profile that was chosen says: a role goes before its own keys, which may be for the
  // role.
  std::optional<Credentials> of_profile(const std::string& name) {
    visited_.push_back(name);
    const ProfileFiles::Profile& chosen = profile(name);
    if (chosen.contains("role_arn")) return of_role(name, chosen);
    return of_own_settings(name, chosen);
  }

  std::optional<Credentials> of_own_settings(const std::string& name,
                                             const ProfileFiles::Profile& chosen) {
    if (std::optional<Credentials> found = of_keys(name, chosen)) return found;
    if (const std::string command = setting(chosen, "credential_process"); !command.empty()) {
      return credentials_of_process(command, "credential_process of " + origin_of(name));
    }
    if (has_sso(chosen)) {
      fail(Code::unsupported,
           "{} signs in by SSO, which only the AWS CLI can do: give a profile \"credential_process "
           "= aws configure export-credentials --profile {}\" and use that one",
           origin_of(name), printable(name));
    }
    return std::nullopt;
  }

  std::optional<Credentials> of_keys(const std::string& name,
                                     const ProfileFiles::Profile& chosen) const {
    Credentials credentials{setting(chosen, "aws_access_key_id"),
                            setting(chosen, "aws_secret_access_key"),
                            setting(chosen, "aws_session_token"),
                            {},
                            origin_of(name)};
    if (credentials.access_key.empty() != credentials.secret_key.empty()) {
      fail(Code::usage, "{} has only one of aws_access_key_id and aws_secret_access_key",
           origin_of(name));
    }
    if (credentials.access_key.empty()) return std::nullopt;
    return credentials;
  }

  Credentials of_role(const std::string& name, const ProfileFiles::Profile& chosen) {
    const RoleRequest role{setting(chosen, "role_arn"), setting(chosen, "role_session_name"),
                           setting(chosen, "external_id"), setting(chosen, "duration_seconds")};
    const std::string origin =
        fmt::format("role {} of {}", printable(role.role_arn), origin_of(name));
    const std::string region =
        options_.region.empty() ? setting(chosen, "region") : options_.region;
    if (const std::string token = setting(chosen, "web_identity_token_file"); !token.empty()) {
      return assume_role_with_web_identity(sts(region), role, expand_home(token), origin, http_,
                                           now_);
    }
    if (chosen.contains("mfa_serial")) {
      fail(Code::unsupported,
           "{} wants a one-time code, for which nobody can be asked here: give a profile "
           "\"credential_process = aws configure export-credentials --profile {}\", or export the "
           "credentials first",
           origin, printable(name));
    }
    return assume_role(sts(region), role, source_of_role(name, chosen), origin, http_, now_);
  }

  Credentials source_of_role(const std::string& name, const ProfileFiles::Profile& chosen) {
    const std::string source = setting(chosen, "source_profile");
    const std::string place = setting(chosen, "credential_source");
    if (source.empty() == place.empty()) {
      fail(Code::usage, "{} has a role_arn: it needs either source_profile or credential_source",
           origin_of(name));
    }
    return source.empty() ? of_place(name, place) : of_source_profile(name, source);
  }

  Credentials of_source_profile(const std::string& name, const std::string& source) {
    const ProfileFiles::Profile& chosen = profile(source);
    const bool is_itself = source == name;  // then its own keys are meant
    const bool was_visited = std::find(visited_.begin(), visited_.end(), source) != visited_.end();
    if (!is_itself && (was_visited || visited_.size() >= kMaxChain)) {
      fail(Code::usage, "the source_profiles of {} lead in a circle, by way of {}",
           origin_of(visited_.front()), printable(source));
    }
    std::optional<Credentials> found = of_keys(source, chosen);
    if (!found) found = is_itself ? of_own_settings(source, chosen) : of_profile(source);
    if (!found) {
      fail(Code::not_found, "{} is the source_profile of {} and has no credentials",
           origin_of(source), printable(name));
    }
    return *std::move(found);
  }

  Credentials of_place(const std::string& name, const std::string& place) {
    std::optional<Credentials> found;
    if (place == "Environment") {
      found = of_environment();
    } else if (place == "EcsContainer") {
      found = of_container();
    } else if (place == "Ec2InstanceMetadata") {
      found = of_instance();
    } else {
      fail(Code::usage,
           "{}: credential_source is \"{}\": it can be Environment, EcsContainer or "
           "Ec2InstanceMetadata",
           origin_of(name), printable(place));
    }
    if (!found) {
      fail(Code::not_found, "{} takes its credentials from {}, and there are none: {}",
           origin_of(name), place, looked_.back());
    }
    return *std::move(found);
  }

  // --- the place where the program runs ----------------------------------------------------------

  std::optional<Credentials> of_container() {
    std::optional<Credentials> found = container_credentials(http_);
    if (!found) looked_.push_back("container (AWS_CONTAINER_CREDENTIALS_… is not set)");
    return found;
  }

  std::optional<Credentials> of_instance() {
    std::string why;
    std::optional<Credentials> found = instance_credentials(http_, &why);
    if (!found) looked_.push_back(fmt::format("EC2 instance ({})", printable(why)));
    return found;
  }

  // --- ends --------------------------------------------------------------------------------------

  Sts sts(const std::string& region) const { return resolve_sts(region, options_.profile); }

  [[noreturn]] void fail_nowhere() const {
    std::string places;
    for (const std::string& place : looked_) places += (places.empty() ? "" : "; ") + place;
    fail(Code::not_found,
         "no credentials found. Looked in: {}. For objects that everybody may read, use "
         "--no-sign-request",
         places);
  }

  const CredentialOptions& options_;
  const SimpleHttp& http_;
  std::int64_t now_;
  ProfileFiles files_;
  std::vector<std::string> visited_;  // profiles, in the order in which they refer to each other
  std::vector<std::string> looked_;
};

}  // namespace

struct CredentialChain::State {
  CredentialOptions options;
  SimpleHttp http;
  std::mutex mutex;
  std::optional<Credentials> current;
  std::optional<Error> failure;  // of the last lookup
  std::int64_t next_lookup = 0;  // seconds; current and failure hold until then

  std::int64_t now() const {
    if (options.now) return options.now();
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  bool is_usable(std::int64_t at) const {
    return current && (!current->expires || *current->expires > at);
  }

  void look(std::int64_t at) {
    try {
      Credentials found = Search(options, http, at).find();
      next_lookup = lookup_time(found, at);
      current = std::move(found);
      failure.reset();
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      failure = error;
      next_lookup = at + kLookAgain;
    }
  }

  // Before they expire; a service in trouble hands out what has expired, and is left in peace too.
  static std::int64_t lookup_time(const Credentials& found, std::int64_t at) {
    if (!found.expires) return INT64_MAX;
    const std::int64_t lifetime = *found.expires - at;
    return std::max(*found.expires - std::min(kRenewBefore, lifetime / 4), at + kLookAgain);
  }
};

CredentialChain::CredentialChain(CredentialOptions options, SimpleHttp http)
    : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  state_->http = std::move(http);
}

CredentialChain::~CredentialChain() = default;

Credentials CredentialChain::get() {
  State& state = *state_;
  if (state.options.no_sign_request) return {};
  const std::lock_guard lock(state.mutex);
  const std::int64_t now = state.now();
  if (now >= state.next_lookup) state.look(now);
  if (state.failure && !state.is_usable(now)) throw *state.failure;
  return *state.current;
}

void CredentialChain::expired(const Credentials& credentials) {
  const std::lock_guard lock(state_->mutex);
  const std::optional<Credentials>& current = state_->current;
  if (!current || current->access_key != credentials.access_key ||
      current->session_token != credentials.session_token) {
    return;
  }
  state_->current.reset();
  state_->next_lookup = 0;
}

}  // namespace prep
