#include "lib/remote/url_parts.h"

#include <algorithm>

#include "lib/core/text.h"
#include "lib/remote/ascii.h"

namespace prep {
namespace {

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool is_port = colon != host.npos && host.find(']', colon) == host.npos;
  return is_port ? host.substr(0, colon) : host;
}

bool is_v6_byte(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == ':' || c == '.'; }

bool is_name_byte(char c) { return is_lower_alphanumeric(c) || c == '-' || c == '.' || c == '_'; }

// ":80"; "" is one too.
bool is_port(std::string_view port) {
  return port.empty() || (port.size() >= 2 && port.size() <= 6 &&
                          std::all_of(port.begin() + 1, port.end(), is_digit));
}

bool is_host(std::string_view host) {
  const std::string_view name = without_port(host);
  if (name.empty() || !is_port(host.substr(name.size()))) return false;
  if (name.front() != '[') return std::all_of(name.begin(), name.end(), is_name_byte);
  return name.size() > 2 && name.back() == ']' && name.find(':') != name.npos &&
         std::all_of(name.begin() + 1, name.end() - 1, is_v6_byte);
}

}  // namespace

std::string UrlParts::host_name() const {
  std::string_view name = without_port(host);
  if (name.size() > 2 && name.front() == '[') name = name.substr(1, name.size() - 2);
  return std::string(name);
}

UrlParts split_url(std::string_view url) {
  UrlParts parts;
  const std::size_t colon = url.find("://");
  if (colon == url.npos) return parts;
  parts.scheme = ascii_lower(url.substr(0, colon));
  const std::string_view rest = url.substr(colon + 3);
  const std::size_t slash = rest.find('/');
  std::string host = ascii_lower(rest.substr(0, slash));
  const std::string_view path = slash == rest.npos ? "" : rest.substr(slash);
  const bool is_path = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '?' && c != '#';
  });
  if ((parts.scheme != "http" && parts.scheme != "https") || !is_host(host) || !is_path) return {};
  const std::string_view own_port = parts.scheme == "http" ? ":80" : ":443";
  if (host.ends_with(own_port) && without_port(host).size() + own_port.size() == host.size()) {
    host.resize(host.size() - own_port.size());
  }
  parts.host = std::move(host);
  parts.path = path.substr(0, path.find_last_not_of('/') + 1);
  return parts;
}

}  // namespace prep
