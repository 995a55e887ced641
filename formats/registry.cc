#include "formats/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include "formats/compression.h"
#include "formats/directory.h"
#include "formats/list.h"
#include "formats/shard_pattern.h"
#include "formats/shard_sink.h"
#include "formats/table.h"
#include "formats/tar.h"
#include "formats/tar_header.h"
#include "formats/tfrecord.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

using Strings = std::vector<std::string>;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool has_ending(std::string_view path, std::initializer_list<std::string_view> endings) {
  const std::string name = lower(path);
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_tar_name(std::string_view path) {
  return has_ending(path, {".tar", ".tar.gz", ".tgz", ".tar.zst"});
}
bool is_tfrecord_name(std::string_view path) {
  return has_ending(path, {".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz",
                           ".tfrecord.zst", ".tfrecords.zst"}) ||
         path.find(".tfrecord-") != std::string_view::npos;
}
bool is_picture_name(std::string_view path) { return has_ending(path, {".jpg", ".jpeg", ".png"}); }

bool exists(const std::string& path, struct stat* status) {
  const auto found = find_file(path);
  if (found) *status = *found;
  return found.has_value();
}
bool is_directory(const std::string& path) {
  struct stat st {};
  return exists(path, &st) && S_ISDIR(st.st_mode);
}

// Looks at a file's first bytes, through gzip or zstd. What cannot be decompressed is no tar;
// opening it as something else will say what is wrong.
bool looks_like_tar(const std::string& path) {
  try {
    std::array<std::uint8_t, kTarBlock> block{};
    auto file = std::make_shared<const Fd>(open_file(path, O_RDONLY | O_NONBLOCK));
    const auto input = decompress(std::make_unique<FdReader>(std::move(file), path), path);
    std::size_t size = 0;
    while (size < block.size()) {
      const std::size_t n = input->read(std::span(block).subspan(size));
      if (n == 0) return false;
      size += n;
    }
    return has_tar_checksum(block);
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::interrupted) throw;
    return false;
  }
}

bool is_table(SpecKind kind) {
  return kind == SpecKind::csv || kind == SpecKind::tsv || kind == SpecKind::jsonl;
}

SpecKind kind_of(TableFormat format) {
  switch (format) {
    case TableFormat::csv:
      return SpecKind::csv;
    case TableFormat::tsv:
      return SpecKind::tsv;
    case TableFormat::jsonl:
      break;
  }
  return SpecKind::jsonl;
}

SpecKind kind_of_file(const std::string& path, const struct stat& st, bool tables) {
  if (S_ISDIR(st.st_mode)) return SpecKind::directory;
  // Text has no first bytes to be told by: the name decides.
  const auto table = table_format_for_name(path);
  if (tables && table) return kind_of(*table);
  // A pipe (/dev/stdin, <(command)) can be read only once, so it is not looked into.
  if (!S_ISREG(st.st_mode)) return is_tfrecord_name(path) ? SpecKind::tfrecord : SpecKind::tar;
  if (is_tar_name(path) || looks_like_tar(path)) return SpecKind::tar;
  const bool is_tfrecord = is_tfrecord_name(path) || looks_like_tfrecord(path);
  return is_tfrecord ? SpecKind::tfrecord : SpecKind::file;
}

// --- inputs
// ---------------------------------------------------------------------------------------

// One kind and the paths that stand together under it.
struct Input {
  SpecKind kind;
  Strings paths;
};

// The files that a word means: itself if there is such a file, else what its braces give.
Strings expand(const std::string& path) {
  struct stat st {};
  if (exists(path, &st)) return {path};
  return expand_braces(path);
}

// Takes the words apart. Containers of a kind, or files, that follow each other are one input;
// standard input ("tfrecord:-") is one by itself.
std::vector<Input> resolve(const std::vector<Spec>& specs, bool tables) {
  std::vector<Input> inputs;
  const auto add = [&](SpecKind kind, const std::string& path) {
    const bool joins = kind == SpecKind::tar || kind == SpecKind::tfrecord ||
                       kind == SpecKind::file || is_table(kind);
    if (joins && !inputs.empty() && inputs.back().kind == kind && path != "-" &&
        inputs.back().paths[0] != "-") {
      inputs.back().paths.push_back(path);
    } else {
      inputs.push_back({kind, {path}});
    }
  };
  for (const Spec& spec : specs) {
    const bool may_expand = spec.kind == SpecKind::automatic || spec.kind == SpecKind::tar ||
                            spec.kind == SpecKind::tfrecord || is_table(spec.kind);
    for (const std::string& path : may_expand ? expand(spec.path) : Strings{spec.path}) {
      struct stat st {};
      SpecKind kind = spec.kind;
      if (kind == SpecKind::automatic) {
        if (!exists(path, &st)) fail_errno(errno, "open", path);
        kind = kind_of_file(path, st, tables);
      }
      add(kind, path);
    }
  }
  return inputs;
}

using SourcePtr = std::unique_ptr<Source>;

SourcePtr open_list(const std::string& path, ListSource::Separator separator) {
  if (path != "-") return std::make_unique<ListSource>(path, separator);
  return std::make_unique<ListSource>(Fd(dup(STDIN_FILENO)), "standard input", separator);
}

SourcePtr open_tfrecords(const Strings& paths) {
  if (paths[0] != "-") return std::make_unique<TfRecordSource>(paths);
  return std::make_unique<TfRecordSource>(Fd(dup(STDIN_FILENO)), "standard input");
}

SourcePtr open_input(const Input& input, const SourceOptions& options) {
  const std::string& path = input.paths[0];
  switch (input.kind) {
    case SpecKind::directory:
      return open_directory(path, options.excluded);
    case SpecKind::tar:
      return std::make_unique<TarSource>(input.paths);
    case SpecKind::standard_stream:
      return std::make_unique<TarSource>(Fd(dup(STDIN_FILENO)), "standard input");
    case SpecKind::list:
      return open_list(path, ListSource::Separator::newline);
    case SpecKind::list0:
      return open_list(path, ListSource::Separator::nul);
    case SpecKind::csv:
      return open_tables(input.paths, TableFormat::csv, options.table);
    case SpecKind::tsv:
      return open_tables(input.paths, TableFormat::tsv, options.table);
    case SpecKind::jsonl:
      return open_tables(input.paths, TableFormat::jsonl, options.table);
    case SpecKind::file:
      return std::make_unique<FilesSource>(input.paths);
    case SpecKind::tfrecord:
      return open_tfrecords(input.paths);
    case SpecKind::automatic:
      break;
  }
  fail(Code::internal, "{}: an input of no kind", printable(path));
}

// Inputs one after another.
class ChainSource final : public Source {
 public:
  explicit ChainSource(std::vector<SourcePtr> sources) : sources_(std::move(sources)) {}

  bool next(Sample& sample) override {
    for (; current_ < sources_.size(); ++current_) {
      if (sources_[current_]->next(sample)) return true;
    }
    return false;
  }
  bool is_rereadable() const override {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const auto& source) { return source->is_rereadable(); });
  }
  Tally left_out() const override {
    Tally sum;
    for (const auto& source : sources_) {
      for (const auto& [reason, count] : source->left_out()) sum[reason] += count;
    }
    return sum;
  }
  std::uint64_t expected_samples() const override { return total(&Source::expected_samples, true); }
  std::uint64_t expected_bytes() const override { return total(&Source::expected_bytes, true); }
  std::uint64_t consumed_bytes() const override { return total(&Source::consumed_bytes, false); }

 private:
  // With `all_known`, 0 as soon as one does not know.
  std::uint64_t total(std::uint64_t (Source::*number)() const, bool all_known) const {
    std::uint64_t sum = 0;
    for (const auto& source : sources_) {
      const std::uint64_t one = (source.get()->*number)();
      if (one == 0 && all_known) return 0;
      sum += one;
    }
    return sum;
  }

  std::vector<SourcePtr> sources_;
  std::size_t current_ = 0;
};

// --- outputs
// --------------------------------------------------------------------------------------

SpecKind kind_of_output(const Spec& output) {
  if (output.kind != SpecKind::automatic) return output.kind;
  if (output.path.ends_with('/') || is_directory(output.path)) return SpecKind::directory;
  if (is_tar_name(output.path)) return SpecKind::tar;
  if (is_tfrecord_name(output.path)) return SpecKind::tfrecord;
  return is_picture_name(output.path) ? SpecKind::file : SpecKind::directory;
}

// Words that look like something else would quietly become a directory of that name.
void refuse_odd_directory(const Spec& output) {
  if (output.kind == SpecKind::directory || is_directory(output.path)) return;
  const std::string& path = output.path;
  if (path.starts_with('-')) {
    fail(Code::usage, "'{}' looks like an option; for a directory of that name say ./{}",
         printable(path), printable(path));
  }
  if (path.find("://") != std::string::npos) {
    fail(Code::usage, "{}: outputs are local; write to a directory and copy that", printable(path));
  }
  if (has_ending(path, {".zip",  ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.lz4", ".7z",
                        ".rar",  ".gz",      ".bz2",  ".xz",     ".zst", ".webp",    ".tif",
                        ".tiff", ".bmp",     ".gif",  ".npy",    ".npz", ".edf",     ".bdf"})) {
    fail(Code::usage,
         "{}: such files cannot be written; x.tar, x.tar.gz and x.tar.zst can (for a directory of "
         "that name say dir:{})",
         printable(path), printable(path));
  }
}

// An output that is one of the inputs would be read and written at once.
void refuse_input_as_output(const Spec& output, const std::vector<Spec>& inputs) {
  struct stat out {};
  if (output.kind == SpecKind::standard_stream || !exists(output.path, &out)) return;
  for (const Spec& input : inputs) {
    if (input.kind == SpecKind::standard_stream || input.kind == SpecKind::list ||
        input.kind == SpecKind::list0) {
      continue;
    }
    for (const std::string& path : expand(input.path)) {
      struct stat in {};
      if (exists(path, &in) && in.st_ino == out.st_ino && in.st_dev == out.st_dev) {
        fail(Code::usage, "{}: is an input too; name another output", printable(output.path));
      }
    }
  }
}

std::unique_ptr<Sink> open_tfrecord_sink(const Spec& output, ExampleOptions options) {
  if (output.path == "-") {
    return std::make_unique<TfRecordSink>(Fd(dup(STDOUT_FILENO)), "standard output",
                                          std::move(options));
  }
  return std::make_unique<TfRecordSink>(output.path, std::move(options));
}

// Shards of the default size, in the order in which samples come.
std::unique_ptr<Sink> open_shard_sink(const Spec& output, SpecKind kind,
                                      const SinkOptions& options) {
  if (options.task.count > 1) {
    fail(Code::usage,
         "{}: the tasks of --task would write shards of the same names; give each task a directory "
         "of its own, or let each write one tar, and make shards of them with prep-pack",
         printable(output.path));
  }
  ShardSinkOptions shards;
  shards.tool = options.tool;
  shards.settings = options.settings;
  shards.inputs = options.inputs;
  shards.force = options.force;
  shards.dry_run = options.dry_run;
  if (kind == SpecKind::tfrecord) shards.format.container = ShardContainer::tfrecord;
  shards.format.compression = compression_for_name(output.path);
  shards.example.describe_image = options.describe_image;
  shards.failed = options.failed;
  return std::make_unique<ShardSink>(output, std::move(shards));
}

class Registry final : public Containers {
 public:
  std::unique_ptr<Source> open_source(const std::vector<Spec>& specs,
                                      const SourceOptions& options) const override {
    const auto is_stdin = [](const Spec& spec) { return spec.path == "-"; };
    if (std::count_if(specs.begin(), specs.end(), is_stdin) > 1) {
      fail(Code::usage, "standard input can be read only once");
    }
    std::vector<SourcePtr> sources;
    for (const Input& input : resolve(specs, options.tables)) {
      sources.push_back(open_input(input, options));
    }
    if (sources.size() == 1) return std::move(sources[0]);
    return std::make_unique<ChainSource>(std::move(sources));
  }

  std::unique_ptr<Sink> open_sink(const Spec& output, const SinkOptions& options) const override {
    refuse_input_as_output(output, options.inputs);
    const SpecKind kind = kind_of_output(output);
    const bool may_be_shards = kind == SpecKind::tar || kind == SpecKind::tfrecord;
    if (may_be_shards && ShardPattern::matches(output.path)) {
      return open_shard_sink(output, kind, options);
    }
    switch (kind) {
      case SpecKind::directory:
        refuse_odd_directory(output);
        return create_directory_sink(output.path, {options.tool, options.settings, options.task,
                                                   options.force, options.dry_run});
      case SpecKind::file:
        return create_file_sink(output.path);
      case SpecKind::standard_stream:
        return std::make_unique<TarSink>(Fd(dup(STDOUT_FILENO)), "standard output");
      case SpecKind::tar:
        return std::make_unique<TarSink>(output.path);
      case SpecKind::tfrecord:
        return open_tfrecord_sink(output, {{}, options.describe_image, nullptr});
      default:
        fail(Code::usage, "'{}' is not an output", printable(output.text));
    }
  }
};

}  // namespace

const Containers& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace prep
