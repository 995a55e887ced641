// prep-stage: objects of S3 and HTTP servers to a local disk: a mirror, or a cache.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "lib/core/tool.h"
#include "tools/size_option.h"
#include "tools/stage_admin.h"
#include "tools/stage_fetch.h"
#include "tools/stage_options.h"
#include "tools/stage_sync.h"

namespace prep {
namespace {

class StageTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-stage", "Bring data from S3 to a local disk, once, through a cache.",
        "Commands, the first INPUT:\n"
        "  sync s3://BUCKET/PREFIX/ DIR   make DIR a mirror of what is below the prefix\n"
        "  get URL...                     fetch into the cache, print the local paths\n"
        "  cat URL...                     fetch into the cache, and write to standard output\n"
        "  warm URL... | @LIST            fetch ahead of a loader\n"
        "  ls, status, verify [URL...]    what is in the cache\n"
        "  pin, unpin URL...              what must stay in it\n"
        "  evict SIZE | URL...            what is to go;  clear: all of it\n"
        "URLs are s3://BUCKET/KEY, or http(s):// of a server that serves ranges; {000..099} and\n"
        "{a,b} are expanded. Credentials, region and endpoint are found as AWS's own tools do.\n\n"
        "Examples:\n"
        "  prep-stage sync s3://bucket/imagenet/ /ssd/imagenet\n"
        "  prep-stage warm 's3://bucket/train-{000000..000099}.tar' --cache /ssd/cache\n"
        "  prep-stage cat s3://bucket/train-000000.tar --cache /ssd/cache | prep-ls -\n"
        "  prep-stage status --cache /ssd/cache\n"
        "In WebDataset: \"pipe:prep-stage cat s3://bucket/train-{000000..000099}.tar\"\n\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage, 3 more objects failed than\n"
        "--max-errors allows.",
        "object"};
  }

  void add_options(CLI::App& app) override { options_.add_to(app); }
  bool has_output() const override { return false; }
  bool shares_by_key() const override { return false; }
  bool is_other_job() const override { return true; }
  std::unique_ptr<Stage> make_stage() override { return nullptr; }

  void do_other_job(const RunContext& run) override {
    const std::string command = run.inputs[0].text;
    const std::vector<Spec> rest(run.inputs.begin() + 1, run.inputs.end());
    if (command == "sync") {
      sync(rest, run);
    } else if (command == "get" || command == "cat" || command == "warm") {
      fetch(command, rest, run);
    } else {
      administer(command, rest, run);
    }
  }

 private:
  void sync(const std::vector<Spec>& words, const RunContext& run) {
    if (words.size() != 2) fail(Code::usage, "sync: give s3://BUCKET/PREFIX/ and a directory");
    sync_mirror(parse_object_url(words[0].text), words[1].path, options_, run.slots.limit(),
                run.reporter);
    run.reporter.say(summary_text(run.reporter.summary(), run.reporter.seconds()));
  }

  void fetch(const std::string& command, const std::vector<Spec>& words, const RunContext& run) {
    const std::vector<ObjectUrl> urls = objects_named(words);
    CachedObjects objects(options_, run.slots.limit());
    if (command == "get") {
      get_objects(urls, objects, run.reporter);
    } else if (command == "cat") {
      cat_objects(urls, objects, run.reporter);
    } else {
      warm_objects(urls, objects, options_.pin, run.reporter);
      run.reporter.say(summary_text(run.reporter.summary(), run.reporter.seconds()));
    }
  }

  void administer(const std::string& command, const std::vector<Spec>& specs,
                  const RunContext& run) {
    std::vector<std::string> words;
    for (const Spec& spec : specs) words.push_back(spec.text);
    static const std::vector<std::string> kCommands{"ls",    "status", "verify", "pin",
                                                    "unpin", "evict",  "clear"};
    if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) {
      fail(Code::usage, "there is no command '{}'; see --help", printable(command));
    }
    Cache cache(options_.cache_options());
    if (command == "ls") return list_cache(cache, words);
    if (command == "status") return show_cache_status(cache);
    if (command == "verify") {
      verify_cache(cache, words, run.reporter);
    } else if (command == "pin" || command == "unpin") {
      pin_cached(cache, words, command == "pin", run.reporter);
    } else if (command == "evict") {
      const bool is_size = words.size() == 1 && words[0].find("://") == std::string::npos;
      evict_cached(cache, is_size ? std::optional(parse_size("evict", words[0])) : std::nullopt,
                   words, run.reporter);
      if (is_size) return;
    } else {
      clear_cache(cache, run.reporter);
    }
    run.reporter.say(summary_text(run.reporter.summary(), run.reporter.seconds()));
  }

  StageOptions options_;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::StageTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
