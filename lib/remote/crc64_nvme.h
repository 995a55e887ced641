// CRC-64/NVME, which S3 gives to objects when nothing else is asked for.
// Source: NVM Express NVM Command Set Specification 1.0, "64b CRC Polynomial" (reflected
// 9A6C9329AC4BC9B5, begun with and finished by all ones); check value of "123456789":
// AE8B14860A799888.
#pragma once

#include <cstdint>

#include "lib/core/bytes.h"

namespace prep {

// The CRC of bytes that follow those whose CRC is `crc`; 0 for none.
std::uint64_t crc64_nvme(std::uint64_t crc, ByteView bytes);

}  // namespace prep
