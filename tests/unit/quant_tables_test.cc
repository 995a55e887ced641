#include "lib/image/quant_tables.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

// jpeglib.h needs FILE.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace prep::image::quant_tables_test {
namespace {

TEST_CASE("Standard tables are libjpeg's at every quality") {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  cinfo.in_color_space = JCS_RGB;
  cinfo.input_components = 3;
  jpeg_set_defaults(&cinfo);
  for (const bool baseline : {true, false}) {
    for (int quality = 1; quality <= 100; ++quality) {
      jpeg_set_quality(&cinfo, quality, baseline ? TRUE : FALSE);
      const int largest = baseline ? 255 : 32767;
      for (const int number : {0, 1}) {
        const QuantTable table = standard_quant_table(
            number == 0 ? StandardTable::luma : StandardTable::chroma, quality, largest);
        CHECK(std::equal(table.begin(), table.end(), cinfo.quant_tbl_ptrs[number]->quantval));
      }
    }
  }
  jpeg_destroy_compress(&cinfo);
}

TEST_CASE("The zigzag visits every coefficient once, along the diagonals") {
  CHECK(std::set<int>(kZigzag.begin(), kZigzag.end()).size() == 64);
  for (std::size_t i = 1; i < 64; ++i) {
    const int diagonal = kZigzag[i] / 8 + kZigzag[i] % 8;
    const int before = kZigzag[i - 1] / 8 + kZigzag[i - 1] % 8;
    CHECK((diagonal == before || diagonal == before + 1));
  }
}

}  // namespace
}  // namespace prep::image::quant_tables_test
