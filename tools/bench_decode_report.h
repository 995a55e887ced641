// What prep-bench decode says of its measurements.
#pragma once

#include "tools/bench_decode.h"
#include "tools/bench_report.h"

namespace prep {

BenchReport report_decoding(const DecodeMeasurements& results, const DecodeBenchOptions& options,
                            const std::vector<std::string>& paths);

}  // namespace prep
