// What a run has to say: the count of everything, bad samples by name, progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lib/core/file_io.h"
#include "lib/core/pipeline.h"

namespace prep {

// How many bad samples a run may have: "N" or "N%" of those read.
struct ErrorBudget {
  double percent = 0;
  std::uint64_t count = 0;
  bool is_percent = false;

  // throws Error usage.
  static ErrorBudget parse(std::string_view text);
  bool allows(std::uint64_t failed, std::uint64_t read) const;
};

// The counts of a run. read == written + skipped + failed.
struct Summary {
  std::uint64_t read = 0, written = 0, skipped = 0, failed = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  Tally skipped_by_reason, failed_by_code, notes, warnings, left_out;
  std::map<std::string, Tally> tables;  // what the stage counted

  void add(const Outcome& outcome);
};

enum class Verbosity { quiet, normal, verbose };

// Writes a run's messages to standard error, its bad samples to a file, and shows progress.
class Reporter {
 public:
  struct Options {
    std::string tool;  // "prep-resize", put before each message
    Verbosity verbosity = Verbosity::normal;
    bool show_progress = false;
    std::string errors_path;  // JSON lines, one a bad sample; "" for none
  };
  explicit Reporter(Options options);
  ~Reporter();

  // Takes in what became of a sample: counts it, names it if it is bad.
  void add(const Outcome& outcome);
  // A line on standard error, whatever the progress display is doing. Quiet runs show errors only.
  void error(std::string_view message);
  void warn(std::string_view message);
  void say(std::string_view message);

  Summary& summary() { return summary_; }
  // The progress display's notion of the whole; 0: unknown.
  void expect(std::uint64_t samples, std::uint64_t bytes) {
    expected_samples_ = samples;
    expected_bytes_ = bytes;
  }
  void consumed(std::uint64_t bytes) { consumed_bytes_ = bytes; }
  // Flushes and closes the file of bad samples. throws Error io.
  void close();
  double seconds() const;

 private:
  void print(std::string_view kind, std::string_view message);
  void warn_of_sample(const Outcome& outcome, const std::string& kind);
  void show_progress();
  void clear_progress();

  Options options_;
  Summary summary_;
  std::unique_ptr<AtomicFile> errors_;
  std::string pending_errors_;
  std::chrono::steady_clock::time_point start_, last_shown_;
  std::uint64_t expected_samples_ = 0, expected_bytes_ = 0, consumed_bytes_ = 0;
  bool progress_visible_ = false;
};

// The closing lines of a run for people.
std::string summary_text(const Summary& summary, double seconds);
// The same for programs, and the tool's name, version, settings and verdict.
nlohmann::json summary_json(const Summary& summary, double seconds);

// "1.2 MB"; powers of 1000.
std::string human_bytes(std::uint64_t bytes);
// "12,345".
std::string human_count(std::uint64_t count);

}  // namespace prep
