// prep-ls: lists what is in any input, a line a sample.

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "formats/registry.h"
#include "lib/core/file_io.h"
#include "lib/core/tool.h"

namespace prep {
namespace {

constexpr std::size_t kBuffer = 1 << 16;

// Asks for every part's size, in parallel: on a network file system that is what takes the time.
class StatStage final : public Stage {
 public:
  void apply(Sample& sample, Notes&) const override {
    for (const Part& part : sample.parts) part.content->size();
  }
};

// Prints samples to standard output.
class LineSink final : public Sink {
 public:
  explicit LineSink(bool json) : json_(json) {}
  // What was read before the input failed is worth seeing.
  ~LineSink() override {
    try {
      flush();
    } catch (const Error&) {
    }
  }

  bool wants_bytes() const override { return false; }
  void put(const Sample& sample) override {
    buffer_ += json_ ? json_line(sample) : text_line(sample);
    if (buffer_.size() >= kBuffer) flush();
  }
  void commit() override { flush(); }
  void abandon() override { flush(); }

 private:
  void flush() {
    write_fully(STDOUT_FILENO, as_bytes(buffer_), "standard output");
    buffer_.clear();
  }

  // KEY <tab> PART SIZE <tab> PART SIZE …
  static std::string text_line(const Sample& sample) {
    std::string line = printable(sample.key);
    for (const Part& part : sample.parts) {
      line += fmt::format("\t{} {}", part.name.empty() ? "-" : printable(part.name),
                          part.content->size());
    }
    return line + "\n";
  }

  static std::string json_line(const Sample& sample) {
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const Part& part : sample.parts) {
      parts.push_back({{"name", json_text(part.name)}, {"size", part.content->size()}});
    }
    return nlohmann::ordered_json{{"key", json_text(sample.key)}, {"parts", parts}}.dump() + "\n";
  }

  const bool json_;
  std::string buffer_;
};

class LsTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-ls", "List what is in any input, one line a sample.",
        "A line holds the sample's key and, after a tab each, its parts with their sizes in\n"
        "bytes. Control characters, backslashes and bytes that are not UTF-8 stand as in C.\n\n"
        "Examples:\n"
        "  prep-ls photos/\n"
        "  prep-ls --json 'shards/train-{000000..000099}.tar'\n"
        "  prep-resize photos/ -o - | prep-ls -\n\n"
        "Exit status: 0 all is listed, 1 the input could not be read to its end, 2 wrong usage,\n"
        "3 some samples are bad."};
  }
  void add_options(CLI::App& app) override {
    app.add_flag("--json", json_,
                 "one JSON object a line: {\"key\": …, \"parts\": [{\"name\": …, "
                 "\"size\": …}]}");
  }
  std::unique_ptr<Stage> make_stage() override { return std::make_unique<StatStage>(); }
  bool has_output() const override { return false; }
  std::unique_ptr<Sink> make_sink(const RunContext&) override {
    return std::make_unique<LineSink>(json_);
  }

 private:
  bool json_ = false;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::LsTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
