#include "lib/image/jpeg_metadata.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pictures.h"

namespace prep::image::jpeg_metadata_test {
namespace {

using test::Buffer;

Buffer segment(int marker, const std::string& payload) {
  const std::size_t length = payload.size() + 2;
  Buffer out(4 + payload.size());
  out[0] = 0xFF;
  out[1] = static_cast<std::uint8_t>(marker);
  out[2] = static_cast<std::uint8_t>(length >> 8);
  out[3] = static_cast<std::uint8_t>(length);
  std::copy(payload.begin(), payload.end(), out.begin() + 4);
  return out;
}

// A picture with these segments right behind SOI, before its own JFIF segment, which may be cut.
Buffer file(const std::vector<Buffer>& segments, bool jfif = true, const Buffer& trailing = {}) {
  const Buffer plain = test::make_jpeg(test::solid(8, 8, {90}), {});
  Buffer out(plain.begin(), plain.begin() + 2);
  for (const Buffer& s : segments) test::append(out, s);
  out.insert(out.end(), plain.begin() + (jfif ? 2 : 20), plain.end());
  test::append(out, trailing);
  return out;
}

// What a file's header says; the segments in it are views of the file.
struct Read {
  explicit Read(const Buffer& buffer) : data(test::bytes(buffer)), info(read_jpeg_info(data, 9)) {}
  KeptMetadata essential() const { return essential_metadata(info, data.size()); }
  KeptMetadata all() const { return all_metadata(info, data.size()); }
  Bytes data;
  JpegInfo info;
};

const std::string kJfif("JFIF\0\1\2\1\0\x48\0\x49", 12);

TEST_CASE("A JFIF segment is kept without its thumbnail, with its density") {
  const Buffer with_thumbnail =
      segment(0xE0, kJfif + std::string("\1\1", 2) + std::string(3, '\x55'));
  const KeptMetadata kept = Read(file({with_thumbnail}, false)).essential();
  CHECK(kept.segments == segment(0xE0, std::string("JFIF\0\1\1\1\0\x48\0\x49\0\0", 14)));
  CHECK(kept.dropped == 3);
}

TEST_CASE("A JFIF version that doesn't exist is set right") {
  const Buffer odd = segment(0xE0, std::string("JFIF\0\7\2\1\0\x48\0\x49\0\0", 14));
  const Buffer right = segment(0xE0, std::string("JFIF\0\1\2\1\0\x48\0\x49\0\0", 14));
  CHECK(Read(file({odd}, false)).all().segments == right);
}

TEST_CASE("A plain JFIF segment is added where there is none") {
  const Buffer plain = segment(0xE0, std::string("JFIF\0\1\1\0\0\1\0\1\0\0", 14));
  CHECK(Read(file({}, false)).essential().segments == plain);
  Buffer with_comment = plain;
  const Buffer comment = segment(0xFE, "hello");
  test::append(with_comment, comment);
  CHECK(Read(file({comment}, false)).all().segments == with_comment);
}

TEST_CASE("Only what changes the picture's look is essential") {
  const Buffer turned = test::exif_with(6), upright = test::exif_with(1);
  const auto exif_segment = [](const Buffer& exif) {
    return segment(0xE1, std::string("Exif\0\0", 6) + std::string(exif.begin(), exif.end()) +
                             std::string(100, 'x'));
  };
  const Buffer icc = segment(0xE2, std::string("ICC_PROFILE\0\1\1", 14) + "profile");
  const Buffer xmp = segment(0xE1, "http://ns.adobe.com/xap/1.0/");
  const Buffer comment = segment(0xFE, "hello");
  const Read rich(file({exif_segment(turned), xmp, icc, comment}, true, Buffer(11, 7)));
  const KeptMetadata kept = rich.essential();
  // JFIF, an EXIF block of 26 bytes, ICC.
  CHECK(kept.segments.size() == 18 + 4 + 6 + 26 + icc.size());
  CHECK(std::search(kept.segments.begin(), kept.segments.end(), icc.begin(), icc.end()) !=
        kept.segments.end());
  const std::size_t exif_size = exif_segment(turned).size();
  CHECK(kept.dropped == exif_size - 36 + xmp.size() + comment.size() + 11);

  const Read plain(file({exif_segment(upright)}));
  CHECK(plain.essential().segments.size() == 18);
}

TEST_CASE("All segments are kept in their order, trailing data are not") {
  const Buffer first = segment(0xED, "one"), second = segment(0xE1, "two");
  const Read read(file({first, second}, true, Buffer(5, 1)));
  const KeptMetadata kept = read.all();
  Buffer expected = first;
  test::append(expected, second);
  CHECK(Buffer(kept.segments.begin(),
               kept.segments.begin() + static_cast<std::ptrdiff_t>(expected.size())) == expected);
  CHECK(kept.segments.size() == expected.size() + 18);
  CHECK(kept.dropped == 5);
}

TEST_CASE("Pieces of a profile that do not fit together go") {
  const Read read(file({segment(0xE2, std::string("ICC_PROFILE\0\1\2", 14) + "half")}));
  CHECK(read.essential().segments.size() == 18);
}

}  // namespace
}  // namespace prep::image::jpeg_metadata_test
