#include "lib/remote/profile_files.h"

#include <fcntl.h>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/remote/ascii.h"
#include "lib/remote/environment.h"

namespace prep {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;
constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using Sections = std::map<std::string, ProfileFiles::Profile>;

bool is_blank(char c) { return kBlanks.find(c) != kBlanks.npos; }

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// A comment behind a value begins with a blank and "#" or ";".
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (is_blank(text[i]) && (text[i + 1] == '#' || text[i + 1] == ';')) return text.substr(0, i);
  }
  return text;
}

std::string_view unquote(std::string_view name) {
  const bool is_quoted = name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
                         name.front() == name.back();
  return is_quoted ? name.substr(1, name.size() - 2) : name;
}

// The sections of one file by kind and name: "profile x", "services x"; a name alone is a profile
// in the credentials file, and in the config file if it is "default".
class Parser {
 public:
  Parser(std::string_view file_name, bool is_config) : file_(file_name), is_config_(is_config) {}

  void parse(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    while (!text.empty()) {
      ++line_;
      const std::size_t end = text.find('\n');
      parse_line(text.substr(0, end));
      text = end == text.npos ? "" : text.substr(end + 1);
    }
    // "[profile default]" is meant where there is "[default]" too.
    if (!plain_default_.empty()) profiles.try_emplace("default", std::move(plain_default_));
  }

  Sections profiles, services;

 private:
  [[noreturn]] void fail_line(std::string_view what) const {
    fail(Code::corrupt, "{}, line {}: {}", printable(file_), line_, what);
  }

  void parse_line(std::string_view line) {
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') return;
    if (is_blank(line.front()) && !setting_.empty()) {
      parse_continuation(text);
    } else if (text.front() == '[') {
      parse_section(text);
    } else {
      parse_setting(text);
    }
  }

  void parse_section(std::string_view text) {
    const std::size_t end = text.find(']');
    if (end == text.npos) fail_line("a section begins with \"[\" and has no \"]\"");
    const std::string_view title = trim(text.substr(1, end - 1));
    const std::size_t blank = title.find_first_of(kBlanks);
    const std::string_view kind = blank == title.npos ? "" : title.substr(0, blank);
    const std::string name(unquote(blank == title.npos ? title : trim(title.substr(blank))));
    setting_.clear();
    is_in_section_ = true;
    if (is_config_ && kind == "profile") {
      section_ = &profiles[name];
    } else if (is_config_ && kind == "services") {
      section_ = &services[name];
    } else if (is_config_ && kind.empty() && name == "default") {
      section_ = &plain_default_;
    } else if (!is_config_) {
      section_ = &profiles[std::string(unquote(title))];
    } else {
      section_ = nullptr;  // "sso-session x", and what other programs keep there
    }
  }

  void parse_setting(std::string_view text) {
    if (!is_in_section_) fail_line("a setting stands before the first \"[profile …]\"");
    const std::size_t equals = text.find('=');
    if (equals == text.npos) fail_line("neither a section nor \"name = value\"");
    setting_ = ascii_lower(trim(text.substr(0, equals)));
    if (setting_.empty()) fail_line("a setting has no name");
    const std::string value(trim(without_comment(text.substr(equals + 1))));
    has_children_ = value.empty();
    if (section_) (*section_)[setting_] = value;
  }

  // Below a setting without a value stand its own; otherwise the value goes on.
  void parse_continuation(std::string_view text) {
    if (!section_) return;
    if (!has_children_) {
      (*section_)[setting_].append(1, '\n').append(text);
      return;
    }
    const std::size_t equals = text.find('=');
    if (equals == text.npos) fail_line("a nested setting is not \"name = value\"");
    const std::string name = setting_ + "." + ascii_lower(trim(text.substr(0, equals)));
    (*section_)[name] = trim(without_comment(text.substr(equals + 1)));
  }

  std::string file_;
  bool is_config_;
  int line_ = 0;
  bool is_in_section_ = false, has_children_ = false;
  ProfileFiles::Profile plain_default_;
  ProfileFiles::Profile* section_ = nullptr;  // null: of no interest
  std::string setting_;                       // the last one, which a line may continue
};

std::string read_text(const std::string& path) {
  try {
    const Fd fd = open_file(path, O_RDONLY);
    std::string text(kMaxFile + 1, '\0');
    text.resize(
        read_fully(fd.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(), path));
    if (text.size() > kMaxFile) {
      fail(Code::limit, "{} has more than 1 MB: it is no file of AWS profiles", printable(path));
    }
    return text;
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return "";
    throw;
  }
}

std::string file_path(const char* variable, const std::string& in_home) {
  const std::string path = environment(variable);
  return expand_home(path.empty() ? in_home : path);
}

}  // namespace

ProfileFiles ProfileFiles::load() {
  const std::string config = file_path("AWS_CONFIG_FILE", "~/.aws/config");
  const std::string credentials = file_path("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  return ProfileFiles(read_text(config), read_text(credentials), config, credentials);
}

ProfileFiles::ProfileFiles(std::string_view config, std::string_view credentials,
                           std::string config_name, std::string credentials_name)
    : config_name_(std::move(config_name)), credentials_name_(std::move(credentials_name)) {
  Parser of_config(config_name_, true);
  of_config.parse(config);
  Parser of_credentials(credentials_name_, false);
  of_credentials.parse(credentials);
  profiles_ = std::move(of_credentials.profiles);
  for (auto& [name, profile] : of_config.profiles) profiles_[name].merge(profile);
  services_ = std::move(of_config.services);
}

const ProfileFiles::Profile* ProfileFiles::find(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

const ProfileFiles::Profile* ProfileFiles::find_services(const std::string& name) const {
  const auto found = services_.find(name);
  return found == services_.end() ? nullptr : &found->second;
}

std::string ProfileFiles::names() const {
  return printable(config_name_) + " or " + printable(credentials_name_);
}

std::string chosen_profile(const std::string& name) {
  if (!name.empty()) return name;
  const std::string of_environment = environment("AWS_PROFILE");
  return of_environment.empty() ? "default" : of_environment;
}

}  // namespace prep
