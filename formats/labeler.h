// Gives samples a label: the part "cls", a class's index as decimal text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/class_names.h"
#include "lib/core/sample.h"

namespace prep {

// Where the name of a sample's class comes from: its first directory, a table, or a "cls" that came
// with it out of a table. In two steps, since an index is known only when all classes are:
// look_up() for every sample, finish(), and then add_to() for every sample.
//
// With a list of classes, an index is a name's place in it, and a name that is a number but not in
// the list stands for itself. Without, indexes follow the bytewise order of the names; but where
// all names are whole numbers, and no directories, each stands for itself.
class Labeler {
 public:
  enum class From { parts, directories, table };

  Labeler(From from, std::optional<Labels> labels, std::optional<ClassNames> classes);

  // Whether every sample will have a "cls" that was not there before.
  bool provides_labels() const { return from_ != From::parts; }
  // Whether add_to() may be called right after look_up(), without finish().
  bool knows_indexes() const { return classes_.has_value(); }
  // Also reads labels that are files of their own ("x.cls"), for what is to be divided by class.
  void read_parts() { read_parts_ = true; }

  // A number for the sample's class, 0 for none; a "cls" out of a table is taken away.
  // throws Error: the sample has no label, two, or one that is not in the list of classes; usage
  // for one that has no number (after finish()).
  std::uint32_t look_up(Sample& sample);
  // All classes are known. Where nobody could look up samples before, each class that is met later
  // must be in the list of classes, or a number.
  // throws Error usage for a class whose name cannot stand in a list (a line break).
  void finish();
  // The text of the part that add_to() adds; "" if it adds none.
  std::string text(std::uint32_t label) const;
  // Adds the part, if the label is one that look_up() took away or found.
  void add_to(Sample& sample, std::uint32_t label) const;

  // By index; empty where only numbers are known.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  struct Class {
    std::string name;
    std::int64_t index = 0;
    bool is_part = false;  // read from a part, which stays where it is
  };

  std::optional<std::string> name_of(Sample& sample, bool* is_part);
  std::uint32_t number_of(std::string_view name, bool is_part, const Sample& sample);

  const From from_;
  const std::optional<Labels> labels_;
  const std::optional<ClassNames> classes_;
  bool read_parts_ = false, finished_ = false;
  std::vector<Class> found_;  // label - 1
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> class_names_;
};

}  // namespace prep
