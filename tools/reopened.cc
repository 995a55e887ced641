#include "tools/reopened.h"

#include <optional>

#include "lib/core/file_io.h"

namespace prep {

std::shared_ptr<const Content> reopened(const std::shared_ptr<const Content>& content) {
  const std::optional<FileRange> range = content->range();
  if (!range) return content;
  if (!range->file) return std::make_shared<FileContent>(range->path);
  return std::make_shared<RangeContent>(range->file, range->offset, range->size, content->origin(),
                                        content->mtime_ns());
}

Sample reopened(const Sample& sample) {
  Sample copy = sample;
  for (Part& part : copy.parts) part.content = reopened(part.content);
  return copy;
}

}  // namespace prep
