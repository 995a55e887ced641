// Samples of bytes in memory, for the tests of containers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/compression.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep::test {

using Parts = std::vector<std::pair<std::string, std::string>>;  // names and contents

// Contents that a catalog can keep, as a table's are.
inline Sample literal_sample(const std::string& key, const Parts& parts) {
  Sample sample;
  sample.key = key;
  for (const auto& [name, text] : parts) {
    sample.parts.push_back(
        {name, std::make_shared<LiteralContent>(text, "raw/" + part_path(key, name))});
  }
  return sample;
}

// "key part=data part=data", or "key !message" for a faulty sample.
inline std::string describe(const Sample& sample) {
  std::string text = sample.key;
  if (sample.fault) return text + " !" + sample.fault->what();
  for (const Part& part : sample.parts) {
    text += fmt::format(" {}={}", part.name, part.content->load().text());
  }
  return text;
}

inline std::vector<std::string> describe_all(Source& source) {
  std::vector<std::string> texts;
  for (Sample sample; source.next(sample); sample = Sample()) texts.push_back(describe(sample));
  return texts;
}

class VectorSource final : public Source {
 public:
  explicit VectorSource(std::vector<Sample> samples) : samples_(std::move(samples)) {}
  bool next(Sample& sample) override {
    if (next_ == samples_.size()) return false;
    sample = samples_[next_++];
    return true;
  }
  bool is_rereadable() const override { return true; }

 private:
  std::vector<Sample> samples_;
  std::size_t next_ = 0;
};

class StringWriter final : public ByteWriter {
 public:
  void write(ByteView data) override { text += as_text(data); }
  void finish() override {}
  std::uint64_t written() const override { return text.size(); }
  std::string text;
};

}  // namespace prep::test
