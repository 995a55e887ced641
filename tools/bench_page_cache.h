// Taking a benchmark's own files out of memory, and looking whether they have gone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/file_io.h"
#include "lib/core/sample.h"

namespace prep {

class CachedFiles {
 public:
  // A whole file, by its path; or all files that samples' contents lie in.
  void add(const std::string& path);
  void add(const std::vector<Sample>& samples);

  // Asks the kernel to forget the files' pages (posix_fadvise DONTNEED), after what is not on the
  // disk yet has been brought there. No other file's pages are touched.
  void drop() const;
  // Which share of the files' pages is in memory, by some of the files; nullopt where the kernel
  // does not tell (mincore(2): of files that one may not write to).
  std::optional<double> share_in_memory() const;

 private:
  // Calls f(descriptor) for a file; those that cannot be opened are passed over.
  template <typename F>
  void with_file(std::size_t index, const F& f) const;
  std::size_t size() const { return paths_.size() + files_.size(); }

  std::vector<std::string> paths_;
  std::vector<std::shared_ptr<const Fd>> files_;
};

}  // namespace prep
