#include "formats/verify_shard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "formats/compression.h"
#include "formats/shard_index.h"
#include "formats/tar_header.h"
#include "formats/tfrecord_reader.h"
#include "formats/tfrecord_record.h"
#include "formats/verify_input.h"
#include "formats/verify_tar.h"
#include "formats/verify_tfrecord.h"
#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/core/unnamed_file.h"

namespace prep {
namespace {

}  // namespace

bool has_tar_name(std::string_view path) {
  const std::string name = lower_case(base_name(path));
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz") ||
         name.ends_with(".tar.zst") || name.ends_with(".tzst");
}

bool has_tfrecord_name(std::string_view path) {
  const std::string name = lower_case(base_name(path));
  if (name.ends_with(".idx") || name.ends_with(".json")) return false;
  return name.find(".tfrecord") != std::string::npos;
}

// --- the indexes beside a shard ---------------------------------------------------------------

namespace {

// An index that lies beside the shard.
struct FoundIndex {
  IndexKind kind;
  std::string path;
  Bytes content;
};

std::vector<IndexKind> index_kinds(ShardContainer container) {
  if (container == ShardContainer::tfrecord) return {IndexKind::tfrecord};
  return {IndexKind::dali, IndexKind::energon};
}

// "line 3 is 'jpg 512 …', not 'jpg 1024 …'".
std::string first_different_line(std::string_view is, std::string_view should_be) {
  for (std::size_t line = 1;; ++line) {
    const std::string_view a = is.substr(0, is.find('\n'));
    const std::string_view b = should_be.substr(0, should_be.find('\n'));
    if (a != b || a.size() == is.size() || b.size() == should_be.size()) {
      constexpr std::size_t kShown = 80;
      return fmt::format("line {} is '{}', and should be '{}'", line,
                         printable(a.substr(0, kShown)), printable(b.substr(0, kShown)));
    }
    is.remove_prefix(a.size() + 1);
    should_be.remove_prefix(b.size() + 1);
  }
}

std::uint64_t load_le64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  }
  return value;
}

std::string first_different_entry(std::string_view is, std::string_view should_be) {
  if (is.size() != should_be.size()) {
    return fmt::format("it has {} bytes, and should have {}", is.size(), should_be.size());
  }
  const auto [a, b] = std::mismatch(is.begin(), is.end(), should_be.begin());
  const auto at = static_cast<std::size_t>(a - is.begin()) / 8;
  return fmt::format("entry {} is {}, and should be {}", at, load_le64(is.substr(8 * at)),
                     load_le64(should_be.substr(8 * at)));
}

std::string describe_difference(const FoundIndex& index, std::string_view should_be) {
  const std::string_view is = index.content.text();
  return index.kind == IndexKind::energon ? first_different_entry(is, should_be)
                                          : first_different_line(is, should_be);
}

// --- one check --------------------------------------------------------------------------------

class ShardVerifier {
 public:
  ShardVerifier(const ShardCheck& check, const VerifyOptions& options)
      : check_(check),
        options_(options),
        name_(check.path == "-" ? "standard input" : check.path),
        findings_(name_) {}

  ShardReport run() {
    try {
      open();
      walk_and_compare();
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      report(error);
    }
    report_.findings = findings_.finish();
    report_.errors += findings_.errors();
    report_.warnings += findings_.warnings();
    append(index_findings_);
    return std::move(report_);
  }

 private:
  void report(const Error& error, std::optional<std::uint64_t> offset = std::nullopt) {
    std::string_view what = error.what();
    const std::string prefix = printable(name_) + ": ";
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    findings_.error(error.code(), {offset}, std::string(what));
  }

  void append(std::vector<Finding>& findings) {
    for (Finding& finding : findings) report_.findings.push_back(std::move(finding));
  }

  // --- what it is -----------------------------------------------------------------------------

  void open() {
    file_ = std::make_shared<const Fd>(check_.path == "-" ? Fd(dup(STDIN_FILENO))
                                                          : open_file(check_.path, O_RDONLY));
    if (fstat(file_->get(), &status_) != 0) fail_errno(errno, "stat", name_);
    if (S_ISDIR(status_.st_mode)) fail(Code::io, "{}: is a directory", printable(name_));
    if (check_.path == "-" && isatty(file_->get())) {
      fail(Code::usage, "{} is a terminal; give it a tar: … | or < x.tar", printable(name_));
    }
    is_regular_ = S_ISREG(status_.st_mode) && lseek(file_->get(), 0, SEEK_CUR) == 0;
    std::array<std::uint8_t, kTarBlock> head{};
    if (is_regular_) {
      const std::size_t size = pread_fully(file_->get(), head.data(), head.size(), 0, name_);
      report_.compression = detect_compression(ByteView(head).first(size));
    }
    report_.container = check_.container ? *check_.container : detect_container(head);
    if (is_regular_) judge_name();
  }

  // By content, or where that is damaged by name.
  ShardContainer detect_container(std::span<std::uint8_t> head) const {
    std::size_t size = 0;
    if (is_regular_) {
      try {
        const auto again = std::make_shared<const Fd>(open_file(check_.path, O_RDONLY));
        const auto stream = decompress(std::make_unique<FdReader>(again, name_), name_);
        while (size < head.size()) {
          const std::size_t count = stream->read(head.subspan(size));
          if (count == 0) break;
          size += count;
        }
      } catch (const Error&) {
        // The walk will say what is wrong.
      }
    }
    const ByteView seen = head.first(size);
    if (parse_tfrecord_header(seen)) return ShardContainer::tfrecord;
    if (size == kTarBlock && has_tar_checksum(seen)) return ShardContainer::tar;
    return has_tfrecord_name(check_.path) ? ShardContainer::tfrecord : ShardContainer::tar;
  }

  // Loaders go by the name.
  void judge_name() {
    const bool sounds_compressed = compression_for_name(check_.path) != Compression::none;
    const bool is_compressed = report_.compression != Compression::none;
    if (sounds_compressed == is_compressed || status_.st_size == 0) return;
    if (is_compressed) {
      findings_.warn(
          Code::unsupported, {},
          fmt::format("is {} data, though its name does not say so: loaders that go by "
                      "the name cannot read it, and those that use an index can't either",
                      report_.compression == Compression::gzip ? "gzip" : "zstd"));
    } else if (is_shard(check_.path)) {
      findings_.warn(Code::unsupported, {}, "is not compressed, though its name says that it is");
    }
  }

  static bool is_shard(std::string_view path) {
    return has_tar_name(path) || has_tfrecord_name(path);
  }

  bool is_plain_file() const { return is_regular_ && report_.compression == Compression::none; }
  std::uint64_t file_size() const { return static_cast<std::uint64_t>(status_.st_size); }

  // --- the walk -------------------------------------------------------------------------------

  void walk_and_compare() {
    const std::vector<FoundIndex> indexes = find_indexes();
    SampleLedger::Options ledger_options{
        {}, options_.for_repair, options_.optional_parts, check_.repeated};
    for (const FoundIndex& index : indexes) {
      ledger_options.indexes.push_back(index.kind);
      report_.indexes.push_back(index.kind);
    }
    SampleLedger ledger(findings_, std::move(ledger_options));
    walk(ledger);
    ledger.finish();
    take_results(ledger);
    report_.is_intact = findings_.errors() == 0;
    if (report_.samples == 0 && findings_.errors() == 0) {
      findings_.error(Code::empty, {}, "there is no sample in it");
    }
    compare_with_manifest();
    // That the index of a damaged shard does not fit says nothing new.
    if (!report_.is_intact) return;
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      compare(indexes[i], ledger.indexes()[i]->finish());
    }
  }

  void walk(SampleLedger& ledger) {
    const bool hashed = !options_.quick;
    const DigestedFile::Wanted wanted{hashed && check_.expected, hashed && check_.wants_md5};
    if (options_.for_repair) {
      walk_for_repair(wanted, ledger);
    } else if (options_.quick && is_plain_file()) {
      walk_file(file_, file_size(), ledger);
      report_.bytes = file_size();
    } else {
      const auto digested = std::make_shared<DigestedFile>(reader(), wanted);
      walk_stream(decompressed(digested), ledger);
      finish_digests(*digested);
    }
  }

  std::unique_ptr<ByteReader> reader() const { return std::make_unique<FdReader>(file_, name_); }

  // An error in the first bytes of compressed data shows here.
  std::unique_ptr<ByteReader> decompressed(const std::shared_ptr<DigestedFile>& file) const {
    return decompress(std::make_unique<DigestedReader>(file), name_);
  }

  void finish_digests(DigestedFile& file) {
    file.drain();
    report_.bytes = file.bytes();
    report_.sha256 = file.sha256();
    report_.md5 = file.md5();
  }

  // The archive's bytes have to be there for a second reading, at any place.
  void walk_for_repair(DigestedFile::Wanted wanted, SampleLedger& ledger) {
    const auto digested = std::make_shared<DigestedFile>(reader(), wanted);
    report_.archive = file_;
    std::uint64_t size = file_size();
    if (!is_plain_file()) {
      Fd copy = open_unnamed_file();
      size = copy_archive(*decompressed(digested), copy);
      report_.archive = std::make_shared<const Fd>(std::move(copy));
    }
    finish_digests(*digested);
    walk_file(report_.archive, size, ledger);
  }

  // As much as can be decompressed.
  std::uint64_t copy_archive(ByteReader& from, const Fd& to) {
    std::vector<std::uint8_t> piece(256 << 10);
    std::uint64_t size = 0;
    for (;;) {
      std::size_t count = 0;
      try {
        count = from.read(piece);
      } catch (const Error& error) {
        if (error.code() == Code::interrupted) throw;
        report(error);
      }
      if (count == 0) return size;
      write_fully(to.get(), ByteView(piece).first(count), "temporary file (TMPDIR says where)");
      size += count;
    }
  }

  void walk_file(const std::shared_ptr<const Fd>& file, std::uint64_t size, SampleLedger& ledger) {
    if (report_.container == ShardContainer::tar) {
      VerifyInput input(file, name_, size);
      walk_tar(input, ledger);
    } else {
      TfRecordReader reader(file, name_, 0, size);
      walk_tfrecord(reader, size, ledger);
    }
  }

  void walk_stream(std::unique_ptr<ByteReader> stream, SampleLedger& ledger) {
    const std::uint64_t size = is_plain_file() ? file_size() : UINT64_MAX;
    if (report_.container == ShardContainer::tar) {
      VerifyInput input(std::move(stream), size);
      walk_tar(input, ledger);
    } else {
      TfRecordReader reader(std::move(stream), name_);
      walk_tfrecord(reader, size, ledger);
    }
  }

  void walk_tar(VerifyInput& input, SampleLedger& ledger) {
    PayloadOptions payload = options_.payload;
    payload.count_labels = !options_.quick;
    try {
      verify_tar(input, payload, ledger, findings_);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      report(error, input.position());
      ledger.lose(input.position(), input.position(), "", "");
    }
  }

  void walk_tfrecord(TfRecordReader& reader, std::uint64_t size, SampleLedger& ledger) {
    const TfRecordCheck check{name_, size, options_.quick, check_.schema, options_.payload};
    try {
      verify_tfrecord(reader, check, ledger, findings_);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      report(error, reader.position());
    }
  }

  // --- comparing ------------------------------------------------------------------------------

  void take_results(SampleLedger& ledger) {
    report_.samples = ledger.samples();
    report_.labels = ledger.labels();
    report_.common_parts = ledger.common_parts();
    report_.keys = ledger.take_keys();
    report_.kept = ledger.take_samples();
    report_.lost = ledger.take_lost();
  }

  void compare_with_manifest() {
    if (!check_.expected) return;
    const ShardRecord& expected = *check_.expected;
    const auto differs = [&](std::string_view what, std::uint64_t is, std::uint64_t should_be) {
      if (is == should_be) return;
      findings_.error(is < should_be ? Code::truncated : Code::corrupt, {},
                      fmt::format("has {} {}; the manifest says {}", is, what, should_be));
    };
    differs("bytes", report_.bytes, expected.bytes);
    differs("samples", report_.samples, expected.samples);
    if (!report_.sha256.empty() && report_.sha256 != expected.sha256) {
      findings_.error(Code::corrupt, {},
                      fmt::format("its bytes are not those that were written: their SHA-256 is {}, "
                                  "and the manifest says {}",
                                  report_.sha256, expected.sha256));
    }
  }

  std::vector<FoundIndex> find_indexes() {
    std::vector<FoundIndex> found;
    if (!is_regular_) return found;
    for (const IndexKind kind : index_kinds(report_.container)) {
      FoundIndex index{kind, shard_index_name(kind, check_.path), Bytes()};
      try {
        if (!find_file(index.path)) continue;
        index.content = FileContent(index.path).load();
        found.push_back(std::move(index));
      } catch (const Error& error) {
        add_index_finding(index, Finding::Severity::error, error.what());
      }
    }
    return found;
  }

  void compare(const FoundIndex& index, const std::string& should_be) {
    if (report_.compression != Compression::none) {
      add_index_finding(index, Finding::Severity::warning,
                        "is of no use beside a compressed shard, whose offsets are others");
    } else if (index.content.text() != should_be) {
      add_index_finding(index, Finding::Severity::error,
                        fmt::format("is not the index of {}: {}", printable(base_name(name_)),
                                    describe_difference(index, should_be)));
    }
  }

  void add_index_finding(const FoundIndex& index, Finding::Severity severity, std::string message) {
    ++(severity == Finding::Severity::error ? report_.errors : report_.warnings);
    index_findings_.push_back(
        {severity, Code::corrupt, index.path, std::nullopt, "", "", std::move(message)});
  }

  const ShardCheck& check_;
  const VerifyOptions& options_;
  const std::string name_;
  Findings findings_;
  std::vector<Finding> index_findings_;
  ShardReport report_;

  std::shared_ptr<const Fd> file_;
  struct stat status_ {};
  bool is_regular_ = false;
};

}  // namespace

ShardReport verify_shard(const ShardCheck& check, const VerifyOptions& options) {
  return ShardVerifier(check, options).run();
}

}  // namespace prep
