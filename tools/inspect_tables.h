// What was found and measured, as tables.
#pragma once

#include <string>
#include <vector>

#include "tools/inspect_advice.h"
#include "tools/report_text.h"

namespace prep {

// The data set as it is: formats, pictures, recordings, parts, classes, copies.
std::vector<ReportTable> survey_tables(const Inspection& inspection);
// What was tried on samples.
std::vector<ReportTable> trial_tables(const Inspection& inspection);
// What to know before one trusts it.
std::vector<std::string> inspection_notes(const Inspection& inspection);
// "12,345 samples, 1.2 GB, looked at in 3.4 s; 2,000 of them tried".
std::string inspection_subtitle(const Inspection& inspection);

}  // namespace prep
