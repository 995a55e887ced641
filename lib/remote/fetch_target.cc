#include "lib/remote/fetch_target.h"

namespace prep {

void SmallFileTarget::write(std::uint64_t, std::uint64_t offset, ByteView bytes) {
  if (!file_) file_.emplace(path_, temporary_);
  if (offset != file_->written()) fail(Code::internal, "{}: bytes out of order", printable(path_));
  file_->write(bytes);
}

void SmallFileTarget::publish(std::int64_t mtime_ns) {
  if (!file_) file_.emplace(path_, temporary_);
  file_->close(mtime_ns);
  file_->commit();
}

}  // namespace prep
