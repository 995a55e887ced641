// What the stages of the tools that treat pictures have in common: which parts are pictures, what
// is only named like one, and whose file an error is about.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lib/core/stream.h"
#include "lib/image/format.h"

namespace prep {

class PictureStage : public Stage {
 public:
  void apply(Sample& sample, Notes& notes) const final;

 protected:
  // Treats a picture in one of the formats that takes() accepts; called from many threads. Errors
  // that it throws need not name the file. A skip reason in `notes` ends the sample.
  virtual void treat(Part& part, std::string_view key, ByteView head, Notes& notes) const = 0;
  virtual bool takes(image::Format format) const = 0;
  // Whether a part must be a picture, whatever its name; else the name's extension says.
  virtual bool must_be_picture(const Part&) const { return false; }

 private:
  void visit(Part& part, std::string_view key, Notes& notes) const;
};

// "seg.png" → {"seg.", "png"}; "jpg" → {"", "jpg"}.
std::pair<std::string_view, std::string_view> split_extension(std::string_view part);

// Whether a part's extension is a picture's that these tools know.
bool is_picture_name(std::string_view part);

// The name of a part that now holds `format`: its extension is replaced where it is another
// format's, added where there is none; a name of the user's own ("input") stays.
std::string name_for_format(std::string_view part, image::Format format);

}  // namespace prep
