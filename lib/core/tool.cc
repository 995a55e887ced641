#include "lib/core/tool.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <typeinfo>

#include "lib/core/completion.h"
#include "lib/core/interrupt.h"
#include "lib/core/man_page.h"
#include "lib/core/tool_help.h"
#include "lib/core/version.h"

namespace prep {
namespace {

constexpr int kExitFailed = 1, kExitUsage = 2, kExitBadSamples = 3;
constexpr const char* kToolGroup = "Options";
constexpr const char* kCommonGroup = "Common options";
constexpr const char* kOutOfMemory = "out of memory";

// The exit code, once everything has been written and reported.
std::optional<int> g_decided;

struct CommonOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::optional<int> jobs;
  std::string task = "0/1";
  std::string max_errors = "0";
  std::string errors_path, report_path;
  std::string progress = "auto";
  bool quiet = false, verbose = false, dry_run = false, force = false;
};

void add_common_options(CLI::App& app, CommonOptions& o, bool has_output) {
  app.option_defaults()->group(kCommonGroup);
  app.add_option("INPUT", o.inputs, "directories, tars, shards, @lists, files, or - (a tar stream)")
      ->required()
      ->option_text("...");
  // -q belongs to the quality where a tool has one.
  const char* quiet = app.get_option_no_throw("-q") ? "--quiet" : "-q,--quiet";
  if (has_output) {
    app.add_option("-o,--output", o.output,
                   "a directory, x.tar, x.tar.gz, x.tar.zst, or - (a tar stream)")
        ->option_text("OUTPUT");
    app.add_flag("-n,--dry-run", o.dry_run, "do everything but write");
    app.add_flag("-f,--force", o.force,
                 "redo what is up to date; write into a directory with other files");
  }
  // A tool that measures may want to be told several numbers of threads.
  if (!app.get_option_no_throw("-j")) {
    app.add_option("-j,--jobs", o.jobs, "threads (default: the CPUs, or what make lends)")
        ->check(CLI::Range(1, 4096))
        ->option_text("N");
  }
  app.add_option("--task", o.task, "do share I (from 0) of N, by a hash of the key")
      ->option_text("I/N");
  app.add_option("--max-errors", o.max_errors, "how many bad samples are tolerated, N or N%")
      ->option_text("N");
  app.add_option("--errors", o.errors_path, "write a JSON line for each bad sample")
      ->option_text("FILE");
  app.add_option("--report", o.report_path, "write the summary as JSON")->option_text("FILE");
  app.add_option("--progress", o.progress, "auto (on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("WHEN");
  app.add_flag(quiet, o.quiet, "errors only");
  app.add_flag("-v,--verbose", o.verbose, "every warning");
}

// What the build asks for, to install it: not shown in --help.
void add_generator(CLI::App& app) {
  app.add_option_function<std::string>(
         "--generate",
         [&app](const std::string& what) {
           const ToolHelp help = describe_tool(app, kVersion);
           // CLI11 ends a help or version text, and adds the end of its last line.
           const auto print = [](std::string text) {
             text.pop_back();
             throw CLI::CallForVersion(text, 0);
           };
           if (what == "man") print(man_page(help));
           if (what == "bash") print(bash_completion(help));
           if (what == "zsh") print(zsh_completion(help));
           fail(Code::usage, "--generate {}: there are man, bash and zsh", printable(what));
         })
      ->trigger_on_parse()
      ->group("");
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(describe_tool(*app, kVersion));
  }
};

Task parse_task(const std::string& text) {
  Task task;
  char extra = 0;
  unsigned long long index = 0, count = 0;
  if (std::sscanf(text.c_str(), "%llu/%llu%c", &index, &count, &extra) != 2 || index >= count ||
      text.find('-') != std::string::npos) {
    fail(Code::usage, "--task {}: give I/N with 0 <= I < N", printable(text));
  }
  task.index = index;
  task.count = count;
  return task;
}

// An input by its real path, so that it is known again under another name, and another one of the
// same name is not.
std::string canonical_input(const std::string& word) {
  const Spec spec = parse_spec(word);
  const std::unique_ptr<char, void (*)(void*)> real(realpath(spec.path.c_str(), nullptr),
                                                    std::free);
  return json_text(real ? real.get() : word);
}

// The inputs, and every option of the tool itself with its value, given or default: what decides
// the output.
std::string settings_of(const CLI::App& app, const ToolInfo& info, const CommonOptions& common) {
  nlohmann::json settings{{"tool", info.name}, {"version", kVersion}};
  for (const std::string& word : common.inputs) settings["inputs"].push_back(canonical_input(word));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != kToolGroup || option->get_positional()) continue;
    const std::string name = option->get_name();
    if (name == "--help" || name == "--version") continue;
    std::vector<std::string> values = option->results();
    if (option->count() == 0) values = {option->get_default_str()};
    settings[name] = values;
  }
  return settings.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Descriptors 0 to 2 that were closed would be given to the next file that is opened, and messages
// or data would go into it. Each gets one that fails when it is used, as gnulib's stdopen does.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (opened != fd) std::abort();
  }
}

// Buffers of a sample's size come and go all the time. By default, malloc gives those over 128 KiB
// back to the kernel each time, which then has to clear the same pages again.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

class Run {
 public:
  Run(Tool& tool, const Containers& containers, const CLI::App& app, const CommonOptions& common)
      : tool_(tool),
        containers_(containers),
        info_(tool.info()),
        common_(common),
        settings_(settings_of(app, info_, common)),
        task_(parse_task(common.task)),
        budget_(ErrorBudget::parse(common.max_errors)),
        reporter_(reporter_options()) {}

  int execute() {
    int exit_code = 0;
    try {
      if (!common_.errors_path.empty() && common_.errors_path == common_.report_path) {
        fail(Code::usage, "--errors and --report name the same file");
      }
      const auto slots = open_slots();
      const RunContext context = make_context(*slots);
      if (tool_.is_other_job()) {
        tool_.do_other_job(context);
        exit_code = judge();
      } else {
        process(context);
        exit_code = finish();
      }
    } catch (const Error& error) {
      reporter_.error(error.what());
      exit_code = error.code() == Code::usage ? kExitUsage : kExitFailed;
      sink_.reset();
      say_failed();
    } catch (const std::bad_alloc&) {
      // First of all: with what the output held, there may be enough again.
      sink_.reset();
      reporter_.error(kOutOfMemory);
      exit_code = kExitFailed;
      say_failed();
    } catch (const std::exception& error) {
      reporter_.error(error.what());
      exit_code = kExitFailed;
      sink_.reset();
      say_failed();
    }
    g_decided = write_reports(exit_code);
    return *g_decided;
  }

 private:
  Reporter::Options reporter_options() const {
    const bool show = common_.progress == "always" ||
                      (common_.progress == "auto" && isatty(STDERR_FILENO) && !common_.quiet);
    const Verbosity verbosity = common_.quiet     ? Verbosity::quiet
                                : common_.verbose ? Verbosity::verbose
                                                  : Verbosity::normal;
    return {info_.name, verbosity, show, common_.errors_path};
  }

  std::unique_ptr<JobSlots> open_slots() {
    std::string warning;
    auto slots = make_job_slots(common_.jobs, std::getenv("MAKEFLAGS"), &warning);
    if (!warning.empty()) reporter_.warn(warning);
    return slots;
  }

  void process(const RunContext& context) {
    stage_ = tool_.make_stage();
    sink_ = tool_.make_sink(context);
    source_ = tool_.make_source(context);
    reporter_.expect(source_->expected_samples(), source_->expected_bytes());
    PipelineOptions options;
    if (tool_.shares_by_key()) options.task = task_;
    options.dry_run = common_.dry_run;
    run_pipeline(*source_, *stage_, *sink_, context.slots, options, [&](const Outcome& outcome) {
      reporter_.consumed(source_->consumed_bytes());
      reporter_.add(outcome);
    });
  }

  RunContext make_context(JobSlots& slots) {
    RunContext context{containers_, {}, {}, {}, {}, slots, reporter_, budget_};
    for (const std::string& word : common_.inputs) context.inputs.push_back(parse_spec(word));
    // A dry run still asks the output what is up to date, so it is opened, but never written.
    context.sink_options = {info_.name,
                            settings_,
                            task_,
                            common_.force,
                            common_.dry_run,
                            context.inputs,
                            tool_.image_describer(),
                            [this] { return reporter_.summary().failed; }};
    if (!tool_.has_output() || tool_.is_other_job()) return context;
    if (common_.output.empty()) {
      fail(Code::usage, "{}",
           common_.inputs.size() > 1 ? fmt::format("there is no output; did you mean -o {}?",
                                                   printable(common_.inputs.back()))
                                     : "--output is required");
    }
    context.output = parse_spec(common_.output);
    for (const std::string& path :
         {context.output.path, common_.errors_path, common_.report_path}) {
      if (!path.empty()) context.source_options.excluded.push_back(path);
    }
    return context;
  }

  // All samples went through: makes the output final, or not.
  int finish() {
    Summary& summary = reporter_.summary();
    summary.left_out = source_->left_out();
    summary.tables = stage_->tables();
    if (summary.read == 0 && task_.count == 1) fail(Code::empty, "{}", no_samples());
    const bool good = is_within_budget();
    if (!common_.dry_run) good ? sink_->commit() : sink_->abandon();
    for (const auto& [kind, count] : sink_->warnings()) {
      summary.warnings[kind] += count;
      reporter_.warn(fmt::format("{} {}", human_count(count), kind));
    }
    if (tool_.has_output()) reporter_.say(summary_text(summary, reporter_.seconds()));
    return judge();
  }

  bool is_within_budget() {
    const Summary& summary = reporter_.summary();
    return budget_.allows(summary.failed, summary.read);
  }

  // Whether there were too many bad samples, as an exit code.
  int judge() {
    if (is_within_budget()) return 0;
    const std::uint64_t failed = reporter_.summary().failed;
    reporter_.error(fmt::format("{} bad {}{}, more than --max-errors {} allows{}",
                                human_count(failed), info_.unit, failed == 1 ? "" : "s",
                                common_.max_errors, what_is_left()));
    return kExitBadSamples;
  }

  // What an abandoned output is worth.
  std::string what_is_left() const {
    if (!tool_.has_output() || common_.dry_run || !sink_) return "";
    if (sink_->concurrent()) return "; the good ones are there, and a rerun goes on from them";
    return "; the output is not made";
  }

  std::string no_samples() const {
    std::string text = "there are no samples in";
    for (const std::string& input : common_.inputs) text += " " + printable(input);
    for (const auto& [reason, count] : source_->left_out()) {
      text += fmt::format(" ({} {} left out)", human_count(count), reason);
    }
    return text;
  }

  void say_failed() {
    const Summary& summary = reporter_.summary();
    if (summary.read == 0 || !tool_.has_output()) return;
    reporter_.say(fmt::format("ended early, the output is not complete\n{}",
                              summary_text(summary, reporter_.seconds())));
  }

  int write_reports(int exit_code) {
    try {
      reporter_.close();
      if (!common_.report_path.empty()) write_report(exit_code);
      return exit_code;
    } catch (const Error& error) {
      reporter_.error(error.what());
    } catch (const std::bad_alloc&) {
      reporter_.error(kOutOfMemory);
    }
    // One that is there tells of an earlier run, or of another exit code.
    if (!common_.report_path.empty()) unlink(common_.report_path.c_str());
    return exit_code ? exit_code : kExitFailed;
  }

  std::string report_text(int exit_code) {
    nlohmann::json report = summary_json(reporter_.summary(), reporter_.seconds());
    report["tool"] = info_.name;
    report["version"] = kVersion;
    report["settings"] = nlohmann::json::parse(settings_);
    report["task"] = {{"index", task_.index}, {"count", task_.count}};
    report["exit_code"] = interrupt_signal() ? 128 + interrupt_signal() : exit_code;
    return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  void write_report(int exit_code) {
    const std::string text = report_text(exit_code);
    AtomicFile file(common_.report_path, locked_temporary(common_.report_path),
                    AtomicFile::Sharing::locked);
    file.write(as_bytes(text));
    file.commit();
  }

  Tool& tool_;
  const Containers& containers_;
  const ToolInfo info_;
  const CommonOptions& common_;
  const std::string settings_;
  const Task task_;
  const ErrorBudget budget_;
  Reporter reporter_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Source> source_;
};

// After cleaning up, dies by the signal itself, so that a shell or make sees what happened.
[[noreturn]] void die_by_signal(int number) {
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  _exit(128 + number);
}

// Before there is a run that could report it.
int report_error(const ToolInfo& info, int exit_code, std::string_view message) {
  std::string text = fmt::format("{}: error: {}\n", info.name, message);
  if (exit_code == kExitUsage) text += fmt::format("{}: see {} --help\n", info.name, info.name);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return exit_code;
}

}  // namespace

std::unique_ptr<Sink> Tool::make_sink(const RunContext& run) {
  return run.containers.open_sink(run.output, run.sink_options);
}

std::unique_ptr<Source> Tool::make_source(const RunContext& run) {
  return run.containers.open_source(run.inputs, run.source_options);
}

namespace {

int parse_and_run(Tool& tool, const Containers& containers, int argc, char** argv) {
  const ToolInfo info = tool.info();
  CLI::App app(info.summary, info.name);
  app.set_help_flag("-h,--help", "print this text");
  app.set_version_flag("--version", fmt::format("{} (preptools) {}", info.name, kVersion),
                       "print the version");
  app.option_defaults()->always_capture_default()->group(kToolGroup);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(info.description);
  CommonOptions common;
  int exit_code = 0;
  try {
    tool.add_options(app);
    add_common_options(app, common, tool.has_output());
    add_generator(app);
    app.parse(argc, argv);
    exit_code = Run(tool, containers, app, common).execute();
  } catch (const CLI::Success& success) {  // --help, --version
    exit_code = app.exit(success);
    if (std::fflush(stdout) != 0) exit_code = kExitFailed;
  } catch (const CLI::Error& error) {
    exit_code = report_error(info, kExitUsage, error.what());
  } catch (const Error& error) {
    const bool usage = error.code() == Code::usage;
    exit_code = report_error(info, usage ? kExitUsage : kExitFailed, error.what());
  }
  return exit_code;
}

// When there was not even memory for a message: this one needs none.
void say_out_of_memory() {
  char text[128];
  const int size = std::snprintf(text, sizeof text, "%.100s: error: %s\n",
                                 program_invocation_short_name, kOutOfMemory);
  // Nothing can be done about a failure here.
  [[maybe_unused]] const auto n = write(STDERR_FILENO, text, static_cast<std::size_t>(size));
}

std::terminate_handler g_terminate;

// Not every lack of memory can be unwound: the destructor of nlohmann::json asks for some, too.
[[noreturn]] void handle_terminate() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type && *type == typeid(std::bad_alloc)) {
    if (g_decided) end_at_once(*g_decided);  // only memory was still to be given back
    say_out_of_memory();
    end_at_once(kExitFailed);
  }
  g_terminate();
  std::abort();
}

}  // namespace

int run_tool(Tool& tool, const Containers& containers, int argc, char** argv) {
  open_standard_streams();
  keep_freed_memory();
  install_signal_handlers();
  g_terminate = std::set_terminate(handle_terminate);
  // What prints for people or filters dies quietly when its reader has seen enough (`| head`).
  if (!tool.has_output()) signal(SIGPIPE, SIG_DFL);
  int exit_code = kExitFailed;
  try {
    exit_code = parse_and_run(tool, containers, argc, argv);
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
  }
  if (const int number = interrupt_signal()) die_by_signal(number);
  return exit_code;
}

}  // namespace prep
