// prep-inspect: surveys a data set, and says, from samples tried, what preparing it would gain.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "lib/core/tool.h"
#include "tools/inspect_advice.h"
#include "tools/inspect_json.h"
#include "tools/inspect_page.h"
#include "tools/inspect_tables.h"
#include "tools/picture_options.h"
#include "tools/report_text.h"

namespace prep {
namespace {

constexpr std::uint64_t kMostSamples = 10'000'000;

std::string heading_of(Advice::Kind kind) {
  switch (kind) {
    case Advice::Kind::gain:
      return "do:    ";
    case Advice::Kind::no:
      return "don't: ";
    case Advice::Kind::note:
      break;
  }
  return "note:  ";
}

std::string text_of(const Inspection& inspection, const std::vector<Advice>& advice) {
  std::string text = "prep-inspect: " + inspection_subtitle(inspection) + "\n";
  for (const ReportTable& table : survey_tables(inspection)) text += "\n" + table_text(table);
  for (const ReportTable& table : trial_tables(inspection)) text += "\n" + table_text(table);
  text += "\n";
  for (const Advice& one : advice) {
    text += heading_of(one.kind) + one.text + "\n";
    if (!one.command.empty()) text += "         " + printable(one.command) + "\n";
  }
  for (const std::string& note : inspection_notes(inspection)) text += "(" + note + ")\n";
  return text;
}

class InspectTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {"prep-inspect",
            "Survey a data set, and say from samples tried what preparing it would gain.",
            "Looks at the header of every file, then runs the prep tools' own stages on a random\n"
            "choice of samples. Nothing is written but the reports.\n\n"
            "Examples:\n"
            "  prep-inspect photos/\n"
            "  prep-inspect 'shards/train-{000000..000099}.tar' --samples 500 --html report.html\n"
            "  prep-inspect eeg/ --json report.json\n"
            "  prep-inspect photos/ --samples 0\n\n"
            "Exit status: 0 inspected, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
            "--max-errors allows (the report is there all the same)."};
  }

  void add_options(CLI::App& app) override {
    app.add_option("--samples", options_.samples,
                   "how many samples are tried (0: look at headers only)")
        ->check(CLI::Range(std::uint64_t{0}, kMostSamples))
        ->option_text("N");
    app.add_option("--seed", options_.seed, "of the choice of samples")->option_text("N");
    app.add_option("--json", json_path_, "write everything that was found and measured as JSON")
        ->option_text("FILE");
    app.add_option("--html", html_path_, "write a report for people, in one file")
        ->option_text("FILE");
    add_picture_limits(app, options_.limits.max_pixels, options_.limits.max_scans);
  }

  std::unique_ptr<Stage> make_stage() override { return nullptr; }
  bool has_output() const override { return false; }
  bool is_other_job() const override { return true; }

  void do_other_job(const RunContext& context) override {
    if (!json_path_.empty() && json_path_ == html_path_) {
      fail(Code::usage, "--json and --html name the same file");
    }
    RunContext run = context;
    for (const std::string& path : {json_path_, html_path_}) {
      if (!path.empty()) run.source_options.excluded.push_back(path);
    }
    const Inspection inspection = inspect(run);
    const std::vector<Advice> advice = advise(inspection);
    if (!json_path_.empty()) {
      write_report(json_path_, inspection_json(inspection, advice, options_).dump(2) + "\n");
    }
    if (!html_path_.empty()) {
      write_report(html_path_, inspection_page(inspection, advice, options_));
    }
    write_fully(STDOUT_FILENO, as_bytes(text_of(inspection, advice)), "standard output");
  }

 private:
  Inspection inspect(const RunContext& run) const {
    Inspection inspection;
    for (const Spec& word : run.inputs) inspection.words.push_back(word.text);
    inspection.survey = survey(run, options_);
    const Survey& survey = *inspection.survey;
    if (survey.chosen.empty()) return inspection;
    run.reporter.say(fmt::format("looked at {} samples; trying {} of them",
                                 human_count(survey.samples), human_count(survey.chosen.size())));
    inspection.reading = try_reading(run, survey, options_);
    inspection.pictures = try_pictures(run, survey, options_);
    if (survey.recordings > 0) inspection.recordings = try_recordings(run, survey, options_);
    return inspection;
  }

  SurveyOptions options_;
  std::string json_path_, html_path_;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::InspectTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
