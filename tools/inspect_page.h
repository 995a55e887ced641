// What was found and measured, as one HTML file.
#pragma once

#include <string>
#include <vector>

#include "tools/inspect_advice.h"

namespace prep {

std::string inspection_page(const Inspection& inspection, const std::vector<Advice>& advice,
                            const SurveyOptions& options);

}  // namespace prep
