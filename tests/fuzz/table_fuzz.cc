// Reads any bytes as a table of each format: whole and in pieces it must come to the same rows or
// errors; JSON must be what another parser takes for JSON, and what is made of rows as well.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/table.h"
#include "lib/core/error.h"

namespace {

using namespace prep;

class Pieces final : public ByteReader {
 public:
  Pieces(ByteView bytes, std::size_t step) : bytes_(bytes), step_(step) {}
  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min({step_, out.size(), bytes_.size()});
    std::copy_n(bytes_.begin(), count, out.begin());
    bytes_ = bytes_.subspan(count);
    return count;
  }
  std::uint64_t consumed() const override { return 0; }

 private:
  ByteView bytes_;
  std::size_t step_;
};

std::string read_rows(ByteView bytes, TableFormat format, std::size_t step) {
  std::string rows;
  try {
    TableReader reader(std::make_unique<Pieces>(bytes, step), "t", format);
    for (TableRow row; reader.next(row);) {
      rows += fmt::format("{}", row.line);
      for (const Cell& cell : row.cells) rows.append("|").append(cell.raw);
      for (const std::string_view name : row.names) rows.append("#").append(name);
      rows += '\n';
    }
  } catch (const Error& error) {
    rows.append(code_name(error.code())).append(" ").append(error.what());
  }
  return rows;
}

// A line that one of the two parsers takes must be taken by the other, save where they may differ:
// limits, names that come twice, numbers beyond a double, halves of surrogate pairs, UTF-8.
void check_json(const std::string& line) {
  if (line.find_first_of(std::string("\n\0\x1F\x8B\x28\xEF\xFE\xFF", 8)) != std::string::npos ||
      line.find_first_not_of(" \t\r") == std::string::npos) {
    return;
  }
  const nlohmann::json other = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    TableReader reader(std::make_unique<Pieces>(as_bytes(line), line.size()), "t",
                       TableFormat::jsonl);
    TableRow row;
    reader.next(row);
    const bool may_differ = !is_utf8(line) || line.find("\\u") != std::string::npos ||
                            line.find_first_of("eE") != std::string::npos || line.size() > 300;
    if (!may_differ && !other.is_object()) std::abort();
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool may_differ = error.code() == Code::limit ||
                            message.find("comes twice") != std::string::npos ||
                            message.find("surrogate") != std::string::npos;
    if (!may_differ && other.is_object()) std::abort();
  }
}

void read_samples(ByteView bytes, TableFormat format, const TableOptions& options) {
  Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  write_fully(file.get(), bytes, "fuzz");
  lseek(file.get(), 0, SEEK_SET);
  try {
    TableSource source(std::move(file), "t", "/nonexistent", format, options);
    for (Sample sample; source.next(sample);) {
      if (sample.fault) continue;
      for (const Part& part : sample.parts) {
        if (part.name.find('/') != std::string::npos && part.content->is_literal()) std::abort();
        if (part.name != "json" || !part.content->is_literal()) continue;
        // Numbers beyond a double are sound JSON that this parser refuses.
        const std::string json(part.content->load().text());
        const bool may_differ = format == TableFormat::jsonl;
        if (!may_differ && !nlohmann::json::accept(json)) std::abort();
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  for (const TableFormat format : {TableFormat::csv, TableFormat::tsv, TableFormat::jsonl}) {
    const std::string rows = read_rows(bytes, format, std::max<std::size_t>(size, 1));
    // Where compressed data is damaged, fewer bytes at a time may come further.
    const bool same = read_rows(bytes, format, 1) == rows;
    if (!same && detect_compression(bytes) == Compression::none) std::abort();
    read_samples(bytes, format, {});
    read_samples(bytes, format, {.path_columns = {"1", "2"}, .label_column = "3"});
  }
  check_json(std::string(as_text(bytes)));
  return 0;
}
