// What a manifest tells of the settings of the run that made the shards.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/spec.h"

namespace prep {

// The inputs and the output as they were written, and the options of the tool that were given or
// have a default that says something. Neither this machine's paths, nor how the work was shared.
// `settings` is SinkOptions::settings.
nlohmann::ordered_json published_settings(const std::vector<Spec>& inputs, const Spec& output,
                                          const std::string& settings);

}  // namespace prep
