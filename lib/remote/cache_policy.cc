#include "lib/remote/cache_policy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string_view>
#include <tuple>

#include "lib/core/file_io.h"

namespace prep {
namespace {

// In epochs of ever new orders an object comes back after anything up to two epochs, and the mean
// of that by length is 7/6 of one.
constexpr double kPatience = 1.75;
// Objects that never came before are likely never to come again.
constexpr double kPatienceWithNew = 3;
// What is back after so small a part of the oldest resident's age is read several times over now,
// and the room for visitors was not enough.
constexpr double kSoon = 16;
// Of one more return in the mean.
constexpr double kWeight = 1.0 / 64;

double load(double& value) { return std::atomic_ref(value).load(std::memory_order_relaxed); }
void store(double& value, double to) {
  std::atomic_ref(value).store(to, std::memory_order_relaxed);
}

}  // namespace

struct UseHistory::Table {
  struct Slot {
    std::uint64_t object;
    std::int64_t when_ns;
  };
  double returns, squared_returns;  // weighted means
  Slot slots[kSets][kWays];
};

UseHistory::UseHistory(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct stat st {};
  if (!file || fstat(file.get(), &st) != 0) return;
  // A hole would be a SIGBUS on a full disk.
  if (st.st_size != static_cast<off_t>(sizeof(Table)) &&
      posix_fallocate(file.get(), 0, sizeof(Table)) != 0) {
    unlink(path.c_str());
    return;
  }
  void* const memory =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory != MAP_FAILED) table_ = static_cast<Table*>(memory);
}

UseHistory::~UseHistory() {
  if (table_) munmap(table_, sizeof(Table));
}

std::int64_t UseHistory::last_use(std::uint64_t object) const {
  if (!table_) return 0;
  for (Table::Slot& slot : table_->slots[object % kSets]) {
    if (std::atomic_ref(slot.object).load(std::memory_order_relaxed) == object) {
      return std::atomic_ref(slot.when_ns).load(std::memory_order_relaxed);
    }
  }
  return 0;
}

void UseHistory::note_use(std::uint64_t object, std::int64_t when_ns) {
  if (!table_) return;
  Table::Slot* const set = table_->slots[object % kSets];
  Table::Slot* chosen = set;
  for (Table::Slot* slot = set; slot != set + kWays; ++slot) {
    if (std::atomic_ref(slot->object).load(std::memory_order_relaxed) == object) {
      chosen = slot;
      break;
    }
    if (std::atomic_ref(slot->when_ns).load(std::memory_order_relaxed) <
        std::atomic_ref(chosen->when_ns).load(std::memory_order_relaxed)) {
      chosen = slot;
    }
  }
  std::atomic_ref(chosen->object).store(object, std::memory_order_relaxed);
  std::atomic_ref(chosen->when_ns).store(when_ns, std::memory_order_relaxed);
}

void UseHistory::note_return(std::int64_t after_ns) {
  if (!table_ || after_ns <= 0) return;
  const auto length = static_cast<double>(after_ns);
  const double mean = load(table_->returns), squared = load(table_->squared_returns);
  store(table_->returns, mean + kWeight * (length - mean));
  store(table_->squared_returns, squared + kWeight * (length * length - squared));
}

std::int64_t UseHistory::typical_return() const {
  if (!table_) return 0;
  const double mean = load(table_->returns), squared = load(table_->squared_returns);
  return mean > 0 && squared > 0 && squared / mean < 9e18
             ? static_cast<std::int64_t>(squared / mean)
             : 0;
}

bool is_visitor(const Arrival& arrival) {
  if (arrival.oldest_resident_ns == 0) return false;
  const auto age = static_cast<double>(arrival.now_ns - arrival.oldest_resident_ns);
  const auto typical = static_cast<double>(arrival.typical_return_ns);
  if (arrival.last_use_ns == 0) return age <= kPatienceWithNew * typical;
  const auto away = static_cast<double>(arrival.now_ns - arrival.last_use_ns);
  return away * kSoon >= age && age <= kPatience * std::max(away, typical);
}

void sort_for_eviction(std::vector<Evictable>& objects, std::uint64_t visitor_bytes) {
  std::sort(objects.begin(), objects.end(), [](const Evictable& a, const Evictable& b) {
    return std::tuple(!a.is_visitor, a.used_ns, std::string_view(a.hash)) <
           std::tuple(!b.is_visitor, b.used_ns, std::string_view(b.hash));
  });
  const auto residents = std::find_if(objects.begin(), objects.end(),
                                      [](const Evictable& object) { return !object.is_visitor; });
  // The newest visitors stay as long as there are residents.
  auto staying = residents;
  for (std::uint64_t bytes = 0; staying != objects.begin(); --staying) {
    bytes += std::prev(staying)->size;
    if (bytes > visitor_bytes) break;
  }
  std::rotate(staying, residents, objects.end());
}

}  // namespace prep
