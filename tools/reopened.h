// Contents for those that come back to them.
#pragma once

#include <memory>

#include "lib/core/sample.h"

namespace prep {

// A content of its own for the same bytes of a file, with nothing open; itself where they do not
// lie in one.
std::shared_ptr<const Content> reopened(const std::shared_ptr<const Content>& content);
Sample reopened(const Sample& sample);

}  // namespace prep
