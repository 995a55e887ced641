#include "formats/table_json.h"

#include <cstdint>

#include "lib/core/error.h"
#include "lib/core/text.h"

namespace prep {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void object(std::vector<std::string_view>& names, std::vector<Cell>& values) {
    skip_space();
    if (peek() == '[') {
      fail(Code::corrupt, "an array, no object; for a file that is one array: jq -c '.[]'");
    }
    if (!take('{')) expected("an object, which starts with '{'");
    skip_space();
    if (!take('}')) {
      do {
        if (names.size() == TableReader::kMaxColumns) {
          fail(Code::limit, "an object of more than {} members", TableReader::kMaxColumns);
        }
        names.push_back(name());
        values.push_back(member_value());
      } while (take_after_space(','));
      if (!take('}')) expected("',' or '}'");
    }
    skip_space();
    if (position_ < text_.size()) expected("the end of the line behind the object");
  }

 private:
  using Type = Cell::Type;

  // 0 at the end: no byte of sound JSON is.
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void skip_space() {
    while (is_space(peek())) ++position_;
  }
  bool take_after_space(char c) {
    skip_space();
    return take(c);
  }

  [[noreturn]] void expected(std::string_view what) const {
    if (position_ >= text_.size()) {
      fail(Code::corrupt, "the JSON ends early: expected {} (a line must be a whole object)", what);
    }
    fail(Code::corrupt, "byte {}: expected {}, not '{}'", position_ + 1, what,
         printable(text_.substr(position_, 1)));
  }

  std::string_view name() {
    skip_space();
    if (peek() != '"') expected("a name in double quotes");
    const std::size_t begin = position_;
    string();
    return text_.substr(begin + 1, position_ - begin - 2);
  }

  void colon() {
    if (!take_after_space(':')) expected("':'");
    skip_space();
  }

  Cell member_value() {
    colon();
    const std::size_t begin = position_;
    const Type type = value(/*depth=*/1);
    return {type, text_.substr(begin, position_ - begin)};
  }

  Type value(int depth) {
    switch (peek()) {
      case '"':
        string();
        return Type::json_string;
      case '{':
      case '[':
        nested(depth + 1);
        return Type::json_nested;
      case 'n':
        word("null");
        return Type::json_null;
      case 't':
        word("true");
        return Type::json_scalar;
      case 'f':
        word("false");
        return Type::json_scalar;
      default:
        number();
        return Type::json_scalar;
    }
  }

  void nested(int depth) {
    if (depth > TableReader::kMaxDepth) {
      fail(Code::limit, "JSON nested over {} levels deep", TableReader::kMaxDepth);
    }
    const bool is_object = text_[position_++] == '{';
    const char close = is_object ? '}' : ']';
    if (take_after_space(close)) return;
    do {
      skip_space();
      if (is_object) {
        name();
        colon();
      }
      value(depth);
    } while (take_after_space(','));
    if (!take(close)) expected(is_object ? "',' or '}'" : "',' or ']'");
  }

  void string() {
    ++position_;
    for (;;) {
      const char c = peek();
      if (c == '"') break;
      if (position_ >= text_.size()) expected("the end of a string");
      if (static_cast<unsigned char>(c) < 0x20) expected("an escape for a control character");
      ++position_;
      if (c == '\\') escape();
    }
    ++position_;
  }

  void escape() {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    if (take('u')) {
      for (int i = 0; i < 4; ++i, ++position_) {
        if (!is_hex(peek())) expected("four hexadecimal digits behind \\u");
      }
    } else if (position_ < text_.size() && kEscapes.find(peek()) != std::string_view::npos) {
      ++position_;
    } else {
      expected("one of \"\\/bfnrtu behind a backslash");
    }
  }

  void word(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) expected("a value");
    position_ += word.size();
  }

  void number() {
    if (text_.substr(position_).starts_with("NaN") ||
        text_.substr(position_).starts_with("Infinity") ||
        text_.substr(position_).starts_with("-Infinity")) {
      fail(Code::corrupt, "byte {}: NaN and Infinity are no JSON; write null", position_ + 1);
    }
    take('-');
    if (!is_digit(peek())) expected("a value");
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
  }

  void digits() {
    if (!is_digit(peek())) expected("a digit");
    while (is_digit(peek())) ++position_;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

std::uint32_t hex4(std::string_view text) {
  std::uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    value = value << 4 | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

// Reads "XXXX" or "XXXX\uXXXX" at the beginning of `text`; returns how many bytes.
std::size_t append_code(std::string_view text, std::string& out) {
  const std::uint32_t first = hex4(text);
  if (first < 0xD800 || first > 0xDFFF) {
    append_utf8(first, out);
    return 4;
  }
  const bool pair = first < 0xDC00 && text.substr(4).starts_with("\\u");
  const std::uint32_t second = pair ? hex4(text.substr(6)) : 0;
  if (second < 0xDC00 || second > 0xDFFF) {
    fail(Code::corrupt, "\\u{}: half of a surrogate pair stands for no character",
         text.substr(0, 4));
  }
  append_utf8(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), out);
  return 10;
}

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // a quote, a backslash, a slash
  }
}

void append_escape(char c, std::string& out) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  }
}

}  // namespace

void split_json_object(std::string_view text, std::vector<std::string_view>& names,
                       std::vector<Cell>& values) {
  names.clear();
  values.clear();
  Scanner(text).object(names, values);
}

std::string unescape_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const std::size_t escape = text.find('\\');
    out += text.substr(0, escape);
    if (escape == std::string_view::npos) return out;
    text.remove_prefix(escape + 1);
    const char c = text[0];
    text.remove_prefix(1);
    if (c == 'u') {
      text.remove_prefix(append_code(text, out));
    } else {
      out += unescaped(c);
    }
  }
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) continue;
    out += text.substr(begin, i - begin);
    append_escape(c, out);
    begin = i + 1;
  }
  out += text.substr(begin);
  out += '"';
}

}  // namespace prep
