#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/signal/npy.h"
#include "tests/unit/recordings.h"

namespace prep::signal_npy_test {

using namespace prep::signal;
using Doubles = std::vector<double>;
using std::string_literals::operator""s;

namespace {

std::string npy(const std::string& dict, const std::string& items) {
  return "\x93NUMPY\x01\x00"s + static_cast<char>(dict.size() & 0xff) +
         static_cast<char>(dict.size() >> 8) + dict + items;
}

std::string shaped(const std::string& descr, bool fortran, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

OpenOptions at_128(OpenOptions::NpyLayout layout = OpenOptions::NpyLayout::channels_time) {
  OpenOptions options;
  options.rate = 128;
  options.npy_layout = layout;
  return options;
}

std::unique_ptr<Recording> open(const std::string& bytes, const OpenOptions& options = at_128()) {
  return open_npy(in_memory(bytes), options);
}

Code code_of(const std::string& bytes, const OpenOptions& options = at_128()) {
  try {
    open(bytes, options);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

// int16: 1, 2, 3, 4, 5, 6.
const std::string kSix("\1\0\2\0\3\0\4\0\5\0\6\0", 12);

}  // namespace

TEST_CASE("both orders and both layouts") {
  const auto time_first = at_128(OpenOptions::NpyLayout::time_channels);
  CHECK(read_channel(*open(npy(shaped("<i2", false, "(2, 3)"), kSix)), 1) == Doubles{4, 5, 6});
  CHECK(read_channel(*open(npy(shaped("<i2", true, "(2, 3)"), kSix)), 1) == Doubles{2, 4, 6});
  CHECK(read_channel(*open(npy(shaped("<i2", false, "(3, 2)"), kSix), time_first), 1) ==
        Doubles{2, 4, 6});
  CHECK(read_channel(*open(npy(shaped("<i2", true, "(3, 2)"), kSix), time_first), 1) ==
        Doubles{4, 5, 6});
  CHECK(read_channel(*open(npy(shaped(">i2", false, "(1, 6)"), kSix)), 0)[1] == 512);
  const auto floats = npy(shaped("<f8", false, "(1, 1)"), "\0\0\0\0\0\0\xf8\x3f"s);
  CHECK(read_channel(*open(floats), 0) == Doubles{1.5});
}

TEST_CASE("headers as others write them") {
  CHECK(open(npy("{\"shape\": (2L, 3L), \"descr\":\"<i2\",'fortran_order':False}", kSix))
            ->info()
            .channels.size() == 2);
  for (const char* dict :
       {"", "{}", "{'descr': '<i2'}", "[1]", "{'descr': '<i2', 'shape': (2, -3)}",
        "{'descr': '<i2', 'fortran_order': 1, 'shape': (2, 3)}",
        "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)} x"}) {
    CHECK(code_of(npy(dict, kSix)) == Code::corrupt);
  }
  CHECK(code_of("\x93NUMPY\x02\x00\xff\xff\xff\x7f"s + kSix) == Code::limit);
  CHECK(code_of("\x93NUMPY\x09\x00"s + kSix) == Code::unsupported);
  CHECK(code_of("\x93NUMPY") == Code::truncated);
}

TEST_CASE("arrays that are no recording, or not whole") {
  CHECK(code_of(npy(shaped("<i2", false, "(6,)"), kSix)) == Code::unsupported);
  CHECK(code_of(npy(shaped("<i8", false, "(2, 3)"), kSix)) == Code::unsupported);
  CHECK(code_of(npy("{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (6,)}", kSix)) ==
        Code::unsupported);
  CHECK(code_of(npy(shaped("<i2", false, "(2, 4)"), kSix)) == Code::truncated);
  CHECK(code_of(npy(shaped("<i2", false, "(4, 9223372036854775807)"), kSix)) == Code::truncated);
  CHECK(code_of(npy(shaped("<i2", false, "(70000, 1)"), kSix)) == Code::limit);
  CHECK(code_of(npy(shaped("<i2", false, "(0, 3)"), kSix)) == Code::empty);
  CHECK(code_of(npy(shaped("<i2", false, "(2, 3)"), kSix), {}) == Code::usage);
  OpenOptions names = at_128();
  names.names = {"Fp1"};
  CHECK(code_of(npy(shaped("<i2", false, "(2, 3)"), kSix), names) == Code::usage);
  names.names = {"FP1", "EEG Cz-REF"};
  CHECK(open(npy(shaped("<i2", false, "(2, 3)"), kSix), names)->info().channels[1].name == "Cz");
}

TEST_CASE("headers that are written are numpy.save's") {
  const std::uint64_t shape[] = {20, 129, 14397};
  const std::string header = npy_header(NpyType::float32, shape);
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 129, 14397), }";
  CHECK(header == "\x93NUMPY\x01\0\x76\0"s + dict + std::string(117 - dict.size(), ' ') + "\n");
  CHECK(header.size() == 128);
  const std::uint64_t one[] = {5};
  CHECK(npy_header(NpyType::uint8, one).find("'descr': '|u1'") != std::string::npos);
  CHECK(npy_header(NpyType::complex64, one).find("'shape': (5,), }") != std::string::npos);
  CHECK(npy_header(NpyType::float16, {}).find("'shape': (), }") != std::string::npos);
  CHECK(npy_item_bytes(NpyType::complex64) == 8);
  const auto back =
      open(npy_header(NpyType::float32, std::vector<std::uint64_t>{1, 1}) + "\0\0\x20\x40"s);
  CHECK(read_channel(*back, 0) == Doubles{2.5});
}

}  // namespace prep::signal_npy_test
