#include "lib/core/pipeline.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>
#include <thread>

namespace prep::pipeline_test {

namespace {

using Kind = Outcome::Kind;

// Samples "0", "1", …, each with one part of `size` bytes.
class CountingSource final : public Source {
 public:
  explicit CountingSource(int count, std::size_t size = 1) : count_(count), size_(size) {}
  bool next(Sample& sample) override {
    if (next_ == fail_at) fail(Code::truncated, "the source broke");
    if (next_ == count_) return false;
    sample.key = next_ == repeat_at ? "0" : std::to_string(next_);
    sample.parts.push_back(
        {"x", std::make_shared<MemoryContent>(Bytes::take(std::string(size_, 'x')), sample.key)});
    ++next_;
    ++alive;
    return true;
  }
  int fail_at = -1, repeat_at = -1;
  std::atomic<int> alive{0};

 private:
  int count_, next_ = 0;
  std::size_t size_;
};

class FunctionStage final : public Stage {
 public:
  explicit FunctionStage(std::function<void(Sample&, Notes&)> f) : f_(std::move(f)) {}
  void apply(Sample& sample, Notes& notes) const override { f_(sample, notes); }

 private:
  std::function<void(Sample&, Notes&)> f_;
};

class RecordingSink final : public Sink {
 public:
  bool concurrent() const override { return is_concurrent; }
  void put(const Sample& sample) override {
    std::lock_guard lock(mutex);
    if (sample.key == refuse) throw BadSample(Code::name, "no such name");
    if (sample.key == break_at) fail(Code::io, "the disk is full");
    keys.push_back(sample.key);
  }
  void commit() override { FAIL("the pipeline does not commit"); }
  void abandon() override { FAIL("nor abandon"); }
  bool is_concurrent = false;
  std::string refuse, break_at;
  std::vector<std::string> keys;
  std::mutex mutex;
};

std::vector<Outcome> run(Source& source, const Stage& stage, Sink& sink, int jobs,
                         PipelineOptions options = {}) {
  std::string warning;
  const auto slots = make_job_slots(jobs, nullptr, &warning);
  std::vector<Outcome> outcomes;
  run_pipeline(source, stage, sink, *slots, options,
               [&](const Outcome& outcome) { outcomes.push_back(outcome); });
  return outcomes;
}

const FunctionStage kNothing([](Sample&, Notes&) {});

// Takes longer for some samples than for others.
const FunctionStage kUneven([](Sample& sample, Notes&) {
  if (std::stoi(sample.key) % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
});

}  // namespace

TEST_CASE("samples come out in order, each once, with any number of threads") {
  for (const int jobs : {1, 2, 8}) {
    for (const bool concurrent : {false, true}) {
      CountingSource source(200);
      RecordingSink sink;
      sink.is_concurrent = concurrent;
      const auto outcomes = run(source, kUneven, sink, jobs);
      REQUIRE(outcomes.size() == 200);
      for (int i = 0; i < 200; ++i) REQUIRE(outcomes[i].key == std::to_string(i));
      REQUIRE(sink.keys.size() == 200);
      if (!concurrent) {
        for (int i = 0; i < 200; ++i) REQUIRE(sink.keys[i] == std::to_string(i));
      }
    }
  }
}

TEST_CASE("no more threads work than there are slots") {
  std::atomic<int> now{0}, most{0};
  const FunctionStage stage([&](Sample&, Notes&) {
    const int n = ++now;
    for (int seen = most; n > seen && !most.compare_exchange_weak(seen, n);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --now;
  });
  CountingSource source(60);
  RecordingSink sink;
  run(source, stage, sink, 3);
  CHECK(most == 3);
}

TEST_CASE("what is in flight is bounded by number and by bytes") {
  for (const bool by_bytes : {false, true}) {
    std::mutex mutex;
    std::set<int> in_flight;
    std::size_t most = 0;
    const FunctionStage stage([&](Sample& sample, Notes&) {
      const int i = std::stoi(sample.key);
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));  // holds up the rest
      std::lock_guard lock(mutex);
      in_flight.insert(i);
      most = std::max(most, static_cast<std::size_t>(*in_flight.rbegin() + 1));
    });
    CountingSource source(500, 1000);
    RecordingSink sink;
    PipelineOptions options;
    options.max_samples = by_bytes ? 1000 : 10;
    options.max_bytes = by_bytes ? 20'000 : 1 << 30;
    std::size_t before_first = 0;
    std::string warning;
    const auto slots = make_job_slots(4, nullptr, &warning);
    run_pipeline(source, stage, sink, *slots, options, [&](const Outcome& outcome) {
      if (outcome.key == "0") before_first = static_cast<std::size_t>(source.alive);
    });
    CHECK(before_first <= (by_bytes ? 21 : 11));
    CHECK(sink.keys.size() == 500);
  }
}

TEST_CASE("one sample larger than the bound still goes through") {
  CountingSource source(3, 1000);
  RecordingSink sink;
  PipelineOptions options;
  options.max_bytes = 10;
  CHECK(run(source, kNothing, sink, 2, options).size() == 3);
}

TEST_CASE("a bad sample is marked and the run goes on") {
  CountingSource source(10);
  source.repeat_at = 8;
  RecordingSink sink;
  sink.refuse = "4";
  const FunctionStage stage([](Sample& sample, Notes& notes) {
    if (sample.key == "2") fail(Code::corrupt, "broken");
    if (sample.key == "3") throw std::bad_alloc();
    if (sample.key == "5") notes.skip_reason = "too small";
  });
  const auto outcomes = run(source, stage, sink, 4);
  REQUIRE(outcomes.size() == 10);
  CHECK(outcomes[2].kind == Kind::failed);
  CHECK(outcomes[2].code == Code::corrupt);
  CHECK(outcomes[2].message == "broken");
  CHECK(outcomes[3].code == Code::limit);
  CHECK(outcomes[4].code == Code::name);
  CHECK(outcomes[5].kind == Kind::skipped);
  CHECK(outcomes[5].message == "too small");
  CHECK(outcomes[8].code == Code::duplicate);  // the second of two, never the first
  CHECK(outcomes[0].kind == Kind::written);
  CHECK(sink.keys == std::vector<std::string>{"0", "1", "6", "7", "9"});
}

TEST_CASE("a part that cannot be read marks its sample before the sink sees it") {
  class Unreadable final : public Content {
   public:
    std::uint64_t size() const override { return 1; }
    Bytes read(std::uint64_t, std::uint64_t) const override { fail(Code::io, "gone"); }
    std::string origin() const override { return "gone"; }
  };
  CountingSource source(3);
  RecordingSink sink;
  const FunctionStage stage([](Sample& sample, Notes&) {
    if (sample.key == "1") sample.parts[0].content = std::make_shared<Unreadable>();
  });
  const auto outcomes = run(source, stage, sink, 2);
  CHECK(outcomes[1].kind == Kind::failed);
  CHECK(sink.keys == std::vector<std::string>{"0", "2"});
}

TEST_CASE("a broken source or sink ends the run with its error") {
  for (const int jobs : {1, 4}) {
    for (const bool concurrent : {false, true}) {
      CountingSource source(100);
      RecordingSink sink;
      sink.is_concurrent = concurrent;
      sink.break_at = "20";
      CHECK_THROWS_WITH(run(source, kUneven, sink, jobs), "the disk is full");
      CountingSource broken(100);
      broken.fail_at = 50;
      RecordingSink good;
      CHECK_THROWS_WITH(run(broken, kUneven, good, jobs), "the source broke");
      CHECK(good.keys.size() == 50);  // what came before the break is through
    }
  }
}

TEST_CASE("tasks share the samples out") {
  std::set<std::string> all;
  for (std::uint64_t t = 0; t < 3; ++t) {
    CountingSource source(90);
    RecordingSink sink;
    PipelineOptions options;
    options.task = {t, 3};
    run(source, kNothing, sink, 2, options);
    for (const auto& key : sink.keys) CHECK(all.insert(key).second);
  }
  CHECK(all.size() == 90);
}

TEST_CASE("a dry run writes nothing") {
  CountingSource source(5);
  RecordingSink sink;
  PipelineOptions options;
  options.dry_run = true;
  CHECK(run(source, kNothing, sink, 2, options).size() == 5);
  CHECK(sink.keys.empty());
}

}  // namespace prep::pipeline_test
