#include "formats/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "formats/run_stamp.h"
#include "formats/tree.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

constexpr std::string_view kTemporaryPrefix = ".prep-tmp.";
constexpr char kOutputItself[] = "output of this run itself";

struct FileId {
  dev_t device;
  ino_t inode;
  bool operator==(const FileId&) const = default;
};

FileId id_of(const struct stat& st) { return {st.st_dev, st.st_ino}; }

// The names of one directory, sorted, in one block of memory.
class Listing {
 public:
  enum class Type : std::uint8_t { file, directory };

  void add(std::string_view name, Type type) {
    entries_.push_back({text_.size(), static_cast<std::uint16_t>(name.size()), type});
    text_ += name;
  }
  // A directory sorts as if its name ended in '/', which is how its files' paths sort.
  void sort() {
    text_.shrink_to_fit();
    entries_.shrink_to_fit();
    const auto tail = [&](const Entry& e) { return e.type == Type::directory ? "/" : ""; };
    std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
      const std::string_view x = view(a), y = view(b);
      const std::size_t common = std::min(x.size(), y.size());
      const int order = std::memcmp(x.data(), y.data(), common);
      if (order != 0) return order < 0;
      const auto next = [&](const Entry& e, std::string_view name) {
        return name.size() > common ? static_cast<unsigned char>(name[common])
                                    : static_cast<unsigned char>(*tail(e));
      };
      const unsigned char p = next(a, x), q = next(b, y);
      return p != q ? p < q : x.size() < y.size();
    });
  }
  // The first entry at or behind `from` whose name is not less than `name`.
  std::size_t lower_bound(std::string_view name, std::size_t from) const {
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto less = [&](const Entry& e, std::string_view other) { return view(e) < other; };
    return static_cast<std::size_t>(std::lower_bound(begin, entries_.end(), name, less) -
                                    entries_.begin());
  }
  std::size_t size() const { return entries_.size(); }
  std::string_view name(std::size_t i) const { return view(entries_[i]); }
  Type type(std::size_t i) const { return entries_[i].type; }

 private:
  struct Entry {
    std::uint64_t offset : 48;
    std::uint64_t length : 15;
    Type type;
    Entry(std::size_t o, std::uint16_t l, Type t) : offset(o), length(l), type(t) {}
  };
  std::string_view view(const Entry& e) const {
    return std::string_view(text_).substr(e.offset, e.length);
  }
  std::string text_;
  std::vector<Entry> entries_;
};

class DirectorySource final : public Source {
 public:
  DirectorySource(std::string root, const std::vector<std::string>& excluded)
      : root_(std::move(root)) {
    for (const std::string& path : excluded) {
      const auto st = find_file(path);
      if (st && !S_ISCHR(st->st_mode)) excluded_.push_back(id_of(*st));
    }
    if (const auto error = enter("")) throw *error;
  }

  bool unique_keys() const override { return true; }
  bool is_rereadable() const override { return true; }
  Tally left_out() const override { return left_out_; }

  bool next(Sample& sample) override {
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (!level.pending.empty()) {  // directories that lay between the parts of a sample
        const std::size_t i = level.pending.front();
        level.pending.pop_front();
        if (descend(std::string(level.listing.name(i)), sample)) return true;
        continue;
      }
      if (level.next == level.listing.size()) {
        levels_.pop_back();
        continue;
      }
      if (level.listing.type(level.next) == Listing::Type::file) {
        if (take_sample(level, sample)) return true;
        continue;
      }
      if (descend(std::string(level.listing.name(level.next++)), sample)) return true;
    }
    return false;
  }

 private:
  struct Level {
    std::string path;  // relative to the root, "" or ending in '/'
    FileId id;
    Listing listing;
    std::size_t next = 0;
    std::deque<std::size_t> pending;
    std::set<std::string, std::less<>>
        taken;  // keys whose files went with a dotless one before them
  };

  // Takes the file at level.next and all others of its sample: what starts with "key." sorts
  // together, directories among it, and a dotless "key" somewhere before. False if the sample went
  // with a dotless file already.
  bool take_sample(Level& level, Sample& sample) {
    sample = Sample();
    const auto [key, first] = split_key(level.listing.name(level.next));
    sample.key = level.path + std::string(key);
    if (first.empty()) {
      add_part(level, level.next++, first, sample);
      const std::size_t begin = level.listing.lower_bound(std::string(key) + ".", level.next);
      const std::size_t end = for_each_of_key(
          level, begin, key, [&](std::size_t i, auto part) { add_part(level, i, part, sample); });
      if (end != begin) level.taken.emplace(key);
      return true;
    }
    const bool taken = level.taken.contains(key);
    level.next = for_each_of_key(
        level, level.next, key,
        [&](std::size_t i, auto part) {
          if (!taken) add_part(level, i, part, sample);
        },
        &level.pending);
    return !taken;
  }

  // Calls f(index, part) for the files "key.part" from `i` on and returns where they end.
  // Directories among them are put into `directories`.
  template <typename F>
  static std::size_t for_each_of_key(const Level& level, std::size_t i, std::string_view key, F f,
                                     std::deque<std::size_t>* directories = nullptr) {
    const std::string prefix = std::string(key) + ".";
    for (; i < level.listing.size() && level.listing.name(i).starts_with(prefix); ++i) {
      const auto [its_key, part] = split_key(level.listing.name(i));
      if (level.listing.type(i) == Listing::Type::directory) {
        if (directories) directories->push_back(i);
      } else if (its_key == key) {
        f(i, part);
      }  // else "key." itself: a name that ends in a dot is a sample of its own
    }
    return i;
  }

  void add_part(const Level& level, std::size_t i, std::string_view part, Sample& sample) {
    std::string path = join_path(root_, level.path + std::string(level.listing.name(i)));
    if (sample.parts.size() == Grouper::kMaxParts) {
      sample.fault =
          Error(Code::limit,
                fmt::format(
                    "{}: more than {} files belong to the sample '{}', which is what stands before "
                    "the first dot of their names",
                    printable(path), Grouper::kMaxParts, printable(sample.key)));
      return;
    }
    sample.parts.push_back({std::string(part), std::make_shared<FileContent>(std::move(path))});
  }

  // Enters a directory; true if `sample` was made a faulty one because that failed.
  bool descend(const std::string& name, Sample& sample) {
    const std::string path = levels_.back().path + name;
    auto error = enter(path + "/");
    if (!error) return false;
    sample = Sample();
    sample.key = path;
    sample.fault = std::move(error);
    return true;
  }

  // Lists a directory and makes it the current one.
  std::optional<Error> enter(const std::string& path) {
    const std::string full =
        path.empty() ? root_ : join_path(root_, path.substr(0, path.size() - 1));
    try {
      Fd fd = open_file(full, O_RDONLY | O_DIRECTORY);
      const struct stat st = file_status(fd.get(), full);
      const FileId id = id_of(st);
      if (is_excluded(st)) {
        ++left_out_[kOutputItself];
        return std::nullopt;
      }
      for (const Level& above : levels_) {
        if (above.id == id) {
          ++left_out_["link to a directory above it"];
          return std::nullopt;
        }
      }
      Level level{path, id, list(std::move(fd), full), 0, {}, {}};
      levels_.push_back(std::move(level));
      return std::nullopt;
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      if (error.code() == Code::truncated) {
        return Error(error.code(), printable(full) + ": " + error.what());
      }
      return error;
    }
  }

  Listing list(Fd fd, const std::string& full) {
    DIR* raw = fdopendir(fd.get());
    if (!raw) fail_errno(errno, "list", full);
    const int directory = fd.release();  // closed by closedir()
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(raw, closedir);
    Listing listing;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(raw);
      if (!entry && errno != 0) fail_errno(errno, "list", full);
      if (!entry) break;
      take_entry(directory, full, *entry, listing);
    }
    listing.sort();
    return listing;
  }

  void take_entry(int directory, const std::string& full, const dirent& entry, Listing& listing) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    unsigned char type = entry.d_type;
    if (name.starts_with('.')) {
      // Our own stamps and rests are nobody's data, but for what they say.
      if (name.starts_with(".prep-") && name.ends_with(".partial")) {
        fail(Code::truncated,
             "the directory is not complete: {} has not finished it (it holds {}); run that again, "
             "or "
             "remove the file to take what there is",
             name.substr(1, name.find('.', 1) - 1), printable(name));
      }
      if (!name.starts_with(".prep-")) {
        ++left_out_[type == DT_DIR ? "hidden directory" : "hidden file"];
      }
      return;
    }
    if (type == DT_LNK || type == DT_UNKNOWN) type = followed_type(directory, entry.d_name);
    if (type == DT_DIR) {
      listing.add(name, Listing::Type::directory);
    } else if (type == DT_REG && may_be_excluded(entry.d_ino) &&
               is_excluded_file(directory, full, entry.d_name)) {
      ++left_out_[kOutputItself];
    } else if (type == DT_REG) {
      listing.add(name, Listing::Type::file);
    } else {
      ++left_out_["special file"];
    }
  }

  bool is_excluded(const struct stat& st) const {
    return std::find(excluded_.begin(), excluded_.end(), id_of(st)) != excluded_.end();
  }
  // Spares a stat() for each file.
  bool may_be_excluded(ino_t inode) const {
    return std::any_of(excluded_.begin(), excluded_.end(),
                       [&](const FileId& id) { return id.inode == inode; });
  }
  bool is_excluded_file(int directory, const std::string& full, const char* name) const {
    struct stat st {};
    if (fstatat(directory, name, &st, 0) == 0) return is_excluded(st);
    if (errno == ENOENT) return false;
    fail_errno(errno, "stat", join_path(full, name));
  }

  // A link that leads nowhere is taken as a file: reading it will say so.
  static unsigned char followed_type(int directory, const char* name) {
    struct stat st {};
    if (fstatat(directory, name, &st, 0) != 0 || S_ISREG(st.st_mode)) return DT_REG;
    return S_ISDIR(st.st_mode) ? DT_DIR : DT_FIFO;
  }

  std::string root_;
  std::vector<FileId> excluded_;
  std::vector<Level> levels_;
  Tally left_out_;
};

// --- output
// ---------------------------------------------------------------------------------------

// Whether a directory holds anything that is not hidden.
bool has_files(const std::string& root) {
  bool found = false;
  for_each_entry(root, [&](int, const dirent& entry) {
    found = entry.d_name[0] != '.';
    return !found;
  });
  return found;
}

// The file system's clock may be coarser than its neighbour's: a time that was cut to whole
// microseconds, 100 ns units (NTFS, SMB) or seconds still is the same.
bool same_time(std::int64_t source, std::int64_t output) {
  if (source == output) return true;
  for (const std::int64_t unit : {100, 1'000, 1'000'000'000}) {
    if (output % unit == 0 && source / unit == output / unit) return true;
  }
  return false;
}

class DirectorySink final : public Sink {
 public:
  DirectorySink(std::string root, const DirectorySinkOptions& options)
      : root_(std::move(root)),
        temporary_prefix_(
            fmt::format("{}{}-of-{}.", kTemporaryPrefix, options.task.index, options.task.count)) {
    check_root(root_);
    is_new_ = !find_file(root_);
    if (is_new_ && options.dry_run) return;
    make_directories(root_);
    stamp_ = std::make_unique<RunStamp>(root_, options.tool, options.task, options.settings,
                                        options.force);
    if (!stamp_->known() && !options.force && has_files(root_)) {
      const std::string tool = options.tool;
      stamp_.reset();
      fail(Code::usage,
           "{}: the directory holds files that {} did not make; name another, or give --force",
           printable(root_), tool);
    }
    if (!options.dry_run) remove_rests();
  }
  ~DirectorySink() override {
    stamp_.reset();
    if (is_new_) rmdir(root_.c_str());  // only succeeds while it is empty
  }

  bool concurrent() const override { return true; }

  void check_source(const Sample& sample, const Stage& stage) const override {
    if (is_new_) return;
    for_each_output(sample, stage, [&](const Part& part, const std::string& path) {
      const auto st = find_file(path);
      if (!st || !part.content->is_file(*st)) return;
      fail(Code::name, "{}: writing it to {} would overwrite the original",
           printable(part.content->origin()), printable(root_));
    });
  }

  bool up_to_date(const Sample& sample, const Stage& stage) const override {
    if (is_new_) return false;
    std::unordered_set<std::string> used;  // one output cannot stand for two parts
    for (const Part& part : sample.parts) {
      const auto is_current = [&](const std::string& name) {
        struct stat st {};
        return !used.contains(name) && stat(path_of(sample, name).c_str(), &st) == 0 &&
               S_ISREG(st.st_mode) && is_made_from(*part.content, st) && stamp_->trusts(st);
      };
      const auto names = stage.output_names(part.name);
      const auto current = std::find_if(names.begin(), names.end(), is_current);
      if (current == names.end()) return false;
      used.insert(*current);
    }
    return true;
  }

  std::shared_ptr<const Content> written(const std::string& key,
                                         const std::string& part) const override {
    if (is_new_) return nullptr;
    std::string path = join_path(root_, part_path(key, part));
    struct stat st {};
    if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;
    return std::make_shared<FileContent>(std::move(path));
  }

  void remove_outdated(const Sample& sample, const Stage& stage) override {
    stamp_->before_write();
    if (is_new_) return;
    for_each_output(sample, stage, [](const Part&, const std::string& path) {
      if (unlink(path.c_str()) != 0 && !has_no_file(errno)) fail_errno(errno, "remove", path);
    });
  }

  void check(const Sample& sample) const override {
    std::unordered_map<std::string_view, const Part*> names;
    for (const Part& part : sample.parts) {
      const auto [other, is_first] = names.emplace(part.name, &part);
      if (is_first) continue;
      fail(Code::duplicate, "{}: would be written as {}, and so would {}",
           printable(part.content->origin()), printable(path_of(sample, part.name)),
           printable(other->second->content->origin()));
    }
  }

  void put(const Sample& sample) override {
    stamp_->before_write();
    std::vector<std::unique_ptr<AtomicFile>> files;  // renamed together, once all are written
    for (const Part& part : sample.parts) {
      const std::string path = path_of(sample, part.name);
      files.push_back(std::make_unique<AtomicFile>(path, temporary_for(path)));
      files.back()->write(*part.content);
      files.back()->close(part.content->mtime_ns());
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      try {
        files[i]->commit();
      } catch (...) {
        for (std::size_t k = 0; k < i; ++k) unlink(files[k]->path().c_str());
        throw;
      }
    }
  }

  void commit() override { stamp_->complete(); }
  void abandon() override { stamp_->keep(); }

 private:
  static void check_root(const std::string& root) {
    const auto st = find_file(root);
    if (!st || S_ISDIR(st->st_mode)) return;
    fail(Code::usage, "{}: is a file; the output must be a directory, x.tar or -", printable(root));
  }

  // Whether unlink() failed because there is no file under that name.
  static bool has_no_file(int error_number) {
    return error_number == ENOENT || error_number == ENOTDIR || error_number == EISDIR ||
           error_number == ENAMETOOLONG;
  }

  // Whether an output with this status can have come from `source` as it is now.
  static bool is_made_from(const Content& source, const struct stat& output) {
    const std::int64_t time = source.mtime_ns();
    if (time == 0 || !same_time(time, mtime_ns(output))) return false;
    return output.st_size > 0 || source.size() == 0;
  }

  std::string path_of(const Sample& sample, const std::string& part) const {
    return join_path(root_, part_path(sample.key, part));
  }

  // Calls f(part, path) for every file that a sample's parts may become.
  template <typename F>
  void for_each_output(const Sample& sample, const Stage& stage, F f) const {
    for (const Part& part : sample.parts) {
      for (const std::string& name : stage.output_names(part.name)) f(part, path_of(sample, name));
    }
  }

  std::string temporary_for(const std::string& path) {
    return join_path(parent_directory(path),
                     fmt::format("{}{}-{}", temporary_prefix_, getpid(), counter_++));
  }

  // Removes what killed runs left half-written; nobody holds their locks any more.
  void remove_rests() {
    std::vector<std::string> prefixes;
    for (const std::string& task : stamp_->dead_tasks()) {
      prefixes.push_back(fmt::format("{}{}.", kTemporaryPrefix, task));
    }
    if (prefixes.empty()) return;
    for_each_file(root_, [&](int directory, const std::string&, const char* name) {
      const auto is_rest = [&](const std::string& prefix) {
        return std::string_view(name).starts_with(prefix);
      };
      if (std::any_of(prefixes.begin(), prefixes.end(), is_rest)) unlinkat(directory, name, 0);
    });
  }

  const std::string root_;
  const std::string temporary_prefix_;
  bool is_new_ = false;              // the directory was not there before
  std::unique_ptr<RunStamp> stamp_;  // none in a dry run into a directory that is not there
  std::atomic<std::uint64_t> counter_{0};
};

class FileSink final : public Sink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}

  void check_source(const Sample& sample, const Stage&) const override {
    const auto st = find_file(path_);
    for (const Part& part : sample.parts) {
      if (!st || !part.content->is_file(*st)) continue;
      fail(Code::name, "{}: would be overwritten by its own output", printable(path_));
    }
  }
  void check(const Sample& sample) const override {
    if (sample.parts.size() != 1) {
      fail(Code::usage, "{}: is one file, but the sample {} has {} parts; give a directory",
           printable(path_), printable(sample.key), sample.parts.size());
    }
    const std::string wanted = kind(path_), is = kind(sample.parts[0].name);
    if (wanted != is) {
      fail(Code::usage, "{}: the output is of the kind '{}', not '{}'", printable(path_),
           printable(is), printable(wanted));
    }
  }
  void put(const Sample& sample) override {
    if (file_) fail(Code::usage, "{}: is one file, but there are more samples", printable(path_));
    file_ =
        std::make_unique<AtomicFile>(path_, locked_temporary(path_), AtomicFile::Sharing::locked);
    file_->write(*sample.parts[0].content);
  }
  void commit() override {
    if (file_) file_->commit(/*sync=*/true);
  }
  void abandon() override { file_.reset(); }

 private:
  // The extension in lower case; "jpeg" is "jpg".
  static std::string kind(std::string_view name) {
    std::string extension(name.substr(name.find_last_of('.') + 1));  // npos + 1 == 0
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return extension == "jpeg" ? "jpg" : extension;
  }

  std::string path_;
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace

std::unique_ptr<Source> open_directory(const std::string& root,
                                       const std::vector<std::string>& excluded) {
  return std::make_unique<DirectorySource>(root, excluded);
}

std::unique_ptr<Sink> create_directory_sink(const std::string& root,
                                            const DirectorySinkOptions& options) {
  return std::make_unique<DirectorySink>(root, options);
}

std::unique_ptr<Sink> create_file_sink(const std::string& path) {
  return std::make_unique<FileSink>(path);
}

}  // namespace prep
