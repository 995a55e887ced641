// ~/.aws/config and ~/.aws/credentials, as the AWS SDKs read them.
// Source: "Shared config and credentials files", AWS SDKs and Tools Reference Guide.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace prep {

// Settings of a profile by lower-case name: both files merged, those of the credentials file first.
// Nested settings ("s3 =\n  addressing_style = path") are "s3.addressing_style".
class ProfileFiles {
 public:
  using Profile = std::map<std::string, std::string>;

  // AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/…; a missing file is empty.
  // throws Error io, limit (1 MB), corrupt with path and line, never with what stands there.
  static ProfileFiles load();
  // The files' texts; their names are for messages.
  ProfileFiles(std::string_view config, std::string_view credentials,
               std::string config_name = "~/.aws/config",
               std::string credentials_name = "~/.aws/credentials");

  // Null: there is none of that name.
  const Profile* find(const std::string& name) const;
  // "services NAME" sections (endpoint_url of a service).
  const Profile* find_services(const std::string& name) const;
  // "~/.aws/config or ~/.aws/credentials"
  std::string names() const;

 private:
  std::string config_name_, credentials_name_;
  std::map<std::string, Profile> profiles_, services_;
};

// The profile that is meant: the given name, else AWS_PROFILE, else "default".
std::string chosen_profile(const std::string& name);

}  // namespace prep
