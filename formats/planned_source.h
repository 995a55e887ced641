// All samples of inputs that can be read again, first listed and then given out as a plan has it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "formats/catalog.h"
#include "formats/labeler.h"
#include "formats/part_selection.h"
#include "formats/shard_plan.h"
#include "lib/core/jobs.h"
#include "lib/core/key_hash.h"
#include "lib/core/pipeline.h"
#include "lib/core/stream.h"

namespace prep {

// The destination of a sample that the plan leaves out.
inline constexpr std::uint64_t kDropped = UINT64_MAX;

// Lists every sample of `source`, asking in parallel for sizes and times, with the parts of
// `selection` and the labels of `labeler`; both are finished with then. `check` refuses samples
// that could not be written. `failed` is called for each that is not in the catalog.
// throws Error as the source and Catalog::add() do.
Catalog list_samples(Source& source, const PartSelection& selection, Labeler& labeler,
                     const std::function<void(const Sample&)>& check, bool regroup, JobSlots& slots,
                     const std::function<void(const Outcome&)>& failed);

// A sample of a catalog as it is to be written.
Sample finished_sample(const Catalog& catalog, std::uint64_t index, const PartSelection& selection,
                       const Labeler& labeler);

class PlannedSource final : public Source {
 public:
  // Gives out task I's shards, in order: every N-th of them. What the plan leaves out comes last,
  // with the first task. All must outlive the source.
  PlannedSource(const Catalog& catalog, const ShardPlan& plan, const Task& task,
                const PartSelection& selection, const Labeler& labeler, Tally left_out);

  bool next(Sample& sample) override;
  bool unique_keys() const override { return true; }  // or repeated on purpose
  bool is_rereadable() const override { return true; }
  Tally left_out() const override { return left_out_; }
  std::uint64_t expected_samples() const override { return expected_samples_; }

 private:
  void give(std::uint64_t index, std::uint64_t destination, Sample& sample) const;

  const Catalog& catalog_;
  const ShardPlan& plan_;
  const Task task_;
  const PartSelection& selection_;
  const Labeler& labeler_;
  const Tally left_out_;
  std::uint64_t expected_samples_ = 0;
  std::uint64_t shard_ = 0, next_ = 0;
  bool began_ = false;  // next_ is in shard_
  std::size_t next_dropped_ = 0;
};

}  // namespace prep
