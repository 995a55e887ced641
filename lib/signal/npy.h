// NumPy's .npy: recordings in, arrays out (numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

bool looks_like_npy(ByteView head);

// A matrix of float32, float64, int16 or int32, either byte order, C or Fortran order; which of its
// axes is time is options.npy_layout. It carries no rate, unit or names: those are the options'.
// Without names, channels are "1", "2", …. throws Error truncated, corrupt, unsupported, limit;
// usage where the rate is not given, or names don't fit.
std::unique_ptr<Recording> open_npy(std::shared_ptr<const Content> content,
                                    const OpenOptions& options);

enum class NpyType { float32, float16, uint8, float64, complex64 };

// "<f4", "<f2", "|u1", "<f8", "<c8".
std::string_view npy_descr(NpyType type);
std::size_t npy_item_bytes(NpyType type);

// What stands before the items of an array in C order, little-endian: version 1.0, padded with
// spaces and a newline to a multiple of 64 bytes, byte for byte as numpy.save writes it. throws
// Error limit for a shape of more dimensions than NumPy has (32).
std::string npy_header(NpyType type, std::span<const std::uint64_t> shape);

}  // namespace prep::signal
