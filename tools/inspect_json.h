// What was found and measured, for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/inspect_advice.h"

namespace prep {

nlohmann::ordered_json inspection_json(const Inspection& inspection,
                                       const std::vector<Advice>& advice,
                                       const SurveyOptions& options);

}  // namespace prep
