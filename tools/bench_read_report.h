// What prep-bench read says of its measurements.
#pragma once

#include "tools/bench_read.h"
#include "tools/bench_report.h"

namespace prep {

BenchReport report_reading(const ReadMeasurements& results, const ReadBenchOptions& options,
                           const std::vector<std::string>& paths);

}  // namespace prep
