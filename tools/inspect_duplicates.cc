#include "tools/inspect_duplicates.h"

#include <algorithm>

#include "lib/core/digest.h"
#include "lib/core/interrupt.h"
#include "lib/core/key_hash.h"

namespace prep {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

}  // namespace

void DuplicateFinder::note(std::uint64_t fingerprint, std::uint64_t bytes,
                           std::string_view origin) {
  if (fingerprint > bound_) return;
  noted_.push_back({fingerprint, key_hash(origin), bytes});
  while (noted_.size() >= most_) {
    bound_ /= 2;
    std::erase_if(noted_, [&](const Noted& one) { return one.fingerprint > bound_; });
  }
}

bool DuplicateFinder::prepare() {
  std::sort(noted_.begin(), noted_.end());
  for (std::size_t begin = 0, end; begin < noted_.size(); begin = end) {
    end = begin + 1;
    while (end < noted_.size() && noted_[end].fingerprint == noted_[begin].fingerprint) ++end;
    if (end - begin == 1) continue;
    for (std::size_t i = begin; i < end; ++i) wanted_.push_back(noted_[i].origin);
  }
  std::sort(wanted_.begin(), wanted_.end());
  return !wanted_.empty();
}

bool DuplicateFinder::wants(std::string_view origin) const {
  return std::binary_search(wanted_.begin(), wanted_.end(), key_hash(origin));
}

std::string DuplicateFinder::hash(const Content& content) {
  Digest digest(Digest::Kind::sha256);
  const std::uint64_t size = content.size();
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    check_interrupt();
    digest.update(content.read(at, kPiece).view());
  }
  return digest.hex();
}

void DuplicateFinder::compare(const std::string& hash, std::uint64_t bytes,
                              const std::string& origin) {
  Group& group = groups_[hash];
  ++group.copies;
  group.bytes_each = bytes;
  if (group.copies == 1) group.first = origin;
  if (group.copies == 2) group.second = origin;
}

void DuplicateFinder::trust_fingerprints() {
  trusted_ = true;
  for (const Noted& one : noted_) compare(fmt::format("{:x}", one.fingerprint), one.bytes, "");
}

std::vector<DuplicateFinder::Group> DuplicateFinder::groups(std::size_t most) const {
  std::vector<Group> groups;
  for (const auto& [hash, group] : groups_) {
    if (group.copies > 1) groups.push_back(group);
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(b.copies, a.first) < std::pair(a.copies, b.first);
  });
  if (groups.size() > most) groups.resize(most);
  return groups;
}

double DuplicateFinder::share_noted() const {
  return is_exact() ? 1 : static_cast<double>(bound_) / static_cast<double>(UINT64_MAX);
}

std::uint64_t DuplicateFinder::scaled(std::uint64_t count) const {
  return static_cast<std::uint64_t>(static_cast<double>(count) / share_noted() + 0.5);
}

std::uint64_t DuplicateFinder::superfluous() const {
  std::uint64_t count = 0;
  for (const auto& [hash, group] : groups_) count += group.copies - 1;
  return scaled(count);
}

std::uint64_t DuplicateFinder::superfluous_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [hash, group] : groups_) bytes += (group.copies - 1) * group.bytes_each;
  return scaled(bytes);
}

}  // namespace prep
