#include "lib/signal/edf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/text.h"
#include "lib/signal/channels.h"
#include "lib/signal/edf_annotations.h"
#include "lib/signal/edf_header.h"
#include "lib/signal/field_text.h"
#include "lib/signal/random_access.h"
#include "lib/signal/segments.h"
#include "lib/signal/units.h"

namespace prep::signal {
namespace {

constexpr std::uint64_t kMaxAnnotationBytes = 16 << 20;  // of one signal in a record
constexpr std::size_t kMaxAnnotations = 1'000'000;
constexpr std::uint64_t kSmallRecord = 32 << 10;  // reading less than this saves nothing
constexpr std::uint64_t kSparse = 4;
// Onsets are rounded to a few decimals, so that sound ones can be a little over half a sample off.
constexpr double kGapInEdfSamples = 0.51;
constexpr std::size_t kMangledProbe = 64 << 10;

// Where the records lie.
struct Records {
  std::uint64_t offset = 0, bytes = 0, count = 0;
};

// Gives pieces of records that are asked for in the file's order. Reads runs of whole records, or,
// where little of each is wanted, the pieces themselves.
class RecordWindow {
 public:
  RecordWindow(const RandomAccess& data, const Records& records, std::uint64_t wanted_bytes)
      : data_(data),
        records_(records),
        sparse_(records.bytes > kReadPiece ||
                (records.bytes > kSmallRecord && wanted_bytes < records.bytes / kSparse)) {}

  // [offset, offset + length) of a record; `last` is the last record that will be asked for.
  // Valid until the next call.
  const std::uint8_t* get(std::uint64_t record, std::uint64_t offset, std::uint64_t length,
                          std::uint64_t last) {
    const std::uint64_t at = records_.offset + record * records_.bytes;
    if (sparse_) {
      window_ = data_.read(at + offset, length);
      return window_.data();
    }
    if (record < first_ || record >= first_ + count_) {
      first_ = record;
      count_ = std::min(std::max<std::uint64_t>(1, kReadPiece / records_.bytes), last + 1 - record);
      window_ = data_.read(at, count_ * records_.bytes);
    }
    return window_.data() + (record - first_) * records_.bytes + offset;
  }

 private:
  const RandomAccess& data_;
  Records records_;
  bool sparse_;
  Bytes window_;
  std::uint64_t first_ = 0, count_ = 0;
};

class EdfRecording final : public Recording {
 public:
  EdfRecording(std::unique_ptr<RandomAccess> data, const EdfHeader& header, const Records& records,
               const OpenOptions& options);

 private:
  // What reading needs to know of a signal.
  struct Stored {
    std::uint64_t samples = 0, offset = 0;  // in a record; samples, bytes
    Calibration calibration;
  };

  void do_read(std::span<const ReadRequest<float>> requests) const override { run(requests); }
  void do_read(std::span<const ReadRequest<double>> requests) const override { run(requests); }
  template <typename T>
  void run(std::span<const ReadRequest<T>> requests) const;
  template <typename T>
  void read_record(std::uint64_t record, std::uint64_t last, const ReadRequest<T>& request,
                   RecordWindow& window) const;

  void add_channel(const EdfSignal& signal, const EdfHeader& header, const OpenOptions& options);
  void scan_annotations(const EdfHeader& header);
  void take_annotations(const Tal& tal);
  void judge_segments(const EdfHeader& header, const SegmentBuilder& builder);

  std::unique_ptr<RandomAccess> data_;
  Records records_;
  SampleFormat format_;
  std::vector<Stored> stored_;
  bool latin1_annotation_ = false;
};

EdfRecording::EdfRecording(std::unique_ptr<RandomAccess> data, const EdfHeader& header,
                           const Records& records, const OpenOptions& options)
    : data_(std::move(data)), records_(records) {
  format_.type = header.bdf ? SampleType::int24 : SampleType::int16;
  info_.format = header.format_name();
  info_.record_duration = header.duration;
  info_.start = header.start;
  info_.warnings = header.warnings;
  for (const EdfSignal& signal : header.signals) add_channel(signal, header, options);
  name_channels(info_.channels);
  scan_annotations(header);
}

void EdfRecording::add_channel(const EdfSignal& signal, const EdfHeader& header,
                               const OpenOptions& options) {
  Channel channel;
  channel.label = signal.label;
  channel.kind = signal.kind;
  channel.fault = signal.fault;
  channel.samples_per_record = signal.samples;
  channel.samples = signal.samples * records_.count;
  channel.rate = static_cast<double>(signal.samples) / header.duration;
  Calibration calibration = signal.calibration;
  if (signal.kind == ChannelKind::signal) {
    set_unit(channel, calibration, signal.unit, options.unit);
  } else {
    channel.file_unit = channel.unit = to_utf8(signal.unit);
  }
  stored_.push_back({signal.samples, signal.offset, calibration});
  info_.channels.push_back(std::move(channel));
}

// --- reading -------------------------------------------------------------------------------------

template <typename T>
void EdfRecording::run(std::span<const ReadRequest<T>> requests) const {
  std::uint64_t first = records_.count, last = 0, wanted = 0;
  for (const auto& request : requests) {
    const Stored& stored = stored_[request.channel];
    first = std::min(first, request.first / stored.samples);
    last = std::max(last, (request.first + request.out.size() - 1) / stored.samples);
    wanted += stored.samples * format_.bytes();
  }
  RecordWindow window(*data_, records_, wanted);
  for (std::uint64_t record = first; record <= last; ++record) {
    for (const auto& request : requests) read_record(record, last, request, window);
  }
}

template <typename T>
void EdfRecording::read_record(std::uint64_t record, std::uint64_t last,
                               const ReadRequest<T>& request, RecordWindow& window) const {
  const Stored& stored = stored_[request.channel];
  const std::uint64_t start = record * stored.samples;
  const std::uint64_t begin = std::max(start, request.first);
  const std::uint64_t end = std::min(start + stored.samples, request.first + request.out.size());
  const std::uint64_t step = kReadPiece / format_.bytes();
  // A record may be larger than the memory that one piece may take.
  for (std::uint64_t at = begin; at < end; at += step) {
    const std::uint64_t count = std::min(step, end - at);
    const std::uint8_t* bytes = window.get(record, stored.offset + (at - start) * format_.bytes(),
                                           count * format_.bytes(), last);
    decode_samples(bytes, format_.bytes(), format_, stored.calibration,
                   request.out.subspan(at - request.first, count));
  }
}

// --- annotations and segments --------------------------------------------------------------------

void EdfRecording::take_annotations(const Tal& tal) {
  for (const std::string_view text : tal.texts) {
    if (info_.annotations.size() >= kMaxAnnotations) {
      fail(Code::limit, "it has more than {} annotations", kMaxAnnotations);
    }
    latin1_annotation_ = latin1_annotation_ || !is_utf8(text);
    info_.annotations.push_back({tal.onset, tal.duration, to_utf8(text)});
  }
}

void EdfRecording::scan_annotations(const EdfHeader& header) {
  std::vector<const EdfSignal*> signals;
  double fastest = 0;
  std::uint64_t wanted = 0;
  for (const EdfSignal& signal : header.signals) {
    const std::uint64_t bytes = signal.samples * format_.bytes();
    if (signal.kind != ChannelKind::annotations) {
      fastest = std::max(fastest, static_cast<double>(signal.samples) / header.duration);
    } else if (bytes > kMaxAnnotationBytes) {
      fail(Code::limit, "an annotation signal has {} bytes a record", bytes);
    } else if (bytes > 0) {
      signals.push_back(&signal);
      wanted += bytes;
    }
  }
  SegmentBuilder builder(header.duration, kGapInEdfSamples / fastest);
  if (signals.empty()) {
    builder.add_untimed(records_.count);
  } else {
    RecordWindow window(*data_, records_, wanted);
    bool malformed = false;
    for (std::uint64_t record = 0; record < records_.count; ++record) {
      std::optional<double> time;
      for (const EdfSignal* signal : signals) {
        const std::uint64_t bytes = signal->samples * format_.bytes();
        TalReader reader({window.get(record, signal->offset, bytes, records_.count - 1), bytes});
        while (const auto tal = reader.next()) {
          // The first list of the first annotation signal is the one that has the record's time.
          if (!time && signal == signals.front()) time = tal->onset;
          take_annotations(*tal);
        }
        malformed = malformed || reader.malformed();
      }
      builder.add(time);
    }
    if (malformed) info_.warnings.push_back("some of its annotations are not as EDF+ has them");
  }
  judge_segments(header, builder);
  std::stable_sort(info_.annotations.begin(), info_.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset < b.onset; });
  if (latin1_annotation_) {
    info_.warnings.push_back("annotations are not UTF-8: taken for Latin-1");
  }
}

void EdfRecording::judge_segments(const EdfHeader& header, const SegmentBuilder& builder) {
  info_.segments = builder.segments();
  const bool gaps = info_.segments.size() > 1;
  if (gaps && header.kind != EdfHeader::Kind::discontinuous) {
    info_.warnings.push_back(
        fmt::format("labelled {}, but its records have gaps between them", header.format_name()));
  }
  for (const std::string& warning : builder.warnings()) info_.warnings.push_back(warning);
}

// --- opening -------------------------------------------------------------------------------------

// Counts records by the file's size. throws Error empty, truncated.
Records count_records(std::uint64_t size, EdfHeader& header) {
  Records records{header.bytes, header.record_bytes, 0};
  const std::uint64_t bytes = size - header.bytes;
  records.count = bytes / header.record_bytes;
  const std::uint64_t rest = bytes % header.record_bytes;
  if (bytes == 0) fail(Code::empty, "it has a header, but no data");
  if (records.count == 0) fail(Code::truncated, "it ends inside of its first record");
  const bool as_said = header.records == static_cast<std::int64_t>(records.count);
  if (!as_said) {
    header.warnings.push_back(
        header.records && *header.records >= 0
            ? fmt::format("its header says {} records; it holds {}", *header.records, records.count)
            : fmt::format("its header does not say how many records it holds; there are {}",
                          records.count));
  }
  if (rest != 0) {
    header.warnings.push_back(fmt::format("{} bytes after the last whole record left out", rest));
  }
  return records;
}

}  // namespace

std::unique_ptr<Recording> open_edf(std::shared_ptr<const Content> content,
                                    const OpenOptions& options) {
  auto data = std::make_unique<RandomAccess>(std::move(content));
  if (data->size() == 0) fail(Code::empty, "it is empty");
  const Bytes fixed = data->read(0, std::min<std::uint64_t>(data->size(), kEdfFixedHeader));
  const std::uint64_t header_bytes = edf_header_bytes(fixed.view());
  if (data->size() < header_bytes) fail(Code::truncated, "ends inside of its header");
  EdfHeader header = parse_edf_header(data->read(0, header_bytes).view());
  const Bytes probe =
      data->read(header.bytes, std::min<std::uint64_t>(data->size() - header.bytes, kMangledProbe));
  if (is_mangled_utf8(probe.text())) fail_mangled_edf();
  const Records records = count_records(data->size(), header);
  return std::make_unique<EdfRecording>(std::move(data), header, records, options);
}

}  // namespace prep::signal
