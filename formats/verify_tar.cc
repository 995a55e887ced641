#include "formats/verify_tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "formats/foreign.h"
#include "formats/part_names.h"
#include "formats/tar_header.h"
#include "formats/verify_names.h"
#include "lib/core/sample.h"

namespace prep {
namespace {

constexpr std::size_t kChecksumField = 148, kMagicField = 257;
constexpr std::string_view kMagic = "ustar";
constexpr std::size_t kMaxLabel = 64;

// Six octal digits, NUL, space, as nearly everybody writes it; some write seven and NUL. Readers
// take more, so that a flipped bit in what closes the field goes unnoticed.
bool has_usual_checksum_field(ByteView block) {
  const ByteView field = block.subspan(kChecksumField, 8);
  const auto is_octal = [](std::uint8_t c) { return c >= '0' && c <= '7'; };
  if (!std::all_of(field.begin(), field.begin() + 6, is_octal)) return false;
  return (field[6] == '\0' && field[7] == ' ') || (is_octal(field[6]) && field[7] == '\0');
}

bool has_magic(ByteView block) {
  return as_text(block.subspan(kMagicField, kMagic.size())) == kMagic;
}

std::optional<std::int64_t> parse_label(std::string_view text) {
  constexpr const char* kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);  // npos + 1 == 0
  std::int64_t label = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), label);
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  return whole ? std::optional(label) : std::nullopt;
}

// The name in a header whose checksum is wrong; "" if it does not look like one.
std::string guess_name(ByteView block) {
  if (block.size() < kTarBlock || !has_magic(block)) return "";
  std::string_view name = as_text(block.first(100));
  name = name.substr(0, name.find('\0'));
  const auto is_sane = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; };
  return std::all_of(name.begin(), name.end(), is_sane) ? std::string(name) : "";
}

// Why a member of this type is no file, in words; "" if it is one.
std::string_view type_fault(char type, bool sparse) {
  if (type == '1') return "a hard link, which loaders drop; pack it with tar --hard-dereference";
  if (type == '2') return "a symbolic link, which loaders drop; pack it with tar --dereference";
  if (type == '3' || type == '4') return "a device";
  if (type == '6') return "a named pipe";
  if (type == 'M') return "the rest of a file from another volume";
  if (sparse) return "a file stored without its holes, which loaders do not put back";
  if (type == '0' || type == '7') return "";
  return "of a type that loaders do not know";
}

struct Member {
  char type = '0';
  bool sparse = false;
  std::string name;
  std::uint64_t begin = 0;  // of the first header, extensions included
  std::uint64_t data_offset = 0, size = 0;

  bool is_directory() const {
    return type == '5' || type == 'D' || (type == '0' && name.ends_with('/'));
  }
};

class TarWalk {
 public:
  TarWalk(VerifyInput& input, const PayloadOptions& payload, SampleLedger& ledger,
          Findings& findings)
      : input_(input),
        payload_(payload),
        ledger_(ledger),
        findings_(findings),
        choice_(payload.samples, input.end()) {}

  void run() {
    if (!begins_like_a_tar()) return;
    for (;;) {
      const ByteView block = input_.peek(kTarBlock);
      if (is_zero(block) && !block.empty()) {
        if (!take_end_mark()) return;
      } else if (block.size() < kTarBlock) {
        return report_missing_end(block);
      } else if (!has_tar_checksum(block)) {
        if (!find_way_again("a header with a wrong checksum")) return;
      } else if (!take_header(block)) {
        return;
      }
    }
  }

 private:
  // --- the beginning and the end --------------------------------------------------------------

  bool begins_like_a_tar() {
    const ByteView block = input_.peek(kTarBlock);
    if (block.empty()) {
      findings_.error(Code::empty, {}, "empty; even a tar without members has an end mark");
      return false;
    }
    const bool zero = is_zero(block);
    if (zero || (block.size() == kTarBlock && has_tar_checksum(block))) return true;
    const std::string_view what = describe_foreign(block);
    if (!what.empty()) {
      findings_.error(Code::unsupported, {}, fmt::format("not a tar: {}", what));
      return false;
    }
    // Perhaps its first header is damaged.
    const std::string name = guess_name(block);
    if (find_header()) {
      report_lost(0, "a header with a wrong checksum", name, /*found=*/true);
      return true;
    }
    findings_.error(Code::corrupt, {}, "not a tar: there is no tar header in it");
    return false;
  }

  void report_missing_end(ByteView rest) {
    const std::uint64_t begin = extension_begin_.value_or(input_.position());
    findings_.error(Code::truncated, {input_.position() + rest.size()},
                    rest.empty() ? "cut short: its end mark is missing, so members may be, too"
                                 : "cut short: it ends inside a header");
    ledger_.lose(begin, input_.position() + rest.size(), "", "it is cut short");
    input_.skip(rest.size());
  }

  // Zeros are next. False if nothing but zeros follows.
  bool take_end_mark() {
    const std::uint64_t begin = input_.position();
    if (extension_begin_) drop_extension("an extension header without its member");
    const std::uint64_t blocks = skip_zero_blocks();
    const ByteView next = input_.peek(kTarBlock);
    const std::uint64_t zeros = input_.position() - begin;
    if (next.size() < kTarBlock && is_zero(next)) {
      report_end(begin, blocks, next.size());
      input_.skip(next.size());
      return false;
    }
    const bool archive = next.size() == kTarBlock && has_tar_checksum(next);
    if (archive && blocks > 1) {
      findings_.error(Code::corrupt, {begin},
                      fmt::format("its end mark, or {} bytes that were overwritten with zeros; "
                                  "members follow (joined tars?), and loaders stop here",
                                  zeros));
    } else if (archive) {
      findings_.error(Code::corrupt, {begin},
                      "a single block of zeros between members: it was overwritten");
    } else if (blocks == 1) {
      findings_.error(Code::truncated, {begin}, "its end mark is only half there");
    }
    ledger_.lose(begin, input_.position(), "", "zeros between members");
    return archive || find_way_again("something that is no tar follows its end mark");
  }

  std::uint64_t skip_zero_blocks() {
    std::uint64_t blocks = 0;
    for (ByteView block = input_.peek(kTarBlock); block.size() == kTarBlock && is_zero(block);
         block = input_.peek(kTarBlock)) {
      input_.consume(kTarBlock);
      ++blocks;
    }
    return blocks;
  }

  void report_end(std::uint64_t begin, std::uint64_t blocks, std::size_t rest) {
    if (blocks < 2) {
      findings_.error(Code::truncated, {begin}, "cut short: it ends inside its end mark");
      ledger_.lose(begin, begin, "", "");
      return;
    }
    if (blocks > 2) ledger_.note_zeros();
    if (rest > 0) {
      findings_.warn(Code::truncated, {input_.position()},
                     fmt::format("{} zeros behind the end mark are no whole block: it was cut, or "
                                 "written by an odd program",
                                 rest));
    }
  }

  // --- damage ---------------------------------------------------------------------------------

  // What is next can't be read as a header. Goes on to the next one that can; false if there is
  // none.
  bool find_way_again(std::string_view what) {
    if (extension_begin_) drop_extension("an extension header without its member");
    const std::uint64_t begin = input_.position();
    const std::string name = guess_name(input_.peek(kTarBlock));
    if (find_swallowed_header()) {
      if (last_is_part_) ledger_.damage_sample("bytes of it were lost");
      ledger_.lose(begin, begin, "", "");
      findings_.error(Code::corrupt, {begin},
                      fmt::format("{}; the member before it is damaged, too, and seems to hold "
                                  "others, the first at {}",
                                  what, input_.position()));
      return true;
    }
    const bool found = find_header();
    report_lost(begin, what, name, found);
    return found;
  }

  // From `begin` on there was no header up to here.
  void report_lost(std::uint64_t begin, std::string_view what, const std::string& name,
                   bool found) {
    std::string message(what);
    if (!name.empty()) message += fmt::format(" (its name may be '{}')", printable(name));
    message += fmt::format("; {} bytes cannot be read, up to {}", input_.position() - begin,
                           found ? "the next header" : "the end");
    findings_.error(Code::corrupt, {begin}, message);
    ledger_.lose(begin, input_.position(), name, std::string(what));
  }

  // Whether the last member has swallowed headers: where bytes of it were lost, it seems to reach
  // into the members behind it. An archive inside the archive, which begins with a header, has not.
  // Then goes back to the first of them.
  bool find_swallowed_header() {
    const std::uint64_t begin = last_.data_offset, end = input_.position();
    if (!input_.can_seek() || last_.size == 0 || begin < searched_until_) return false;
    searched_until_ = end;
    input_.seek(begin);
    const ByteView first = input_.peek(kTarBlock);
    const bool is_archive = first.size() == kTarBlock && has_tar_checksum(first);
    if (!is_archive && find_header() && input_.position() < end) return true;
    input_.seek(end);
    return false;
  }

  // Moves to the next block, at any offset, that has a magic and whose checksum fits; false, at the
  // end, if there is none.
  bool find_header() {
    if (input_.skip(1) == 0) return false;
    for (;;) {
      const ByteView window = input_.peek_window(kTarBlock);
      if (window.size() < kTarBlock) {
        input_.skip(window.size());
        return false;
      }
      const std::size_t starts = window.size() - kTarBlock + 1;
      for (std::size_t start = 0; start < starts; ++start) {
        const std::string_view magics =
            as_text(window.subspan(kMagicField + start, starts - start + kMagic.size() - 1));
        const std::size_t found = magics.find(kMagic);
        if (found == std::string_view::npos) break;
        start += found;
        if (!has_tar_checksum(window.subspan(start, kTarBlock))) continue;
        input_.consume(start);
        return true;
      }
      input_.consume(starts);
    }
  }

  // --- headers --------------------------------------------------------------------------------

  // A block whose checksum fits is next. False at the end.
  bool take_header(ByteView block) {
    TarHeader header;
    try {
      header = parse_tar_header(block);
    } catch (const Error& error) {
      return find_way_again(error.what());
    }
    const std::uint64_t offset = input_.position();
    if (!has_usual_checksum_field(block)) {
      findings_.tally(Code::corrupt, offset,
                      "checksums are written in an unusual way, or have a flipped bit");
    }
    if (!has_magic(block)) {
      findings_.tally(Code::unsupported, offset, "headers are of the old v7 kind, without a magic");
    }
    if (std::string_view("xXgLK").find(header.type) != std::string_view::npos) {
      return take_extension(header);
    }
    input_.consume(kTarBlock);
    return take_member(std::move(header), offset);
  }

  bool take_extension(const TarHeader& header) {
    const std::uint64_t begin = input_.position();
    if (header.size > kMaxTarExtension) {
      return find_way_again(fmt::format("an extension header of {} bytes; {} are the limit",
                                        header.size, kMaxTarExtension));
    }
    if (!extension_begin_) extension_begin_ = begin;
    last_ = Member();
    input_.consume(kTarBlock);
    const Bytes payload = input_.take(header.size);
    if (payload.size() < header.size) return report_cut("an extension header", begin, header.size);
    try {
      read_extension(header.type, payload, begin);
    } catch (const Error& error) {
      findings_.error(error.code(), {begin}, error.what());
      extension_is_bad_ = true;
    }
    take_padding(header.size, {input_.position(), "", ""});
    return true;
  }

  void read_extension(char type, const Bytes& payload, std::uint64_t begin) {
    switch (type) {
      case 'L':
        extension_.path = parse_gnu_name(payload.view());
        findings_.tally(Code::name, begin,
                        "names are in GNU's long form, which throws DALI's index off");
        break;
      case 'K':
        extension_.link = parse_gnu_name(payload.view());
        break;
      case 'g': {
        TarExtension global;
        parse_pax(payload.view(), global);
        if (global.path || global.link || global.size || global.sparse) {
          fail(Code::unsupported, "a global PAX header that sets a name or a size");
        }
        break;
      }
      default:
        parse_pax(payload.view(), extension_);
        if (extension_.path || extension_.size) {
          findings_.tally(Code::name, begin,
                          "names or sizes are in PAX headers, which wids and old DALI do not read");
        }
    }
  }

  void drop_extension(std::string_view why) {
    const std::uint64_t begin = *extension_begin_;
    findings_.error(Code::corrupt, {begin}, std::string(why));
    ledger_.lose(begin, input_.position(), "", std::string(why));
    forget_extension();
  }

  void forget_extension() {
    extension_begin_.reset();
    extension_ = TarExtension();
    extension_is_bad_ = false;
  }

  // --- members --------------------------------------------------------------------------------

  bool take_member(TarHeader header, std::uint64_t offset) {
    skip_sparse_map(header);
    Member member;
    member.type = header.type;
    member.sparse = header.type == 'S' || extension_.sparse;
    member.name = extension_.path ? std::move(*extension_.path) : std::move(header.name);
    member.size = tar_type_has_data(header.type) ? extension_.size.value_or(header.size) : 0;
    member.begin = extension_begin_.value_or(offset);
    member.data_offset = input_.position();
    const bool name_is_lost = extension_is_bad_;
    forget_extension();
    last_ = member;
    last_is_part_ = false;
    if (member.size > input_.left()) return report_cut(member.name, member.begin, member.size);
    if (name_is_lost) return skip_nameless(member);
    return take_data(member);
  }

  void skip_sparse_map(const TarHeader& header) {
    for (bool more = header.more_sparse_blocks; more;) {
      const ByteView block = input_.peek(kTarBlock);
      more = block.size() == kTarBlock && more_sparse_blocks(block);
      input_.skip(kTarBlock);
    }
  }

  // The archive ends inside what began at `begin`. False, unless the input can be searched and
  // there is something in the data after all.
  bool report_cut(std::string_view name, std::uint64_t begin, std::uint64_t size) {
    if (input_.end() != UINT64_MAX) input_.skip(input_.left());
    const std::uint64_t end = input_.position();
    findings_.error(Code::truncated, {end},
                    fmt::format("cut short: it ends inside {} ({} bytes long, from {} on)",
                                printable(name), size, begin));
    forget_extension();
    const bool more = find_swallowed_header();
    ledger_.lose(begin, input_.position(), std::string(name), "it is cut short");
    return more;
  }

  // The extension that had its name can't be read.
  bool skip_nameless(const Member& member) {
    if (input_.skip(member.size) < member.size) {
      return report_cut(member.name, member.begin, member.size);
    }
    take_padding(member.size, {input_.position(), "", ""});
    ledger_.lose(member.begin, input_.position(), member.name, "its extension header is damaged");
    return true;
  }

  bool take_data(const Member& member) {
    const auto [key, part] = split_key(member.name);
    const bool is_part = last_is_part_ = judge(member);
    if (is_part && ledger_.starts_sample(key)) is_chosen_ = choice_.takes(member.begin);
    std::vector<PayloadChecker::Fault> faults;
    std::optional<std::int64_t> label;
    if (is_part && !look_into(member, part, faults, label)) {
      return report_cut(member.name, member.begin, member.size);
    }
    const std::uint64_t rest = member.data_offset + member.size - input_.position();
    if (input_.skip(rest) < rest) return report_cut(member.name, member.begin, member.size);
    take_padding(member.size, {input_.position(), key, part});
    if (is_part) {
      add(member, key, part, faults);
      if (label) ledger_.set_label(*label);
    } else if (!member.is_directory() && member.type != 'V') {
      ledger_.leave_out(member.begin, input_.position(), member.name, "loaders do not read it");
    }
    return true;
  }

  // Whether a member is a part of a sample; if not, says why it is not.
  bool judge(const Member& member) {
    if (member.is_directory()) {
      findings_.tally(Code::unsupported, member.begin, "members are directories");
      return false;
    }
    if (member.type == 'V') {
      findings_.tally(Code::unsupported, member.begin, "members are volume labels");
      return false;
    }
    if (const std::string fault = name_fault(member.name); !fault.empty()) {
      findings_.error(Code::name, {member.begin, member.name, ""}, fault);
      return false;
    }
    if (const std::string_view oddity = name_oddity(member.name); !oddity.empty()) {
      findings_.tally(Code::name, member.begin, oddity);
    }
    return true;
  }

  // Hands the data to the checker, or reads a label; false if there is less of it than there should
  // be.
  bool look_into(const Member& member, std::string_view part,
                 std::vector<PayloadChecker::Fault>& faults, std::optional<std::int64_t>& label) {
    const bool is_file = type_fault(member.type, member.sparse).empty();
    const bool check = payload_.checker && is_chosen_ && is_file;
    if (payload_.count_labels && part == kLabelPart && member.size <= kMaxLabel) {
      label = parse_label(as_text(input_.peek(static_cast<std::size_t>(member.size))));
    }
    if (!check) return true;
    if (member.size > kMaxCheckedPayload) {
      findings_.tally(Code::limit, member.begin, "parts are over 1 GiB and were not decoded");
      return true;
    }
    const auto size = static_cast<std::size_t>(member.size);
    const Bytes bytes =
        size <= VerifyInput::kWindow ? Bytes(input_.peek(size), nullptr) : input_.take(size);
    if (bytes.size() < size) return false;
    payload_.checker->check(part, bytes, faults);
    return true;
  }

  void add(const Member& member, std::string_view key, std::string_view part,
           const std::vector<PayloadChecker::Fault>& faults) {
    ledger_.add_part(key, {std::string(part), member.name, member.data_offset, member.size},
                     member.begin, input_.position());
    const std::string_view wrong_type = type_fault(member.type, member.sparse);
    if (!wrong_type.empty()) {
      findings_.error(Code::unsupported, {member.begin, key, part}, std::string(wrong_type));
      ledger_.damage_sample(fmt::format("its part {} is {}", printable(part), wrong_type));
    }
    for (const PayloadChecker::Fault& fault : faults) {
      const Findings::Place place{member.data_offset, key, part};
      if (!fault.is_error) {
        findings_.warn(fault.code, place, fault.message);
        continue;
      }
      findings_.error(fault.code, place, fault.message);
      ledger_.damage_sample(fmt::format("its part {}: {}", printable(part), fault.message));
    }
  }

  // What lies between `size` bytes of data and the next block.
  void take_padding(std::uint64_t size, const Findings::Place& place) {
    const ByteView padding = input_.peek(static_cast<std::size_t>(tar_padding(size)));
    if (!is_zero(padding)) {
      findings_.error(Code::corrupt, place, "the padding behind its data is not zero");
    }
    input_.skip(padding.size());
  }

  VerifyInput& input_;
  const PayloadOptions& payload_;
  SampleLedger& ledger_;
  Findings& findings_;
  SampleChoice choice_;
  bool is_chosen_ = false;

  // What extension headers said of the member that is next.
  std::optional<std::uint64_t> extension_begin_;
  TarExtension extension_;
  bool extension_is_bad_ = false;

  Member last_;
  bool last_is_part_ = false;
  std::uint64_t searched_until_ = 0;  // data that begins before was searched for headers
};

}  // namespace

void verify_tar(VerifyInput& input, const PayloadOptions& payload, SampleLedger& ledger,
                Findings& findings) {
  TarWalk(input, payload, ledger, findings).run();
}

}  // namespace prep
