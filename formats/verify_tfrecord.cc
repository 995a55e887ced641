#include "formats/verify_tfrecord.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "formats/example.h"
#include "formats/example_sample.h"
#include "formats/part_names.h"
#include "lib/core/text.h"

namespace prep {
namespace {


// A message without the file's name before it, and without what a finding says by itself.
std::string without_place(std::string_view message, std::string_view name,
                          std::string_view offset_text) {
  for (const std::string& prefix : {printable(name) + ": ", std::string(offset_text)}) {
    if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  }
  return std::string(message);
}

class TfRecordWalk {
 public:
  TfRecordWalk(TfRecordReader& reader, const TfRecordCheck& check, SampleLedger& ledger,
               Findings& findings)
      : reader_(reader),
        check_(check),
        ledger_(ledger),
        findings_(findings),
        choice_(check.payload.samples, check.size) {}

  void run() {
    TfRecord record;
    for (;;) {
      try {
        if (!(check_.quick ? reader_.skip(record) : reader_.next(record))) return;
      } catch (const Error& error) {
        if (!is_damage(error.code())) throw;
        if (!go_on_behind(error)) return;
        continue;
      }
      take(record);
    }
  }

 private:
  // Whether the walk may go on behind such an error; not that of the disk.
  static bool is_damage(Code code) {
    return code == Code::corrupt || code == Code::truncated || code == Code::limit ||
           code == Code::unsupported || code == Code::empty;
  }

  bool go_on_behind(const Error& error) {
    const std::uint64_t begin = reader_.record_offset();
    const std::string what =
        without_place(error.what(), check_.name, fmt::format("corrupted record at {}: ", begin));
    if (error.code() == Code::unsupported || error.code() == Code::empty) {
      findings_.error(error.code(), {}, what);
      return false;
    }
    const bool more = reader_.resync();
    const std::uint64_t end = reader_.position();
    findings_.error(error.code(), {begin},
                    fmt::format("corrupted record: {}; {} bytes lost, up to {}", what, end - begin,
                                more ? "the next record" : "the end"));
    ledger_.leave_out(begin, end, "", what);
    ++number_;
    return more;
  }

  void take(const TfRecord& record) {
    const std::uint64_t number = number_++;
    PlacedSample placed{"", record.offset, record.end(), {}};
    if (check_.quick) return ledger_.add_record(std::move(placed));
    Tally left_out;
    const Sample sample =
        sample_of_record(record, number, RecordFile{check_.name, nullptr, 0}, left_out);
    placed.key = sample.key;
    for (const Part& part : sample.parts) {
      placed.parts.push_back({part.name, part.name, record.data_offset(), part.content->size()});
    }
    ledger_.add_record(std::move(placed));
    if (sample.fault) {
      damage(record, sample.key, "", sample.fault->code(),
             without_place(sample.fault->what(), check_.name, ""));
      return;
    }
    check_schema(record, sample.key);
    check_parts(record, sample);
  }

  void damage(const TfRecord& record, std::string_view key, std::string_view part, Code code,
              const std::string& what) {
    findings_.error(code, {record.offset, key, part}, what);
    ledger_.damage_sample(what);
  }

  void check_schema(const TfRecord& record, std::string_view key) {
    if (!check_.schema) return;
    try {
      check_.schema->check(parse_example(record.data.view()));
    } catch (const Error& error) {
      damage(record, key, "", error.code(), error.what());
    }
  }

  void check_parts(const TfRecord& record, const Sample& sample) {
    const bool is_chosen = check_.payload.checker && choice_.takes(record.offset);
    for (const Part& part : sample.parts) {
      const Bytes bytes = part.content->load();
      if (check_.payload.count_labels && part.name == kLabelPart) count_label(bytes.text());
      if (!is_chosen) continue;
      std::vector<PayloadChecker::Fault> faults;
      check_.payload.checker->check(part.name, bytes, faults);
      for (const PayloadChecker::Fault& fault : faults) {
        if (fault.is_error) {
          damage(record, sample.key, part.name, fault.code, fault.message);
        } else {
          findings_.warn(fault.code, {record.offset, sample.key, part.name}, fault.message);
        }
      }
    }
  }

  void count_label(std::string_view text) {
    std::int64_t label = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), label);
    if (result.ec == std::errc() && result.ptr == text.data() + text.size()) {
      ledger_.set_label(label);
    }
  }

  TfRecordReader& reader_;
  const TfRecordCheck& check_;
  SampleLedger& ledger_;
  Findings& findings_;
  SampleChoice choice_;
  std::uint64_t number_ = 0;
};

}  // namespace

void verify_tfrecord(TfRecordReader& reader, const TfRecordCheck& check, SampleLedger& ledger,
                     Findings& findings) {
  TfRecordWalk(reader, check, ledger, findings).run();
}

}  // namespace prep
