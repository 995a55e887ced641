#include "tools/bench_inputs.h"

#include <sys/stat.h>

#include "formats/list.h"
#include "formats/tar.h"
#include "formats/tfrecord.h"

namespace prep {
namespace {

bool is_pipe(const Spec& word) {
  if (word.path == "-") return true;
  struct stat st {};
  return stat(word.path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool is_list(const Spec& word) {
  return word.kind == SpecKind::list || word.kind == SpecKind::list0;
}

BenchInput::Kind kind_of(const Source& source) {
  const bool plain = source.is_rereadable();
  if (dynamic_cast<const TarSource*>(&source))
    return plain ? BenchInput::Kind::tar : BenchInput::Kind::compressed_tar;
  if (dynamic_cast<const TfRecordSource*>(&source)) {
    return plain ? BenchInput::Kind::tfrecord : BenchInput::Kind::compressed_tfrecord;
  }
  return BenchInput::Kind::loose_files;
}

// What can be known of a pipe without opening it: there is nothing behind it for a second time.
BenchInput input_of_pipe(const Spec& word) {
  BenchInput input;
  input.words = {word};
  input.once = true;
  if (is_list(word)) return input;
  input.kind = BenchInput::Kind::stream;
  input.can_read_again = false;
  input.listing_reads_all = true;
  return input;
}

// `joins`: whether others of its kind that follow are part of it.
BenchInput input_of(const Spec& word, const RunContext& run, bool& joins) {
  const auto source = run.containers.open_source({word}, run.source_options);
  BenchInput input;
  input.words = {word};
  input.kind = kind_of(*source);
  input.can_read_again = input.kind != BenchInput::Kind::compressed_tar &&
                         input.kind != BenchInput::Kind::compressed_tfrecord;
  input.listing_reads_all = !input.can_read_again || input.kind == BenchInput::Kind::tfrecord;
  joins =
      input.kind != BenchInput::Kind::loose_files || dynamic_cast<const FilesSource*>(source.get());
  return input;
}

}  // namespace

std::string BenchInput::name() const {
  std::string text = printable(words[0].text);
  if (words.size() > 1) text += fmt::format(" and {} more", words.size() - 1);
  return text;
}

std::string_view BenchInput::kind_name() const {
  switch (kind) {
    case BenchInput::Kind::loose_files:
      return "loose files";
    case BenchInput::Kind::tar:
      return "tar";
    case BenchInput::Kind::compressed_tar:
      return "compressed tar";
    case BenchInput::Kind::tfrecord:
      return "TFRecord";
    case BenchInput::Kind::compressed_tfrecord:
      return "compressed TFRecord";
    case BenchInput::Kind::stream:
      break;
  }
  return "stream";
}

std::unique_ptr<Source> BenchInput::open(const RunContext& run) const {
  return run.containers.open_source(words, run.source_options);
}

std::vector<BenchInput> group_inputs(const RunContext& run) {
  std::vector<BenchInput> inputs;
  bool last_joins = false;
  for (const Spec& word : run.inputs) {
    bool joins = false;
    BenchInput input = is_pipe(word) ? input_of_pipe(word) : input_of(word, run, joins);
    if (joins && last_joins && inputs.back().kind == input.kind) {
      inputs.back().words.push_back(word);
    } else {
      inputs.push_back(std::move(input));
    }
    last_joins = joins;
  }
  return inputs;
}

}  // namespace prep
