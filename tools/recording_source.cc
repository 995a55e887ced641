#include "tools/recording_source.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <utility>

#include "formats/foreign.h"
#include "lib/signal/format.h"

namespace prep {
namespace {

using signal::PreparedSignal;
using signal::RecordingParts;

// A content that several samples have.
class SharedContent final : public Content {
 public:
  explicit SharedContent(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  std::uint64_t size() const override { return locked(&Content::size); }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override {
    const std::lock_guard lock(mutex_);
    return content_->read(offset, length);
  }
  std::int64_t mtime_ns() const override { return locked(&Content::mtime_ns); }
  std::uint64_t resident_bytes() const override { return locked(&Content::resident_bytes); }
  bool is_file(const struct stat& st) const override {
    const std::lock_guard lock(mutex_);
    return content_->is_file(st);
  }
  std::optional<FileRange> range() const override { return locked(&Content::range); }
  bool is_literal() const override { return locked(&Content::is_literal); }
  std::string origin() const override { return locked(&Content::origin); }

 private:
  template <typename R>
  R locked(R (Content::*ask)() const) const {
    const std::lock_guard lock(mutex_);
    return ((*content_).*ask)();
  }

  std::shared_ptr<const Content> content_;
  mutable std::mutex mutex_;
};

Error named(const Error& error, const std::string& origin) {
  const std::string name = printable(origin), what = error.what();
  return Error(error.code(), what.starts_with(name) ? what : name + ": " + what);
}

// What a part becomes: its last extension is replaced.
std::string output_name(const std::string& part, std::string_view extension) {
  return part.substr(0, part.find_last_of('.') + 1).append(extension);  // npos + 1 == 0
}

// A format that is nothing but recordings. Arrays and tables may be labels.
bool is_certain(signal::Format format) {
  return format != signal::Format::npy && format != signal::Format::csv &&
         format != signal::Format::parquet;
}

// Whether a part's name says that it is a recording, and nothing else.
bool names_recording(std::string_view part) {
  std::string extension(part.substr(part.find_last_of('.') + 1));  // npos + 1 == 0
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension == "edf" || extension == "bdf" || extension == "vhdr";
}

// The i-th of n shares of a number.
std::uint64_t share(std::uint64_t whole, std::size_t i, std::size_t n) {
  const auto upto = [&](std::size_t k) {
    return static_cast<std::uint64_t>(static_cast<long double>(whole) * k / n);
  };
  return upto(i + 1) - upto(i);
}

// A recording that is open, and the arrays that it is to become.
class OpenedRecording {
 public:
  OpenedRecording(const Sample& sample, const RecordingParts& parts,
                  const RecordingOptions& options, const signal::EventPattern* pattern,
                  signal::ResamplerCache& resamplers)
      : origin_(make_origin(sample, parts)), split_(options.epochs.gaps == signal::Gaps::split) {
    try {
      open(sample, parts, options, pattern, resamplers);
    } catch (const Error& error) {
      error_ = named(error, origin_->text);
    }
  }

  // How many arrays it becomes, at least one: that may be one that says why there is none.
  std::size_t arrays() const { return std::max<std::size_t>(1, plan_.cuts.size()); }
  bool numbered() const { return plan_.numbered && !plan_.cuts.empty(); }
  std::string description_name() const { return output_name(origin_->part, "spec.json"); }
  void set_error(const Error& error) {
    error_ = named(error, origin_->text);
    plan_.cuts.clear();
  }

  // Adds the parts of array i.
  void add_parts(std::size_t i, bool preview, std::vector<Part>& parts) {
    using Kind = PromisedContent::Kind;
    const auto promise = std::make_shared<const ArrayPromise>(make_promise(i));
    const std::string& part = origin_->part;
    parts.push_back(
        {output_name(part, "npy"),
         std::make_shared<PromisedContent>(Kind::array, promise, share(origin_->bytes, i, arrays()),
                                           share(origin_->resident_bytes, i, arrays()))});
    const auto add = [&](Kind kind, std::string_view extension) {
      parts.push_back(
          {output_name(part, extension), std::make_shared<PromisedContent>(kind, promise, 0, 0)});
    };
    add(Kind::description, "spec.json");
    if (preview) add(Kind::preview, "png");
  }

 private:
  static std::shared_ptr<const RecordingOrigin> make_origin(const Sample& sample,
                                                            const RecordingParts& parts) {
    auto origin = std::make_shared<RecordingOrigin>();
    origin->part = sample.parts[parts.main].name;
    origin->contents.push_back(sample.parts[parts.main].content);
    for (const auto& part : {parts.data, parts.markers}) {
      if (part) origin->contents.push_back(sample.parts[*part].content);
    }
    origin->text = origin->contents[0]->origin();
    for (const auto& content : origin->contents) {
      origin->mtime_ns = std::max(origin->mtime_ns, content->mtime_ns());
      origin->bytes += content->size();
      origin->resident_bytes += content->resident_bytes();
    }
    return origin;
  }

  void open(const Sample& sample, const RecordingParts& parts, const RecordingOptions& options,
            const signal::EventPattern* pattern, signal::ResamplerCache& resamplers) {
    recording_ = signal::open_recording(sample, parts, options.open);
    const signal::RecordingInfo& info = recording_->info();
    signal_ = std::make_shared<const signal::SignalPlan>(
        signal::plan_signal(info, options.signal, resamplers));
    std::vector<signal::Stretch> stretches;
    for (std::size_t i = 0; i < (split_ ? info.segments.size() : 1); ++i) {
      const PreparedSignal stretch(recording_, signal_, segment(i));
      stretches.push_back({stretch.start(), stretch.length()});
    }
    plan_ = signal::plan_cuts(stretches, signal_->rate, info.annotations, options.epochs, pattern);
    if (!split_) leave_out_gaps();
    auto warnings = std::make_shared<std::vector<std::string>>(info.warnings);
    warnings->insert(warnings->end(), signal_->warnings.begin(), signal_->warnings.end());
    warnings->insert(warnings->end(), plan_.warnings.begin(), plan_.warnings.end());
    warnings_ = std::move(warnings);
  }

  // Epochs in which there is nothing but a gap.
  void leave_out_gaps() {
    if (recording_->info().segments.size() < 2) return;
    const auto stretch = stretch_at(0);
    std::erase_if(plan_.cuts, [&](const signal::Cut& cut) {
      return !stretch->has_samples({std::max<std::int64_t>(0, cut.samples.first),
                                    std::min(stretch->length(), cut.samples.last)});
    });
    if (plan_.cuts.empty() && plan_.empty_reason.empty()) plan_.empty_reason = "nothing but gaps";
  }

  std::optional<std::size_t> segment(std::size_t stretch) const {
    return split_ ? std::optional(stretch) : std::nullopt;
  }

  // One at a time is kept: cuts come in order, and their filtered samples may be large.
  std::shared_ptr<PreparedSignal> stretch_at(std::size_t index) {
    if (!stretch_ || stretch_index_ != index) {
      stretch_ = std::make_shared<PreparedSignal>(recording_, signal_, segment(index));
      stretch_index_ = index;
    }
    return stretch_;
  }

  ArrayPromise make_promise(std::size_t i) {
    ArrayPromise promise;
    promise.origin = origin_;
    promise.error = error_;
    if (error_) return promise;
    promise.warnings = warnings_;
    if (plan_.cuts.empty()) {
      promise.skip_reason = plan_.empty_reason;
      return promise;
    }
    promise.cut = plan_.cuts[i];
    promise.signal = stretch_at(promise.cut.stretch);
    if (plan_.numbered) promise.number = i;
    return promise;
  }

  const std::shared_ptr<const RecordingOrigin> origin_;
  const bool split_;
  std::shared_ptr<const signal::Recording> recording_;
  std::shared_ptr<const signal::SignalPlan> signal_;
  std::shared_ptr<const std::vector<std::string>> warnings_;
  signal::CutPlan plan_;
  std::shared_ptr<PreparedSignal> stretch_;
  std::size_t stretch_index_ = 0;
  std::optional<Error> error_;
};

class RecordingSource final : public Source {
 public:
  RecordingSource(std::unique_ptr<Source> samples, RecordingOptions options)
      : samples_(std::move(samples)), options_(std::move(options)) {
    if (!options_.epochs.events.empty()) pattern_.emplace(options_.epochs.events);
  }

  bool next(Sample& sample) override {
    if (next_array_ == arrays_) {
      if (!samples_->next(sample)) return false;
      if (sample.fault || !take(sample)) return true;
    }
    sample = make_sample(next_array_++, options_.preview);
    if (next_array_ == arrays_) {  // what is large must not wait for the next one
      recordings_.clear();
      base_ = {};
    }
    return true;
  }

  bool is_rereadable() const override { return samples_->is_rereadable(); }
  Tally left_out() const override { return samples_->left_out(); }
  std::uint64_t expected_samples() const override {
    return options_.epochs.has_epochs() ? 0 : samples_->expected_samples();
  }
  std::uint64_t expected_bytes() const override { return samples_->expected_bytes(); }
  std::uint64_t consumed_bytes() const override { return samples_->consumed_bytes(); }

 private:
  // Opens the sample's recordings. False if there are none, or its fault says what is wrong.
  bool take(Sample& sample) {
    std::vector<RecordingParts> found;
    try {
      found = choose(sample);
    } catch (const Error& error) {
      sample.fault = named(error, sample.parts[0].content->origin());
      return false;
    }
    if (found.empty()) return false;
    for (Part& part : sample.parts) {
      part.content = std::make_shared<SharedContent>(std::move(part.content));
    }
    std::vector<bool> used(sample.parts.size());
    recordings_.clear();
    for (const RecordingParts& parts : found) {
      recordings_.emplace_back(sample, parts, options_, pattern_ ? &*pattern_ : nullptr,
                               resamplers_);
      for (const auto& index : {std::optional(parts.main), parts.data, parts.markers}) {
        if (index) used[*index] = true;
      }
    }
    check_numbers();
    base_ = Sample{sample.key, {}, {}, sample.destination};
    for (std::size_t i = 0; i < sample.parts.size(); ++i) {
      if (!used[i]) base_.parts.push_back(std::move(sample.parts[i]));
    }
    arrays_ = recordings_[0].arrays();
    next_array_ = 0;
    if (options_.stale) remove_stale();
    return true;
  }

  // Of the parts that a recording can become, only the names count here.
  void remove_stale() {
    Sample all = make_sample(0, /*preview=*/true);
    all.key = base_.key;
    const bool is_numbered = recordings_[0].numbered();
    options_.stale->remove(all, recordings_[0].description_name(), is_numbered ? arrays_ : 0);
  }

  std::vector<RecordingParts> choose(const Sample& sample) const {
    std::vector<RecordingParts> found = signal::find_recordings(sample);
    if (options_.parts.empty()) {
      check_names(sample, found);
    } else {
      std::erase_if(found, [&](const RecordingParts& parts) {
        return !is_chosen(sample.parts[parts.main].name);
      });
      check_chosen(sample, found);
      return found;
    }
    if (std::any_of(found.begin(), found.end(),
                    [](const auto& parts) { return is_certain(parts.format); })) {
      std::erase_if(found, [](const auto& parts) { return !is_certain(parts.format); });
    }
    return found;
  }

  // A download that went wrong must not go into the set as if it were a label.
  static void check_names(const Sample& sample, const std::vector<RecordingParts>& found) {
    for (std::size_t i = 0; i < sample.parts.size(); ++i) {
      const bool is_used = std::any_of(found.begin(), found.end(), [&](const auto& parts) {
        return parts.main == i || parts.data == i || parts.markers == i;
      });
      if (is_used || !names_recording(sample.parts[i].name)) continue;
      const Content& content = *sample.parts[i].content;
      const Bytes head = content.read(0, kForeignHead);
      const std::string name = printable(content.origin());
      if (head.empty()) fail(Code::empty, "{}: the file is empty", name);
      fail(Code::corrupt, "{}: is not a recording, though it should be one{}", name,
           resemblance(head.view()));
    }
  }

  bool is_chosen(const std::string& name) const {
    return std::find(options_.parts.begin(), options_.parts.end(), name) != options_.parts.end();
  }

  // What was said to be a recording has to be one.
  void check_chosen(const Sample& sample, const std::vector<RecordingParts>& found) const {
    for (const Part& part : sample.parts) {
      const bool is_found = std::any_of(found.begin(), found.end(), [&](const auto& parts) {
        return sample.parts[parts.main].name == part.name;
      });
      if (is_chosen(part.name) && !is_found) {
        fail(Code::corrupt, "{}: is no recording", printable(part.content->origin()));
      }
    }
  }

  // One number tells the epochs of one recording apart.
  void check_numbers() {
    const bool numbered = std::any_of(recordings_.begin(), recordings_.end(),
                                      [](const auto& recording) { return recording.numbered(); });
    if (recordings_.size() < 2 || !numbered) return;
    const Error error(Code::unsupported,
                      fmt::format("the sample has {} recordings: --part says which one is to be "
                                  "divided",
                                  recordings_.size()));
    for (OpenedRecording& recording : recordings_) recording.set_error(error);
  }

  Sample make_sample(std::size_t i, bool preview) {
    Sample sample{base_.key, {}, {}, base_.destination};
    if (recordings_[0].numbered()) sample.key = epoch_key(base_.key, i, arrays_);
    for (OpenedRecording& recording : recordings_) recording.add_parts(i, preview, sample.parts);
    sample.parts.insert(sample.parts.end(), base_.parts.begin(), base_.parts.end());
    return sample;
  }

  const std::unique_ptr<Source> samples_;
  RecordingOptions options_;
  std::optional<signal::EventPattern> pattern_;
  signal::ResamplerCache resamplers_;

  // Of the sample that was taken last.
  Sample base_;  // its key, and the parts that travel along
  std::vector<OpenedRecording> recordings_;
  std::size_t next_array_ = 0, arrays_ = 0;
};

}  // namespace

Bytes PromisedContent::read(std::uint64_t, std::uint64_t) const {
  fail(Code::internal, "{}: is read before it is made", printable(origin()));
}

bool PromisedContent::is_file(const struct stat& st) const {
  const auto& contents = promise_->origin->contents;
  return std::any_of(contents.begin(), contents.end(),
                     [&](const auto& content) { return content->is_file(st); });
}

std::unique_ptr<Source> make_recording_source(std::unique_ptr<Source> samples,
                                              RecordingOptions options) {
  return std::make_unique<RecordingSource>(std::move(samples), std::move(options));
}

}  // namespace prep
