#include "lib/signal/format.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/text.h"
#include "lib/signal/brainvision.h"
#include "lib/signal/csv.h"
#include "lib/signal/edf.h"
#include "lib/signal/edf_header.h"
#include "lib/signal/field_text.h"
#include "lib/signal/npy.h"

namespace prep::signal {
namespace {

// Enough for all but a table of numbers.
constexpr std::uint64_t kShortHead = 256;

Format sniff_magic(ByteView head) {
  const std::string_view text = as_text(head);
  if (looks_like_bdf(head)) return Format::bdf;
  if (looks_like_npy(head)) return Format::npy;
  if (looks_like_brainvision_header(head)) return Format::brainvision;
  if (looks_like_brainvision_markers(head)) return Format::brainvision_markers;
  if (text.starts_with("GDF 1.") || text.starts_with("GDF 2.")) return Format::gdf;
  if (text.starts_with("Version 3.0") && text.find('\n') == std::string_view::npos) {
    return Format::cnt;
  }
  if (text.starts_with("PAR1")) return Format::parquet;
  if (looks_like_edf(head)) return Format::edf;
  return Format::none;
}

Format sniff_part(const Content& content) {
  const std::uint64_t size = content.size();
  const Bytes head = content.read(0, kShortHead);
  const Format format = sniff(head.view(), size <= kShortHead);
  // Text may turn out to be a table further on.
  const bool text = head.text().find('\0') == std::string_view::npos;
  if (format != Format::none || size <= kShortHead || !text) return format;
  return sniff(content.read(0, kSniffBytes).view(), size <= kSniffBytes);
}

std::string ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return lower_case(dot == std::string_view::npos ? name : name.substr(dot + 1));
}

// A part's name without its last ending: "v2" of "v2.eeg", "" of "eeg".
std::string_view stem(std::string_view part) {
  const std::size_t dot = part.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : part.substr(0, dot);
}

std::string file_name(const Sample& sample, std::size_t part) {
  return std::string(base_name(part_path(sample.key, sample.parts[part].name)));
}

// The part that the header calls `named`: by that name, else by its ending, beside the header.
std::optional<std::size_t> find_companion(const Sample& sample, std::size_t header,
                                          const std::string& named,
                                          std::vector<std::string>& warnings) {
  if (named.empty()) return std::nullopt;
  for (std::size_t i = 0; i < sample.parts.size(); ++i) {
    if (i != header && file_name(sample, i) == named) return i;
  }
  for (std::size_t i = 0; i < sample.parts.size(); ++i) {
    const std::string& part = sample.parts[i].name;
    if (i == header || ending(part) != ending(named) ||
        stem(part) != stem(sample.parts[header].name)) {
      continue;
    }
    warnings.push_back(fmt::format("its header names '{}'; '{}' is taken", printable(named),
                                   printable(file_name(sample, i))));
    return i;
  }
  return std::nullopt;
}

RecordingParts find_brainvision(const Sample& sample, std::size_t header) {
  RecordingParts parts{Format::brainvision, header, {}, {}, {}};
  const BrainVisionFiles files =
      brainvision_files(*sample.parts[header].content, file_name(sample, header));
  parts.data = find_companion(sample, header, files.data, parts.warnings);
  if (!parts.data) {
    std::string there;
    for (std::size_t i = 0; i < sample.parts.size(); ++i) {
      there += (i > 0 ? ", " : "") + printable(file_name(sample, i));
    }
    fail(Code::not_found, "its header names '{}' as its data, which is not beside it; there is {}",
         printable(files.data), there);
  }
  parts.markers = find_companion(sample, header, files.markers, parts.warnings);
  return parts;
}

}  // namespace

Format sniff(ByteView head, bool whole) {
  const Format format = sniff_magic(head);
  if (format != Format::none) return format;
  return looks_like_csv(head, whole) ? Format::csv : Format::none;
}

std::string_view name(Format format) {
  switch (format) {
    case Format::none:
      return "unknown";
    case Format::edf:
      return "EDF";
    case Format::bdf:
      return "BDF";
    case Format::brainvision:
      return "BrainVision";
    case Format::brainvision_markers:
      return "BrainVision markers";
    case Format::npy:
      return "npy";
    case Format::csv:
      return "CSV";
    case Format::gdf:
      return "GDF";
    case Format::cnt:
      return "Neuroscan CNT";
    case Format::parquet:
      return "Parquet";
  }
  return "unknown";
}

std::vector<RecordingParts> find_recordings(const Sample& sample) {
  std::vector<RecordingParts> found;
  std::vector<bool> taken(sample.parts.size());
  std::vector<Format> formats;
  for (const Part& part : sample.parts) formats.push_back(sniff_part(*part.content));
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (formats[i] != Format::brainvision) continue;
    const RecordingParts parts = find_brainvision(sample, i);
    taken[*parts.data] = true;
    found.push_back(parts);
  }
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const bool alone = formats[i] != Format::none && formats[i] != Format::brainvision &&
                       formats[i] != Format::brainvision_markers;
    if (alone && !taken[i]) found.push_back({formats[i], i, {}, {}, {}});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.main < b.main; });
  return found;
}

std::unique_ptr<Recording> open_recording(const Sample& sample, const RecordingParts& parts,
                                          const OpenOptions& options) {
  const auto& content = sample.parts[parts.main].content;
  switch (parts.format) {
    case Format::edf:
    case Format::bdf:
      return open_edf(content, options);
    case Format::npy:
      return open_npy(content, options);
    case Format::csv:
      return open_csv(content, options);
    case Format::brainvision: {
      const Content* markers = parts.markers ? sample.parts[*parts.markers].content.get() : nullptr;
      auto recording =
          open_brainvision(*content, sample.parts[parts.data.value()].content, markers, options);
      for (const std::string& warning : parts.warnings) recording->add_warning(warning);
      return recording;
    }
    default:
      fail(Code::unsupported, "{} is not read; convert it to EDF, .npy or CSV", name(parts.format));
  }
}

}  // namespace prep::signal
