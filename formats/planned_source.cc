#include "formats/planned_source.h"

#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

class ListingStage final : public Stage {
 public:
  ListingStage(const PartSelection& selection, bool adds_label)
      : selection_(selection), added_(adds_label ? "cls" : "") {}

  // On a network file system, asking for sizes is what takes the time.
  void apply(Sample& sample, Notes&) const override {
    selection_.apply(sample, added_);
    for (const Part& part : sample.parts) {
      part.content->size();
      part.content->mtime_ns();
    }
  }

 private:
  const PartSelection& selection_;
  const std::string_view added_;
};

class CatalogSink final : public Sink {
 public:
  CatalogSink(Catalog& catalog, Labeler& labeler, const std::function<void(const Sample&)>& check)
      : catalog_(catalog), labeler_(labeler), check_(check) {}

  bool wants_bytes() const override { return false; }
  void check(const Sample& sample) const override { check_(sample); }
  void put(const Sample& sample) override {
    Sample labeled = sample;
    std::uint32_t label = 0;
    try {
      label = labeler_.look_up(labeled);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      throw BadSample(error.code(), error.what());
    }
    catalog_.add(labeled, label);
  }
  void commit() override {}
  void abandon() override {}

 private:
  Catalog& catalog_;
  Labeler& labeler_;
  const std::function<void(const Sample&)>& check_;
};

using OnFailure = std::function<void(const Outcome&)>;

// Samples whose parts may stand apart, joined. A key of which a piece is bad is bad as a whole: it
// is told of once, and none of its pieces is taken.
class RegroupedSource final : public Source {
 public:
  RegroupedSource(Source& source, const OnFailure& failed) : source_(source) {
    Sample sample;
    while (source_.next(sample)) {
      check_interrupt();
      if (!sample.fault) add(sample);
      if (sample.fault) report(sample, failed);
      sample = Sample();
    }
    catalog_.regroup();
  }

  bool next(Sample& sample) override {
    while (next_ < catalog_.size() && bad_.contains(std::string(catalog_.key(next_)))) ++next_;
    if (next_ == catalog_.size()) return false;
    sample = catalog_.sample(next_++);
    return true;
  }
  bool unique_keys() const override { return true; }

 private:
  void add(Sample& sample) {
    try {
      catalog_.add(sample);
    } catch (const Error& error) {
      if (error.code() == Code::usage || error.code() == Code::interrupted) throw;
      sample.fault = error;
    }
  }

  void report(const Sample& sample, const OnFailure& failed) {
    if (!bad_.insert(sample.key).second) return;
    Outcome outcome;
    outcome.kind = Outcome::Kind::failed;
    outcome.key = sample.key;
    if (!sample.parts.empty()) outcome.origin = sample.parts[0].content->origin();
    outcome.code = sample.fault->code();
    outcome.message = sample.fault->what();
    failed(outcome);
  }

  Source& source_;
  Catalog catalog_;  // of pieces, then of samples
  std::set<std::string> bad_;
  std::uint64_t next_ = 0;
};

}  // namespace

Catalog list_samples(Source& source, const PartSelection& selection, Labeler& labeler,
                     const std::function<void(const Sample&)>& check, bool regroup, JobSlots& slots,
                     const OnFailure& failed) {
  Catalog catalog;
  const ListingStage stage(selection, labeler.provides_labels());
  CatalogSink sink(catalog, labeler, check);
  std::unique_ptr<Source> joined;
  if (regroup) joined = std::make_unique<RegroupedSource>(source, failed);
  run_pipeline(joined ? *joined : source, stage, sink, slots, {}, [&](const Outcome& outcome) {
    if (outcome.kind == Outcome::Kind::failed) failed(outcome);
  });
  labeler.finish();
  return catalog;
}

Sample finished_sample(const Catalog& catalog, std::uint64_t index, const PartSelection& selection,
                       const Labeler& labeler) {
  Sample sample = catalog.sample(index);
  labeler.add_to(sample, catalog.label(index));
  selection.sort(sample);
  return sample;
}

PlannedSource::PlannedSource(const Catalog& catalog, const ShardPlan& plan, const Task& task,
                             const PartSelection& selection, const Labeler& labeler, Tally left_out)
    : catalog_(catalog),
      plan_(plan),
      task_(task),
      selection_(selection),
      labeler_(labeler),
      left_out_(std::move(left_out)),
      shard_(task.index),
      next_dropped_(task.index == 0 ? 0 : plan.dropped.size()) {
  expected_samples_ = plan.dropped.size() - next_dropped_;
  for (std::uint64_t i = task.index; i < plan.shards.size(); i += task.count) {
    const PlannedShard& shard = plan.shards[i];
    expected_samples_ += shard.end - shard.begin + shard.repeated.has_value();
  }
}

void PlannedSource::give(std::uint64_t index, std::uint64_t destination, Sample& sample) const {
  sample = finished_sample(catalog_, index, selection_, labeler_);
  sample.destination = destination;
}

bool PlannedSource::next(Sample& sample) {
  for (; shard_ < plan_.shards.size(); shard_ += task_.count, began_ = false) {
    const PlannedShard& shard = plan_.shards[shard_];
    if (!std::exchange(began_, true)) next_ = shard.begin;
    if (next_ < shard.end) {
      give(plan_.order[next_++], shard_, sample);
      return true;
    }
    if (next_ == shard.end && shard.repeated) {
      ++next_;
      give(*shard.repeated, shard_, sample);
      return true;
    }
  }
  if (next_dropped_ == plan_.dropped.size()) return false;
  give(plan_.dropped[next_dropped_++], kDropped, sample);
  return true;
}

}  // namespace prep
