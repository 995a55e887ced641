// What prep-bench feed says of its measurements.
#pragma once

#include "tools/bench_feed.h"
#include "tools/bench_report.h"

namespace prep {

BenchReport report_feeding(const FeedMeasurements& feed, const FeedBenchOptions& options,
                           const std::vector<std::string>& paths);

}  // namespace prep
