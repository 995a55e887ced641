// How often a cache smaller than what is read has what is asked for: the policy of
// lib/remote/cache_policy.h against others, over the orders in which training reads. Prints the
// table of docs/cache.md.

#include "lib/remote/cache_policy.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using Trace = std::vector<int>;  // objects, in the order in which they are asked for; -1: a pause

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kPause = -1;
constexpr std::int64_t kPauseSeconds = 60 * 3600;
constexpr int kSet = 1000, kEpochs = 10;

// Whether an object is there; if not, it is stored, and another one may have to go.
class Cache {
 public:
  virtual ~Cache() = default;
  virtual bool ask(int object, std::int64_t now) = 0;
};

class Recency final : public Cache {
 public:
  Recency(std::size_t room, bool is_fifo) : room_(room), is_fifo_(is_fifo) {}
  bool ask(int object, std::int64_t now) override {
    const auto found = places_.find(object);
    if (found != places_.end()) {
      if (!is_fifo_) {
        order_.erase(found->second);
        order_[found->second = now] = object;
      }
      return true;
    }
    if (places_.size() == room_) {
      places_.erase(order_.begin()->second);
      order_.erase(order_.begin());
    }
    order_[places_[object] = now] = object;
    return false;
  }

 private:
  std::size_t room_;
  bool is_fifo_;
  std::map<int, std::int64_t> places_;
  std::map<std::int64_t, int> order_;
};

class Random final : public Cache {
 public:
  explicit Random(std::size_t room) : room_(room) {}
  bool ask(int object, std::int64_t) override {
    if (places_.count(object)) return true;
    if (objects_.size() < room_) {
      places_[object] = objects_.size();
      objects_.push_back(object);
    } else {
      const std::size_t place = random_() % room_;
      places_.erase(objects_[place]);
      places_[objects_[place] = object] = place;
    }
    return false;
  }

 private:
  std::size_t room_;
  std::minstd_rand random_{1};
  std::map<int, std::size_t> places_;
  std::vector<int> objects_;
};

// What is wanted last of all goes: nobody can do better, who does not know the future.
class Optimum final : public Cache {
 public:
  Optimum(std::size_t room, const Trace& trace) : room_(room), next_(trace.size()) {
    std::map<int, std::size_t> seen;
    for (std::size_t i = trace.size(); i-- > 0;) {
      const auto found = seen.find(trace[i]);
      next_[i] = found == seen.end() ? trace.size() + i : found->second;
      seen[trace[i]] = i;
    }
  }
  bool ask(int object, std::int64_t now) override {
    const std::size_t next = next_[static_cast<std::size_t>(now)];
    const auto found = wanted_.find(object);
    const bool is_hit = found != wanted_.end();
    if (is_hit) order_.erase(found->second);
    order_[wanted_[object] = next] = object;
    if (wanted_.size() > room_) {
      wanted_.erase(order_.rbegin()->second);
      order_.erase(std::prev(order_.end()));
    }
    return is_hit;
  }

 private:
  std::size_t room_;
  std::vector<std::size_t> next_;
  std::map<int, std::size_t> wanted_;
  std::map<std::size_t, int> order_;
};

// As Cache of lib/remote does it.
class Ours final : public Cache {
 public:
  explicit Ours(std::size_t room) : room_(room) {
    char path[] = "/tmp/cache_policy.XXXXXX";
    close(mkstemp(path));
    history_ = std::make_unique<prep::UseHistory>(path);
    unlink(path);
  }
  bool ask(int object, std::int64_t now) override {
    const auto found = entries_.find(object);
    if (found != entries_.end()) {
      if (!found->second.is_visitor) {
        history_->note_return(now - found->second.used_ns);
        found->second.used_ns = now;
      }
      return true;
    }
    const std::uint64_t id = static_cast<std::uint64_t>(object) + 1;
    const std::int64_t last = history_->last_use(id);
    if (last) history_->note_return(now - last);
    history_->note_use(id, now);
    if (entries_.size() == room_) evict();
    const prep::Arrival arrival{now, last, oldest_, history_->typical_return()};
    entries_[object] = {std::to_string(object), 1, now, prep::is_visitor(arrival)};
    return false;
  }

 private:
  void evict() {
    std::vector<prep::Evictable> objects;
    for (const auto& [object, entry] : entries_) objects.push_back(entry);
    prep::sort_for_eviction(objects, prep::visitor_share(room_));
    const std::size_t leaving = std::max<std::size_t>(1, room_ / 128);
    for (std::size_t i = 0; i < leaving; ++i) {
      const int object = std::stoi(objects[i].hash);
      if (!objects[i].is_visitor) {
        history_->note_use(static_cast<std::uint64_t>(object) + 1, objects[i].used_ns);
      }
      entries_.erase(object);
    }
    oldest_ = 0;
    for (const auto& [object, entry] : entries_) {
      if (!entry.is_visitor && (oldest_ == 0 || entry.used_ns < oldest_)) oldest_ = entry.used_ns;
    }
  }

  std::size_t room_;
  std::unique_ptr<prep::UseHistory> history_;
  std::map<int, prep::Evictable> entries_;
  std::int64_t oldest_ = 0;
};

// --- what is read -------------------------------------------------------------------------------

std::mt19937 generator(7);

void add_epoch(Trace& trace, int first, int count, bool is_shuffled) {
  const auto begin = static_cast<std::ptrdiff_t>(trace.size());
  for (int i = 0; i < count; ++i) trace.push_back(first + i);
  if (is_shuffled) std::shuffle(trace.begin() + begin, trace.end(), generator);
}

Trace epochs(int first, int count, int number, bool is_shuffled) {
  Trace trace;
  for (int epoch = 0; epoch < number; ++epoch) add_epoch(trace, first, count, is_shuffled);
  return trace;
}

// One of the one, `ratio` of the other.
Trace interleaved(const Trace& a, const Trace& b, std::size_t ratio) {
  Trace trace;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size()) trace.push_back(a[i++]);
    for (std::size_t k = 0; k < ratio && j < b.size(); ++k) trace.push_back(b[j++]);
  }
  return trace;
}

Trace joined(std::initializer_list<Trace> traces) {
  Trace all;
  for (const Trace& trace : traces) all.insert(all.end(), trace.begin(), trace.end());
  return all;
}

Trace with_pauses(bool is_shuffled) {
  Trace trace;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    add_epoch(trace, 0, kSet, is_shuffled);
    if (epoch % 3 == 2) trace.push_back(kPause);
  }
  return trace;
}

// A fifth of the set is replaced after each epoch.
Trace shifting() {
  Trace trace;
  for (int epoch = 0; epoch < kEpochs; ++epoch) add_epoch(trace, epoch * kSet / 5, kSet, true);
  return trace;
}

// Between two epochs of a set that fits, objects that nobody wants again.
Trace with_scans() {
  Trace trace;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    add_epoch(trace, 0, kSet * 4 / 10, true);
    add_epoch(trace, (epoch + 1) * 10 * kSet, kSet, false);
  }
  return trace;
}

// Every object by eight readers, one shortly after the other.
Trace by_ranks(bool is_shuffled) {
  const Trace once = epochs(0, kSet, kEpochs, is_shuffled);
  Trace trace;
  for (std::size_t i = 0; i < once.size() + 8; ++i) {
    for (std::size_t rank = 0; rank < 8; ++rank) {
      if (i >= rank && i - rank < once.size()) trace.push_back(once[i - rank]);
    }
  }
  return trace;
}

struct Load {
  std::string name;
  Trace trace;
};

std::vector<Load> loads() {
  return {
      {"one order, every epoch", epochs(0, kSet, kEpochs, false)},
      {"a new order each epoch", epochs(0, kSet, kEpochs, true)},
      {"the same, pauses of a weekend", with_pauses(true)},
      {"the same, by 8 ranks", by_ranks(true)},
      {"one order, by 8 ranks", by_ranks(false)},
      {"two jobs, one set, orders of their own",
       interleaved(epochs(0, kSet, kEpochs, true), epochs(0, kSet, kEpochs, true), 1)},
      {"two jobs, two sets",
       interleaved(epochs(0, kSet, kEpochs, false), epochs(kSet, kSet, kEpochs, true), 1)},
      {"a slow job beside a fast one that fits",
       interleaved(epochs(0, kSet, 3, true), epochs(kSet, kSet / 5, 60, true), 4)},
      {"three sets in turn, each twice the cache",
       joined({epochs(0, kSet, 5, true), epochs(kSet, kSet, 5, true),
               epochs(2 * kSet, kSet, 5, true)})},
      {"three sets in turn, each fits",
       joined({epochs(0, kSet * 4 / 10, 5, true), epochs(kSet, kSet * 4 / 10, 5, true),
               epochs(2 * kSet, kSet * 4 / 10, 5, true)})},
      {"a fifth replaced after each epoch", shifting()},
      {"one-off scans between epochs", with_scans()},
  };
}

double hit_rate(Cache& cache, const Trace& trace, bool is_counted_in_steps) {
  std::int64_t now = 0;
  std::size_t hits = 0, asked = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    now += trace[i] == kPause ? kPauseSeconds * kSecond : kSecond;
    if (trace[i] == kPause) continue;
    hits += cache.ask(trace[i], is_counted_in_steps ? static_cast<std::int64_t>(i) : now);
    ++asked;
  }
  return 100.0 * static_cast<double>(hits) / static_cast<double>(asked);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t room = argc > 1 ? std::stoul(argv[1]) : kSet / 2;
  std::printf("| hits in %%, cache of %zu objects | ours | LRU | FIFO | random | optimum |\n",
              room);
  std::printf("|---|---|---|---|---|---|\n");
  for (const Load& load : loads()) {
    Ours ours(room);
    Recency lru(room, false), fifo(room, true);
    Random random(room);
    Optimum optimum(room, load.trace);
    std::printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f |\n", load.name.c_str(),
                hit_rate(ours, load.trace, false), hit_rate(lru, load.trace, false),
                hit_rate(fifo, load.trace, false), hit_rate(random, load.trace, false),
                hit_rate(optimum, load.trace, true));
  }
}
