// The decoders that a training loader in C++ can use, behind one interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/image/plane.h"
#include "tools/bench_pictures.h"

namespace prep {

// What came out; the pixels are the decoder's, until its next call.
struct Decoded {
  enum class Layout { rgb, bgr, luma } layout = Layout::rgb;  // luma: the first of several planes
  image::ConstPlane pixels;
};

// One a thread. Errors do not name the file.
class PictureDecoder {
 public:
  virtual ~PictureDecoder() = default;
  // throws Error.
  virtual Decoded decode(const Bytes& data) = 0;
  virtual Decoded decode_file(const std::string&);  // for kinds that read files themselves
};

struct DecoderKind {
  std::string name;          // for --decoders
  std::string title;         // for people
  bool any_format = false;   // else JPEGs only, and only plain ones
  bool reads_files = false;  // by itself, and nothing else
  std::function<std::unique_ptr<PictureDecoder>()> make;

  bool takes(const BenchPicture& picture) const { return any_format || picture.is_plain_jpeg; }
};

// rgb, scaled, planes, turbojpeg, imdecode, imread.
const std::vector<DecoderKind>& decoder_kinds();
// throws Error internal where there is none.
const DecoderKind& decoder_named(std::string_view name);

}  // namespace prep
