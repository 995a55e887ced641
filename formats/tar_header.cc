#include "formats/tar_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "lib/core/error.h"

namespace prep {
namespace {

struct Field {
  std::size_t offset, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12},
    kMtime{136, 12}, kChecksum{148, 8}, kType{156, 1}, kLink{157, 100}, kMagic{257, 6},
    kVersion{263, 2}, kPrefix{345, 155};
// In GNU's header of type 'S', and in the blocks of the sparse map after it.
constexpr std::size_t kSparseMore = 482, kSparseBlockMore = 504;

constexpr std::string_view kUstarMagic("ustar\0", 6);
constexpr std::uint64_t kMaxOctalSize = (std::uint64_t{1} << 33) - 1;  // 11 octal digits
constexpr std::string_view kPaxName = "././@PaxHeader";

ByteView bytes_of(ByteView block, Field field) { return block.subspan(field.offset, field.size); }

// Up to the first NUL, or the whole field.
std::string_view text_of(ByteView block, Field field) {
  const std::string_view text = as_text(bytes_of(block, field));
  return text.substr(0, text.find('\0'));
}

// "0000644\0", " 644 ": octal digits with spaces before and spaces or NULs after; nothing is 0.
std::optional<std::uint64_t> parse_octal(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '7'; ++i) {
    value = value * 8 + static_cast<std::uint64_t>(text[i] - '0');  // 12 digits at most
  }
  const std::string_view rest = text.substr(i);
  const bool clean = rest.empty() || rest[0] == ' ' || rest[0] == '\0';
  return clean ? std::optional(value) : std::nullopt;
}

// GNU's base-256: the first byte is 0x80 for a number that is not negative, 0xFF for a negative
// one; the others are big endian. Saturates.
std::int64_t parse_base256(ByteView field) {
  const bool negative = field[0] == 0xFF;
  std::int64_t value = negative ? -1 : 0;
  for (const std::uint8_t byte : field.subspan(1)) {
    if (value > INT64_MAX >> 8) return INT64_MAX;
    if (value < INT64_MIN >> 8) return INT64_MIN;
    value = value * 256 + byte;
  }
  return value;
}

std::optional<std::int64_t> parse_number(ByteView field) {
  if (field[0] == 0x80 || field[0] == 0xFF) return parse_base256(field);
  const auto octal = parse_octal(as_text(field));
  return octal ? std::optional(static_cast<std::int64_t>(*octal)) : std::nullopt;
}

std::int64_t to_nanoseconds(std::int64_t seconds) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  return seconds < 0 || seconds > INT64_MAX / kBillion ? 0 : seconds * kBillion;
}

std::uint64_t checked_size(std::int64_t size) {
  if (size < 0) fail(Code::corrupt, "a header with a negative size");
  if (static_cast<std::uint64_t>(size) > kMaxTarSize) {
    fail(Code::limit, "a header with a size of {} bytes, which no file has", size);
  }
  return static_cast<std::uint64_t>(size);
}

std::string checked_name(std::string_view name) {
  if (name.size() > kMaxTarName) {
    fail(Code::limit, "a name of {} bytes; {} are the limit", name.size(), kMaxTarName);
  }
  return std::string(name);
}

// The sum of the bytes, the checksum's own taken as spaces; and what the sum would be if they were
// signed, as some old writers took them.
std::pair<std::int64_t, std::int64_t> checksums(ByteView block) {
  std::int64_t sum = 0, high = 0;
  for (const std::uint8_t byte : block) {
    sum += byte;
    high += byte >> 7;
  }
  for (const std::uint8_t byte : bytes_of(block, kChecksum)) {
    sum += ' ' - byte;
    high -= byte >> 7;
  }
  return {sum, sum - 256 * high};
}

}  // namespace

bool is_zero(ByteView bytes) {
  if (bytes.empty()) return true;
  // Equal to itself one byte on: all are the same as the first.
  return bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

bool has_tar_checksum(ByteView block) {
  const auto wanted = parse_octal(as_text(bytes_of(block, kChecksum)));
  if (!wanted) return false;
  const auto [sum, signed_sum] = checksums(block);
  const auto value = static_cast<std::int64_t>(*wanted);
  return value == sum || value == signed_sum;
}

TarHeader parse_tar_header(ByteView block) {
  if (!has_tar_checksum(block)) fail(Code::corrupt, "a header with a wrong checksum");
  TarHeader header;
  const char type = static_cast<char>(block[kType.offset]);
  header.type = type == '\0' ? '0' : type;
  // Only ustar has a prefix; v7 has nothing there, GNU other fields.
  const bool ustar = as_text(bytes_of(block, kMagic)) == kUstarMagic;
  const std::string_view prefix = ustar ? text_of(block, kPrefix) : std::string_view();
  header.name = prefix;
  if (!prefix.empty()) header.name += '/';
  header.name += text_of(block, kName);
  header.link = text_of(block, kLink);
  const auto size = parse_number(bytes_of(block, kSize));
  if (!size) fail(Code::corrupt, "a header whose size is not a number");
  header.size = checked_size(*size);
  header.mtime_ns = to_nanoseconds(parse_number(bytes_of(block, kMtime)).value_or(0));
  header.more_sparse_blocks = type == 'S' && block[kSparseMore] != 0;
  return header;
}

bool more_sparse_blocks(ByteView sparse_block) { return sparse_block[kSparseBlockMore] != 0; }

bool tar_type_has_data(char type) { return type < '1' || type > '6'; }

// --- extensions -------------------------------------------------------------------------------

namespace {

std::uint64_t parse_pax_size(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range || (value > kMaxTarSize && result.ptr == end)) {
    fail(Code::limit, "a PAX header with a size that no file has");
  }
  if (result.ec != std::errc() || result.ptr != end) {
    fail(Code::corrupt, "a PAX header whose size is not a number");
  }
  return value;
}

// "1700000000.25"; 0 for what makes no sense, since no more than a rerun depends on it.
std::int64_t parse_pax_time(std::string_view text) {
  std::int64_t seconds = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, seconds);
  if (result.ec != std::errc() || to_nanoseconds(seconds) == 0) return 0;
  std::uint32_t fraction = 0;
  if (result.ptr != end && *result.ptr == '.') {
    std::string digits(result.ptr + 1, end);
    digits.resize(9, '0');
    std::from_chars(digits.data(), digits.data() + digits.size(), fraction);
  }
  return to_nanoseconds(seconds) + std::min<std::int64_t>(fraction, INT64_MAX % 1'000'000'000);
}

void apply_pax_record(std::string_view key, std::string_view value, TarExtension& extension) {
  const bool undo = value.empty();
  // GNU.sparse.name is the real one; path is then a made-up name for other readers.
  if (key == "GNU.sparse.name" || (key == "path" && !extension.sparse)) {
    extension.path = undo ? std::nullopt : std::optional(checked_name(value));
  } else if (key == "linkpath") {
    extension.link = undo ? std::nullopt : std::optional(checked_name(value));
  } else if (key == "size") {
    extension.size = undo ? std::nullopt : std::optional(parse_pax_size(value));
  } else if (key == "mtime") {
    extension.mtime_ns = undo ? std::nullopt : std::optional(parse_pax_time(value));
  }
  if (key.starts_with("GNU.sparse.")) extension.sparse = true;
}

// The length of the record that `text` starts with, its own digits and the newline included.
std::size_t pax_record_length(std::string_view text) {
  std::size_t length = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), length);
  const auto digits = static_cast<std::size_t>(result.ptr - text.data());
  if (result.ec != std::errc() || digits == text.size() || text[digits] != ' ' ||
      length > text.size() || length < digits + 2 || text[length - 1] != '\n') {
    fail(Code::corrupt, "a PAX header with a malformed record");
  }
  return length;
}

}  // namespace

void parse_pax(ByteView payload, TarExtension& extension) {
  std::string_view text = as_text(payload);
  // Some writers fill up with NULs.
  while (!text.empty() && text[0] != '\0') {
    const std::size_t length = pax_record_length(text);
    const std::size_t begin = text.find(' ') + 1;
    const std::string_view record = text.substr(begin, length - 1 - begin);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(Code::corrupt, "a PAX header with a malformed record");
    }
    apply_pax_record(record.substr(0, equals), record.substr(equals + 1), extension);
    text.remove_prefix(length);
  }
  if (!is_zero(as_bytes(text))) fail(Code::corrupt, "a PAX header with a malformed record");
}

std::string parse_gnu_name(ByteView payload) {
  const std::string_view text = as_text(payload);
  return checked_name(text.substr(0, text.find('\0')));
}

// --- writing ----------------------------------------------------------------------------------

namespace {

void put_text(std::string& block, Field field, std::string_view text) {
  block.replace(field.offset, text.size(), text);
}

// Octal digits up to a closing NUL; where they don't fit, GNU's base-256, which all readers know.
// `digits` octal digits at `offset`.
void put_octal(std::string& block, std::size_t offset, std::size_t digits, std::uint64_t value) {
  for (std::size_t i = digits; i-- > 0; value >>= 3) {
    block[offset + i] = static_cast<char>('0' + (value & 7));
  }
}

// Octal digits up to a closing NUL; where they don't fit, GNU's base-256, which all readers know.
void put_number(std::string& block, Field field, std::uint64_t value) {
  if (value >> (3 * (field.size - 1)) == 0) {
    put_octal(block, field.offset, field.size - 1, value);
    return;
  }
  for (std::size_t i = field.size; i-- > 1; value >>= 8) {
    block[field.offset + i] = static_cast<char>(value & 0xFF);
  }
  block[field.offset] = static_cast<char>(0x80);
}

struct SplitName {
  std::string_view prefix, name;
};

// Where ustar can hold the name: at the first slash that leaves no more than 100 bytes behind it.
std::optional<SplitName> split_name(std::string_view name) {
  if (name.size() <= kName.size) return SplitName{{}, name};
  const std::size_t slash = name.find('/', name.size() - kName.size - 1);
  // A prefix may not be empty, nor may what follows it.
  if (slash == std::string_view::npos || slash == 0 || slash > kPrefix.size ||
      slash + 1 == name.size()) {
    return std::nullopt;
  }
  return SplitName{name.substr(0, slash), name.substr(slash + 1)};
}

void append_block(SplitName name, std::uint64_t size, char type, std::string& out) {
  std::string block(kTarBlock, '\0');
  put_text(block, kName, name.name);
  put_text(block, kPrefix, name.prefix);
  put_number(block, kMode, 0644);
  put_number(block, kUid, 0);
  put_number(block, kGid, 0);
  put_number(block, kSize, size);
  put_number(block, kMtime, 0);
  block[kType.offset] = type;
  put_text(block, kMagic, kUstarMagic);
  put_text(block, kVersion, "00");
  // Six digits, NUL, space.
  put_octal(block, kChecksum.offset, 6,
            static_cast<std::uint64_t>(checksums(as_bytes(block)).first));
  block[kChecksum.offset + kChecksum.size - 1] = ' ';
  out += block;
}

// The length counts its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;  // ' ', '=', '\n'
  std::size_t length = rest;
  while (length != rest + fmt::formatted_size("{}", length)) {
    length = rest + fmt::formatted_size("{}", length);
  }
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

namespace {

// What ustar has no room for.
std::string pax_records(std::string_view name, bool fits, std::uint64_t size) {
  std::string records;
  if (!fits) {
    // PAX text is UTF-8 unless it says otherwise.
    if (!is_utf8(name)) records += pax_record("hdrcharset", "BINARY");
    records += pax_record("path", name);
  }
  if (size > kMaxOctalSize) records += pax_record("size", fmt::format("{}", size));
  return records;
}

}  // namespace

void check_tar_name(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    fail(Code::name, "'{}' is not a name for a file", printable(name));
  }
  if (name.size() > kMaxTarName) {
    fail(Code::name, "{}…: a name of {} bytes; {} are the limit in a tar",
         printable(name.substr(0, 80)), name.size(), kMaxTarName);
  }
}

std::uint64_t tar_header_size(std::string_view name, std::uint64_t size) {
  const std::uint64_t records = pax_records(name, split_name(name).has_value(), size).size();
  return kTarBlock + (records > 0 ? kTarBlock + records + tar_padding(records) : 0);
}

bool append_tar_header(std::string_view name, std::uint64_t size, std::string& out) {
  check_tar_name(name);
  if (size > kMaxTarSize) fail(Code::limit, "{}: too large for a tar", printable(name));
  const auto split = split_name(name);
  const std::string records = pax_records(name, split.has_value(), size);
  if (!records.empty()) {
    append_block({{}, kPaxName}, records.size(), 'x', out);
    out += records;
    out.append(tar_padding(records.size()), '\0');
  }
  append_block(split.value_or(SplitName{{}, name.substr(0, kName.size)}), size, '0', out);
  return !records.empty();
}

}  // namespace prep
