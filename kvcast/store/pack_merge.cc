#include "kvcast/store/pack_merge.h"

#include <algorithm>
#include <tuple>

namespace kvcast {
namespace {

// As many as may be asked for at a time.
constexpr size_t kMergedPacksMax = BucketCalls::kRequestsMax;
constexpr Duration kMergePatience = std::chrono::minutes(2);
constexpr Duration kMergeAttempt = std::chrono::seconds(30);
constexpr Duration kMergeDelay = std::chrono::milliseconds(200);
constexpr uint32_t kMergeDamagedTries = 2;

struct Candidate {
  uint64_t bytes = 0;
  uint32_t segment = 0;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// The smallest that are within the limits together, none of them larger than all others.
std::vector<uint32_t> SmallestOf(std::vector<Candidate> all, const PackMerge::Limits& limits) {
  std::ranges::sort(all);
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < std::min(all.size(), kMergedPacksMax) &&
         bytes + all[count].bytes <= limits.bytes_max) {
    bytes += all[count++].bytes;
  }
  while (count > 0 && 2 * all[count - 1].bytes > bytes) {
    bytes -= all[--count].bytes;
  }
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < count && count >= limits.packs_min; ++i) {
    chosen.push_back(all[i].segment);
  }
  return chosen;
}

// Absent: it is not what was put there.
std::optional<PackBody> BodyOf(const Bytes& bytes, const Pack& pack) {
  if (bytes.size() != pack.bytes || bytes.size() < kTrailerBytes) {
    return std::nullopt;
  }
  const std::string end = bytes.Slice(bytes.size() - kTrailerBytes, kTrailerBytes).ToString();
  const auto trailer = PackTrailer::Parse(AsBytes(end), pack.id, pack.bytes);
  if (!trailer.ok() || trailer->body_bytes > bytes.size() - kTrailerBytes) {
    return std::nullopt;
  }
  auto body = ParsePackBody(
      bytes.Slice(bytes.size() - kTrailerBytes - trailer->body_bytes, trailer->body_bytes),
      *trailer);
  return body.ok() ? std::optional(*std::move(body)) : std::nullopt;
}

}  // namespace

std::vector<uint32_t> PackMerge::Choose(const PackTable& table, const Limits& limits,
                                        const May& may) {
  std::map<uint32_t, std::vector<Candidate>> by_pool;
  for (const auto& [segment, pack] : table.packs) {
    if (table.Own(pack) && 2 * pack.bytes <= limits.bytes_max && may(segment, pack)) {
      by_pool[pack.owner.pool].push_back({pack.bytes, segment});
    }
  }
  for (auto& [pool, candidates] : by_pool) {
    std::vector<uint32_t> chosen = SmallestOf(std::move(candidates), limits);
    if (!chosen.empty()) {
      return chosen;
    }
  }
  return {};
}

PackMerge::PackMerge(const std::vector<uint32_t>& segments, const PackTable& table,
                     BucketCalls& calls, Instant now) {
  for (const uint32_t segment : segments) {
    const Pack& pack = table.packs.at(segment);
    BucketRequest request;
    request.kind = BucketRequest::Kind::kGet;
    request.key = pack.key;
    request.length = pack.bytes;
    const auto id = calls.Start(std::move(request), {.urgency = BucketCalls::Urgency::kHousekeeping,
                                                     .give_up = now + kMergePatience,
                                                     .attempt = kMergeAttempt,
                                                     .delay = kMergeDelay,
                                                     .damaged_tries = kMergeDamagedTries});
    reads_.emplace(id, segment);
    bytes_ += pack.bytes;
  }
}

bool PackMerge::OnEnded(const BucketCalls::Ended& ended, PackTable& table) {
  const auto read = reads_.find(ended.id);
  if (read == reads_.end()) {
    return false;
  }
  const uint32_t segment = read->second;
  reads_.erase(read);
  const auto found = table.packs.find(segment);
  if (found == table.packs.end()) {
    return true;
  }
  Pack& pack = found->second;
  const auto& error = ended.completion.error;
  auto body = error ? std::nullopt : BodyOf(ended.completion.bytes, pack);
  pack.unmergeable = error ? error->kind == BucketError::Kind::kDamaged : !body.has_value();
  if (body) {
    sources.push_back({segment, ended.completion.bytes, *std::move(body)});
  } else {
    bytes_ -= pack.bytes;
  }
  return true;
}

void PackMerge::DropBytes() {
  bytes_ = 0;
  for (Source& source : sources) {
    source.bytes = Bytes();
  }
}

}  // namespace kvcast
