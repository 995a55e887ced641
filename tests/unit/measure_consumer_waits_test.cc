#include <catch2/catch.hpp>
#include <vector>

#include "lib/measure/consumer_waits.h"

namespace prep::measure::measure_consumer_waits_test {
namespace {

std::vector<double> every(double seconds, std::size_t count) {
  std::vector<double> ready;
  for (std::size_t i = 1; i <= count; ++i) ready.push_back(static_cast<double>(i) * seconds);
  return ready;
}

TEST_CASE("a consumer that is slower than the producer never waits") {
  const ConsumerWaits waits = replay_consumer(every(1, 100), 2, 4);
  CHECK(waits.waiting == 0);
  CHECK(waits.working == Approx(99 * 2));
  CHECK(waits.items == 99);
  CHECK(waits.share() == 0);
}

TEST_CASE("a consumer that is twice as fast waits half of the time") {
  const ConsumerWaits waits = replay_consumer(every(2, 101), 1, 4);
  CHECK(waits.waiting == Approx(100));
  CHECK(waits.share() == Approx(0.5));
}

TEST_CASE("the first item's coming is no wait") {
  const ConsumerWaits waits = replay_consumer(std::vector<double>{100, 101, 102}, 1, 2);
  CHECK(waits.waiting == 0);
}

TEST_CASE("a stall is bridged by what is buffered, and no more") {
  // Ten items at 1 s each, then nothing for 10 s, then ten more.
  std::vector<double> ready = every(1, 10);
  for (int i = 0; i < 10; ++i) ready.push_back(20 + i);
  // At 1.5 s an item the buffer fills; the consumer works on what is in it while none comes.
  const ConsumerWaits little = replay_consumer(ready, 1.5, 1);
  const ConsumerWaits more = replay_consumer(ready, 1.5, 3);
  CHECK(little.waiting == Approx(8.5));
  CHECK(more.waiting == Approx(5.5));
}

TEST_CASE("no items, no waits") {
  CHECK(replay_consumer({}, 1, 2).items == 0);
  CHECK(replay_consumer(std::vector<double>{5}, 1, 2).share() == 0);
}

}  // namespace
}  // namespace prep::measure::measure_consumer_waits_test
