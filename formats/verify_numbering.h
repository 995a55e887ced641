// Shards that their neighbours' names say should be there.
#pragma once

#include <string>
#include <vector>

#include "formats/verify_finding.h"

namespace prep {

// Of "x-00000-of-00010" all ten have to be there: those that are missing are errors. Of
// "x-000000.tar" and the like, a gap in the numbers is a warning. A shard that exists and was only
// not named is no gap.
std::vector<Finding> find_missing_shards(const std::vector<std::string>& paths);

}  // namespace prep
