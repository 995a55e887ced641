// Capital and small letters of ASCII, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace prep {

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return lower;
}

inline std::string ascii_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c -= 'a' - 'A';
  }
  return upper;
}

}  // namespace prep
