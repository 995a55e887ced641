// Where a download's bytes go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/core/file_io.h"
#include "lib/remote/partial_object.h"

namespace prep {

// All but the last part are of one size. Different parts may be written by different threads.
class FetchTarget {
 public:
  virtual ~FetchTarget() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t parts() const = 0;  // at least 1
  virtual std::uint64_t part_offset(std::uint64_t part) const = 0;
  virtual std::uint64_t part_bytes(std::uint64_t part) const = 0;
  virtual std::uint64_t received(std::uint64_t part) const = 0;
  // The bytes of a part from `offset` (within it) on, which is what was received of it.
  virtual void write(std::uint64_t part, std::uint64_t offset, ByteView bytes) = 0;
  virtual int fd() const = 0;
  virtual const std::string& path() const = 0;  // for messages
  // The bytes are not what they should be: none counts.
  virtual void reset() = 0;
};

// A file that others read along, and that a later run continues.
class PartialTarget final : public FetchTarget {
 public:
  explicit PartialTarget(std::shared_ptr<PartialObject> partial) : partial_(std::move(partial)) {}

  std::uint64_t size() const override { return partial_->size(); }
  std::uint64_t parts() const override { return partial_->parts(); }
  std::uint64_t part_offset(std::uint64_t part) const override {
    return partial_->part_offset(part);
  }
  std::uint64_t part_bytes(std::uint64_t part) const override { return partial_->part_bytes(part); }
  std::uint64_t received(std::uint64_t part) const override { return partial_->received(part); }
  void write(std::uint64_t part, std::uint64_t offset, ByteView bytes) override {
    partial_->write(part, offset, bytes);
  }
  int fd() const override { return partial_->fd(); }
  const std::string& path() const override { return partial_->path(); }
  void reset() override { partial_->reset(); }

 private:
  const std::shared_ptr<PartialObject> partial_;
};

// A small file that is not worth being continued: one part, no state beside it, and opened only
// when there are bytes, by the thread that writes them. A quarter of the system calls.
class SmallFileTarget final : public FetchTarget {
 public:
  // `temporary` is in the directory of `path`, which is made if need be.
  SmallFileTarget(std::string path, std::string temporary, std::uint64_t size)
      : path_(std::move(path)), temporary_(std::move(temporary)), size_(size) {}

  // Gives the file its modification time (0: as it is) and its name. Without it, nothing stays.
  // throws Error io, BadSample.
  void publish(std::int64_t mtime_ns);

  std::uint64_t size() const override { return size_; }
  std::uint64_t parts() const override { return 1; }
  std::uint64_t part_offset(std::uint64_t) const override { return 0; }
  std::uint64_t part_bytes(std::uint64_t) const override { return size_; }
  std::uint64_t received(std::uint64_t) const override { return file_ ? file_->written() : 0; }
  void write(std::uint64_t part, std::uint64_t offset, ByteView bytes) override;
  int fd() const override { return file_ ? file_->fd() : -1; }
  const std::string& path() const override { return path_; }
  void reset() override { file_.reset(); }

 private:
  const std::string path_, temporary_;
  const std::uint64_t size_;
  std::optional<AtomicFile> file_;
};

}  // namespace prep
