#include "lib/core/report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace prep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);
// Warnings of one kind that are shown one by one unless -v asks for all.
constexpr std::uint64_t kShownWarnings = 5;
constexpr std::size_t kErrorBuffer = 1 << 16;

std::string error_line(const Outcome& outcome) {
  const nlohmann::ordered_json line{{"key", json_text(outcome.key)},
                                    {"origin", json_text(outcome.origin)},
                                    {"code", code_name(outcome.code)},
                                    {"message", outcome.message}};
  return line.dump() + "\n";
}

std::string tally_text(const Tally& tally) {
  std::string text;
  for (const auto& [reason, count] : tally) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", human_count(count), reason);
  }
  return text;
}

// "85-89: 3, 90-94: 12"
std::string table_text(const Tally& tally) {
  std::string text;
  for (const auto& [row, count] : tally) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", row, human_count(count));
  }
  return text;
}

}  // namespace

// --- numbers
// --------------------------------------------------------------------------------------

ErrorBudget ErrorBudget::parse(std::string_view text) {
  ErrorBudget budget;
  budget.is_percent = text.ends_with('%');
  const std::string_view number = text.substr(0, text.size() - budget.is_percent);
  const char* end = number.data() + number.size();
  const auto result = budget.is_percent ? std::from_chars(number.data(), end, budget.percent)
                                        : std::from_chars(number.data(), end, budget.count);
  const bool in_range = !budget.is_percent || (budget.percent >= 0 && budget.percent <= 100);
  if (result.ec != std::errc() || result.ptr != end || !in_range) {
    fail(Code::usage, "'{}' is neither a number nor a percentage", printable(text));
  }
  return budget;
}

bool ErrorBudget::allows(std::uint64_t failed, std::uint64_t read) const {
  if (!is_percent) return failed <= count;
  return static_cast<double>(failed) * 100 <= percent * static_cast<double>(read);
}

void Summary::add(const Outcome& outcome) {
  ++read;
  bytes_in += outcome.bytes_in;
  bytes_out += outcome.bytes_out;
  switch (outcome.kind) {
    case Outcome::Kind::written:
      ++written;
      break;
    case Outcome::Kind::skipped:
      ++skipped;
      ++skipped_by_reason[outcome.message];
      break;
    case Outcome::Kind::failed:
      ++failed;
      ++failed_by_code[std::string(code_name(outcome.code))];
      break;
  }
  if (outcome.kind == Outcome::Kind::failed) return;
  for (const std::string& note : outcome.notes.counts) ++notes[note];
  for (const std::string& warning : outcome.notes.warnings) ++warnings[warning];
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", value, value < 99.5 ? 1 : 0, kUnits[unit]);
}

std::string human_count(std::uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string summary_text(const Summary& s, double seconds) {
  std::string text =
      fmt::format("{} read = {} written + {} skipped + {} failed\n", human_count(s.read),
                  human_count(s.written), human_count(s.skipped), human_count(s.failed));
  if (!s.skipped_by_reason.empty()) {
    text += fmt::format("skipped: {}\n", tally_text(s.skipped_by_reason));
  }
  if (!s.failed_by_code.empty()) text += fmt::format("failed: {}\n", tally_text(s.failed_by_code));
  if (!s.notes.empty()) text += fmt::format("of these: {}\n", tally_text(s.notes));
  if (!s.warnings.empty()) text += fmt::format("warnings: {}\n", tally_text(s.warnings));
  if (!s.left_out.empty()) text += fmt::format("left out: {}\n", tally_text(s.left_out));
  for (const auto& [title, tally] : s.tables) {
    text += fmt::format("{}: {}\n", title, table_text(tally));
  }
  text += fmt::format("{} in, {} out, {:.1f} s, {:.0f} samples/s", human_bytes(s.bytes_in),
                      human_bytes(s.bytes_out), seconds,
                      seconds > 0 ? static_cast<double>(s.read) / seconds : 0.0);
  return text;
}

nlohmann::json summary_json(const Summary& s, double seconds) {
  return {
      {"samples",
       {{"read", s.read}, {"written", s.written}, {"skipped", s.skipped}, {"failed", s.failed}}},
      {"bytes", {{"in", s.bytes_in}, {"out", s.bytes_out}}},
      {"skipped", s.skipped_by_reason},
      {"failed", s.failed_by_code},
      {"notes", s.notes},
      {"warnings", s.warnings},
      {"left_out", s.left_out},
      {"tables", s.tables},
      {"seconds", seconds}};
}

// --- the reporter
// ---------------------------------------------------------------------------------

Reporter::Reporter(Options options) : options_(std::move(options)), start_(Clock::now()) {
  if (!options_.errors_path.empty()) {
    errors_ = std::make_unique<AtomicFile>(
        options_.errors_path, locked_temporary(options_.errors_path), AtomicFile::Sharing::locked);
  }
}

Reporter::~Reporter() { clear_progress(); }

double Reporter::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Reporter::add(const Outcome& outcome) {
  summary_.add(outcome);
  if (outcome.kind == Outcome::Kind::failed) {
    error(outcome.message);
    if (errors_) pending_errors_ += error_line(outcome);
    if (pending_errors_.size() > kErrorBuffer) {
      errors_->write(as_bytes(pending_errors_));
      pending_errors_.clear();
    }
  } else {
    for (const std::string& kind : outcome.notes.warnings) warn_of_sample(outcome, kind);
  }
  show_progress();
}

void Reporter::warn_of_sample(const Outcome& outcome, const std::string& kind) {
  const std::uint64_t count = summary_.warnings[kind];
  if (options_.verbosity == Verbosity::verbose || count <= kShownWarnings) {
    warn(fmt::format("{}: {}", printable(outcome.origin), kind));
  } else if (count == kShownWarnings + 1) {
    warn(fmt::format("more of these are counted, not shown: {} (-v shows all)", kind));
  }
}

void Reporter::error(std::string_view message) { print("error: ", message); }

void Reporter::warn(std::string_view message) {
  if (options_.verbosity != Verbosity::quiet) print("warning: ", message);
}

void Reporter::say(std::string_view message) {
  if (options_.verbosity != Verbosity::quiet) print("", message);
}

void Reporter::print(std::string_view kind, std::string_view message) {
  clear_progress();
  std::string text;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    text += fmt::format("{}: {}{}\n", options_.tool, kind, message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Reporter::show_progress() {
  if (!options_.show_progress) return;
  const auto now = Clock::now();
  if (now - last_shown_ < kProgressInterval) return;
  last_shown_ = now;
  const double elapsed = seconds();
  const double share =
      expected_bytes_ ? static_cast<double>(consumed_bytes_) / static_cast<double>(expected_bytes_)
      : expected_samples_
          ? static_cast<double>(summary_.read) / static_cast<double>(expected_samples_)
          : 0;
  std::string line =
      fmt::format("{}: {} samples, {:.0f}/s, {} -> {}", options_.tool, human_count(summary_.read),
                  static_cast<double>(summary_.read) / std::max(elapsed, 1e-3),
                  human_bytes(summary_.bytes_in), human_bytes(summary_.bytes_out));
  if (share > 0) {
    const auto left = static_cast<std::uint64_t>(elapsed * std::max(0.0, 1 / share - 1));
    line += fmt::format(", {:.0f} %, {}:{:02}:{:02} left", std::min(share, 1.0) * 100, left / 3600,
                        left / 60 % 60, left % 60);
  }
  if (summary_.failed) line += fmt::format(", {} failed", human_count(summary_.failed));
  struct winsize window {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1) {
    line = line.substr(0, window.ws_col - 1);
  }
  const std::string text = "\r\x1b[K" + line;
  std::fwrite(text.data(), 1, text.size(), stderr);
  progress_visible_ = true;
}

void Reporter::clear_progress() {
  if (progress_visible_) std::fputs("\r\x1b[K", stderr);
  progress_visible_ = false;
}

void Reporter::close() {
  clear_progress();
  if (!errors_) return;
  errors_->write(as_bytes(pending_errors_));
  pending_errors_.clear();
  errors_->commit();
  errors_.reset();
}

}  // namespace prep
