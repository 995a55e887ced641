// The frame of a tool: common options, one run, one way to end.
//
// A tool is a class with its options and its stage; main() hands it to run_tool() together with the
// containers that the program knows. See docs/adding-a-tool.md.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/image_shape.h"
#include "lib/core/jobs.h"
#include "lib/core/key_hash.h"
#include "lib/core/report.h"
#include "lib/core/spec.h"
#include "lib/core/stream.h"
#include "lib/core/table_options.h"

namespace prep {

// What a container must know of the run to open an input.
struct SourceOptions {
  std::vector<std::string> excluded;  // what is not walked: the run's own output and reports
  bool tables = false;  // a word that ends in ".csv", ".tsv" or ".jsonl" is a table, not a file
  TableOptions table;
};

// What a container must know of the run to open an output.
struct SinkOptions {
  std::string tool;      // "prep-resize"
  std::string settings;  // all that decides the output's bytes, as one line of text
  Task task;
  bool force = false;
  bool dry_run = false;                   // nothing must be written
  std::vector<Spec> inputs;               // so that an output can refuse to be one of them
  ImageDescriber describe_image;          // null where the tool knows no pictures
  std::function<std::uint64_t()> failed;  // how many samples were bad so far
};

// The containers that a program knows; formats/registry.h has them all.
class Containers {
 public:
  virtual ~Containers() = default;
  // The inputs in order, as one source. throws Error usage, not_found, io.
  virtual std::unique_ptr<Source> open_source(const std::vector<Spec>& inputs,
                                              const SourceOptions& options) const = 0;
  virtual std::unique_ptr<Sink> open_sink(const Spec& output, const SinkOptions& options) const = 0;
};

// What a tool that makes its own source or sink may know of the run.
struct RunContext {
  const Containers& containers;
  std::vector<Spec> inputs;
  Spec output;  // empty without -o
  SourceOptions source_options;
  SinkOptions sink_options;
  JobSlots& slots;
  Reporter& reporter;
  const ErrorBudget& budget;
};

struct ToolInfo {
  std::string name;             // "prep-resize"
  std::string summary;          // one line
  std::string description;      // what --help says below the options: examples, exit codes
  std::string unit = "sample";  // what is counted, where that is something else: "file"
};

class Tool {
 public:
  virtual ~Tool() = default;
  virtual ToolInfo info() const = 0;
  // May take names of common options: a tool with its own -j has that instead.
  virtual void add_options(CLI::App&) {}
  // Called once after parsing. throws Error usage where options do not go together.
  virtual std::unique_ptr<Stage> make_stage() = 0;
  // Whether there is an output of samples, and so the option -o.
  virtual bool has_output() const { return true; }
  // Whether task I of N does its share of the samples by a hash of the key. A tool that shares the
  // work in another way asks the context for the task.
  virtual bool shares_by_key() const { return true; }
  // A tool may have options that ask for something else than a run over samples; then it needs no
  // output. What it adds to the reporter is judged by --max-errors.
  virtual bool is_other_job() const { return false; }
  virtual void do_other_job(const RunContext&) {}
  // What containers with fields for pictures' sizes ask; a tool that knows pictures hands it in.
  virtual ImageDescriber image_describer() const { return nullptr; }
  // The sink is made first, so that an output that can't be written is known before inputs are
  // listed.
  virtual std::unique_ptr<Sink> make_sink(const RunContext& run);
  virtual std::unique_ptr<Source> make_source(const RunContext& run);
};

// Parses, runs, reports; returns the exit code (0 done, 1 failed, 2 usage, 3 bad samples).
// A run that a signal ended does not return: after cleaning up the process dies by that signal.
int run_tool(Tool& tool, const Containers& containers, int argc, char** argv);

}  // namespace prep
