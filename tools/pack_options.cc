#include "tools/pack_options.h"

#include "lib/core/error.h"
#include "tools/size_option.h"

namespace prep {
namespace {

constexpr std::uint64_t kDefaultMaxSize = 1'000'000'000;

}  // namespace

void PackOptions::add_to(CLI::App& app) {
  app.add_option("--format", format, "auto (by the output's name), tar or tfrecord")
      ->check(CLI::IsMember({"auto", "tar", "tfrecord"}))
      ->option_text("FORMAT");
  auto* by_shards = app.add_option("--shards", shards, "so many shards (of each split)")
                        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}))
                        ->option_text("N");
  auto* by_size = app.add_option("--max-size", max_size, "no shard larger than this (default 1G)")
                      ->option_text("SIZE");
  auto* by_count = app.add_option("--max-count", max_count, "no shard of more samples than this")
                       ->check(CLI::PositiveNumber)
                       ->option_text("N");
  by_shards->excludes(by_size)->excludes(by_count);
  app.add_option("--shuffle", shuffle, "one random order of all samples, by a hash of their keys")
      ->option_text("SEED");
  app.add_option("--shuffle-buffer", shuffle_buffer,
                 "shuffle a stream, as far as N samples in memory can")
      ->option_text("N");
  app.add_option("--equal", equal,
                 "make all shards equally long: drop what is too much, or pad by repeating")
      ->check(CLI::IsMember({"no", "drop", "pad"}))
      ->option_text("HOW");
  app.add_option("--split", split, "shares of the samples: train=0.9,val=0.1")
      ->option_text("NAME=SHARE,...");
  app.add_flag("--stratify", stratify, "split each class by itself");
  app.add_option("--labels", labels, "'dir': classes are the first directories; or a table")
      ->option_text("dir|FILE");
  app.add_option("--classes", classes, "names of the classes in order, one a line")
      ->option_text("FILE");
  app.add_option("--parts", parts, "take these parts only, in this order")
      ->delimiter(',')
      ->option_text("PART,...");
  app.add_option("--rename", renames, "rename parts: jpeg=jpg")
      ->delimiter(',')
      ->option_text("OLD=NEW,...");
  app.add_flag("--regroup", regroup, "join samples whose parts stand apart in a tar");
  app.add_option("--index", indexes, "also write indexes: dali, wids, energon, tfrecord")
      ->delimiter(',')
      ->option_text("KIND,...");
  app.add_option("--compress", compress, "auto (by the output's name), none, gzip or zstd")
      ->check(CLI::IsMember({"auto", "none", "gzip", "zstd"}))
      ->option_text("HOW");
  app.add_option("--types", types, "types of parts in a TFRecord: cls=int64,bbox=float,x=bytes")
      ->delimiter(',')
      ->option_text("PART=TYPE,...");
  app.add_option("--path-columns", path_columns, "a table's columns of paths, by name or number")
      ->delimiter(',')
      ->option_text("COLUMN,...");
  app.add_option("--label-column", label_column, "a table's column of labels")
      ->option_text("COLUMN");
  app.add_option("--header", header, "whether a table's first row holds names: auto, yes or no")
      ->check(CLI::IsMember({"auto", "yes", "no"}))
      ->option_text("WHEN");
  app.add_flag("--merge", merge, "INPUT is a directory of shards: join its tasks' manifests");
}

std::uint64_t PackOptions::largest_shard() const {
  if (!max_size.empty()) return parse_size("--max-size", max_size);
  return shards > 0 || max_count > 0 ? 0 : kDefaultMaxSize;
}

TableOptions PackOptions::table() const {
  TableOptions table;
  table.path_columns = path_columns;
  table.label_column = label_column;
  table.header = header == "yes"  ? TableOptions::Header::yes
                 : header == "no" ? TableOptions::Header::no
                                  : TableOptions::Header::automatic;
  return table;
}

std::vector<PartType> PackOptions::part_types() const {
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : ",") + type;
  return text.empty() ? std::vector<PartType>() : parse_part_types(text);
}

PlanOptions PackOptions::plan() const {
  PlanOptions plan;
  plan.shuffle_seed = shuffle;
  if (!split.empty()) plan.splits = parse_splits(split);
  plan.stratify = stratify;
  plan.shards = shards;
  plan.max_count = max_count;
  plan.max_size = largest_shard();
  plan.equal = equal == "drop"  ? PlanOptions::Equal::drop
               : equal == "pad" ? PlanOptions::Equal::pad
                                : PlanOptions::Equal::no;
  return plan;
}

bool PackOptions::is_about_shards() const {
  return shards > 0 || max_count > 0 || !max_size.empty() || equal != "no" || !split.empty() ||
         !indexes.empty();
}

}  // namespace prep
