#include "formats/tfrecord_record.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <isa-l/crc.h>

#include <algorithm>

namespace prep {
namespace {

constexpr std::size_t kLengthSize = 8;

template <std::size_t N>
void store_little(std::uint64_t value, std::uint8_t* out) {
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

template <std::size_t N>
std::uint64_t load_little(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < N; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::uint32_t masked_crc(ByteView data) {
  Crc32c crc;
  crc.update(data);
  return crc.masked();
}

}  // namespace

namespace {

#if defined(__x86_64__)
__attribute__((target("avx"))) void zero_upper_halves() { _mm256_zeroupper(); }
#endif

// ISA-L's kernels leave the upper halves of the vector registers in use, and that makes SSE code
// which follows slower: OpenSSL's SHA-256 by 40 %.
void clean_vector_registers() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
#endif
}

}  // namespace

void Crc32c::update(ByteView data) {
  // The library counts in ints.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  while (!data.empty()) {
    const ByteView piece = data.first(std::min(data.size(), kMost));
    state_ = crc32_iscsi(const_cast<std::uint8_t*>(piece.data()), static_cast<int>(piece.size()),
                         state_);
    data = data.subspan(piece.size());
  }
  clean_vector_registers();
}

std::array<std::uint8_t, kTfRecordHeader> tfrecord_header(std::uint64_t length) {
  std::array<std::uint8_t, kTfRecordHeader> header{};
  store_little<kLengthSize>(length, header.data());
  store_little<4>(masked_crc(ByteView(header).first(kLengthSize)), header.data() + kLengthSize);
  return header;
}

std::array<std::uint8_t, kTfRecordFooter> tfrecord_footer(const Crc32c& data) {
  std::array<std::uint8_t, kTfRecordFooter> footer{};
  store_little<kTfRecordFooter>(data.masked(), footer.data());
  return footer;
}

std::optional<std::uint64_t> parse_tfrecord_header(ByteView head) {
  if (head.size() < kTfRecordHeader) return std::nullopt;
  const std::uint64_t crc = load_little<4>(head.data() + kLengthSize);
  if (crc != masked_crc(head.first(kLengthSize))) return std::nullopt;
  return load_little<kLengthSize>(head.data());
}

bool tfrecord_footer_fits(ByteView footer, const Crc32c& data) {
  return footer.size() == kTfRecordFooter &&
         load_little<kTfRecordFooter>(footer.data()) == data.masked();
}

std::optional<std::size_t> find_tfrecord_header(ByteView bytes) {
  for (std::size_t i = 0; i + kTfRecordHeader <= bytes.size(); ++i) {
    // The upper half of the length, which hardly any other data has as 0, spares the checksum.
    if (load_little<4>(&bytes[i + 4]) != 0) continue;
    const auto length = parse_tfrecord_header(bytes.subspan(i, kTfRecordHeader));
    if (length && *length <= kMaxTfRecord) return i;
  }
  return std::nullopt;
}

}  // namespace prep
