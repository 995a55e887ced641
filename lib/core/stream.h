// Source --samples--> Stage --in order--> Sink: the three interfaces that every tool is made of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/sample.h"

namespace prep {

// What was counted along the way, by reason: {"hidden file": 3, "directory loop": 1}.
using Tally = std::map<std::string, std::uint64_t>;

class Source {
 public:
  virtual ~Source() = default;
  // Fills `sample` with the next one; false at the end. Called by one thread at a time, and cheap:
  // where the container allows it, bytes are left for Content::read().
  // throws Error: the run ends (truncated, corrupt, io).
  virtual bool next(Sample& sample) = 0;
  // Whether no key can come twice, so that nobody needs to remember keys.
  virtual bool unique_keys() const { return false; }
  // Whether all contents can be read again after the source went on: files, not streams.
  virtual bool is_rereadable() const { return false; }
  // Things that are not samples and were left out on purpose (hidden files, directories in a tar).
  virtual Tally left_out() const { return {}; }
  // How many samples and bytes will come, if that is known cheaply; for the progress bar.
  virtual std::uint64_t expected_samples() const { return 0; }
  virtual std::uint64_t expected_bytes() const { return 0; }
  virtual std::uint64_t consumed_bytes() const { return 0; }
};

// What a stage has to say about a sample besides its new bytes.
struct Notes {
  std::vector<std::string> counts;    // "passed through unchanged": summed up in the report
  std::vector<std::string> warnings;  // "raw/1.jpg: trailing bytes …": counted by kind, shown
  std::string skip_reason;            // not empty: the sample is left out, counted under this

  void warn(std::string kind) { warnings.push_back(std::move(kind)); }
};

class Stage {
 public:
  virtual ~Stage() = default;
  // Changes the sample in place: replaces parts' names and contents, never the key. Called from
  // many threads at once. throws Error: this sample is bad.
  virtual void apply(Sample& sample, Notes& notes) const = 0;
  // The names that apply() may give to a part of this name, most likely first. A rerun takes a
  // sample as done when each of its parts has an up-to-date output under one of them.
  virtual std::vector<std::string> output_names(const std::string& part) const { return {part}; }
  // What the stage counted over the run, by table: {"source quality": {"85-89": 3}}. Shown in the
  // summary and written to --report; asked for once, at the end.
  virtual std::map<std::string, Tally> tables() const { return {}; }
};

class Sink {
 public:
  virtual ~Sink() = default;
  // Whether put() may be called from many threads, in any order. Otherwise it is called by one
  // thread at a time, in the order of the source.
  virtual bool concurrent() const { return false; }
  // Whether put() reads the parts' bytes; a sink that only lists them does not.
  virtual bool wants_bytes() const { return true; }
  // Before anything is done to a sample, from many threads: throws Error if writing it would
  // overwrite what it is read from. `stage` names the outputs.
  virtual void check_source(const Sample&, const Stage&) const {}
  // Whether the sample's outputs are already there and newer than their sources; called from many
  // threads, before the stage. `stage` names the outputs.
  virtual bool up_to_date(const Sample&, const Stage&) const { return false; }
  // The output for a part of that name that is there from an earlier run, whatever it was made
  // from; null where there is none, or outputs are no files.
  virtual std::shared_ptr<const Content> written(const std::string& /*key*/,
                                                 const std::string& /*part*/) const {
    return nullptr;
  }
  // Takes away the outputs of a sample that is not up to date, under all names that the stage may
  // give them, so that none outlives a run in which the sample fails, is left out or gets another
  // name.
  virtual void remove_outdated(const Sample&, const Stage&) {}
  // Checks what can be known without writing (names, collisions); called from many threads, before
  // put(). throws Error: this sample is bad.
  virtual void check(const Sample&) const {}
  // throws BadSample: this sample can't be written, the run goes on; Error: the run ends.
  virtual void put(const Sample& sample) = 0;
  // Does a piece of work that the sink put off (hashing what it wrote, say), if there is any, and
  // says whether it did. One thread at a time calls it, while another may be in put(); never after
  // the last sample. throws Error: the run ends.
  virtual bool assist() { return false; }
  // Makes the output final and durable. Called once, after the last put(). throws Error.
  virtual void commit() = 0;
  // Called instead of commit() when there were more bad samples than allowed: what is good by
  // itself stays (a directory's files), a stream is left without its end, the rest is undone.
  virtual void abandon() = 0;
  // A destructor with neither undoes what is not good by itself.

  // What readers of the output may stumble over, counted by kind; for the report's warnings.
  virtual Tally warnings() const { return {}; }
};

}  // namespace prep
