#include "kvcast/client/cache_match.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kvcast {
namespace {

// A block that very many publish, or are said to, is no reason to compare them all.
constexpr size_t kCandidatesMax = 16;

// Numbers tracks, each once.
class TrackNumbers {
 public:
  explicit TrackNumbers(std::vector<TrackName>& tracks) : tracks_(&tracks) {
    for (size_t i = 0; i < tracks.size(); ++i) {
      numbers_.emplace(tracks[i], static_cast<uint32_t>(i));
    }
  }

  uint32_t Of(const TrackName& track) {
    const auto [found, is_new] = numbers_.emplace(track, static_cast<uint32_t>(tracks_->size()));
    if (is_new) {
      tracks_->push_back(track);
    }
    return found->second;
  }

 private:
  std::vector<TrackName>* tracks_;
  std::map<TrackName, uint32_t> numbers_;
};

bool IsUnder(const TrackName& track, const Generation& generation) {
  return track.space().field(3) == AsText(generation);
}

// The offers of one block that an engine can use; few of each kind. A track that continues is among
// them, however many others there are.
std::vector<BlockOffer> OffersOf(const std::vector<BlockSource>& sources,
                                 std::span<const CacheKind> kinds,
                                 const std::optional<Generation>& generation,
                                 std::span<const BlockOffer> before, TrackNumbers& numbers) {
  std::vector<BlockOffer> offers;
  for (const CacheKind& kind : kinds) {
    size_t count = 0;
    for (const BlockSource& source : sources) {
      if (!kind.Includes(source.track) || (generation && !IsUnder(source.track, *generation))) {
        continue;
      }
      const BlockOffer offer{kind.rung(), numbers.Of(source.track), source.group, source.bytes};
      if (std::ranges::find(offers, offer) != offers.end()) {
        continue;  // Another node holds the same track.
      }
      const bool continues = std::ranges::any_of(before, [&](const BlockOffer& last) {
        return last.track == offer.track && last.group + 1 == offer.group;
      });
      if (continues || count < kCandidatesMax) {
        offers.push_back(offer);
        ++count;
      }
    }
  }
  return offers;
}

std::vector<CacheKind> KindsOf(const CacheKind& kind, std::span<const Rung> rungs) {
  std::vector<CacheKind> kinds;
  for (const Rung rung : rungs) {
    kinds.push_back(kind.At(rung));
  }
  return kinds;
}

}  // namespace

CacheMatch CacheMatch::Of(const PrefixIndex& index, std::span<const BlockHash> blocks,
                          const CacheKind& kind, std::span<const Rung> rungs, size_t first_block,
                          const std::optional<Generation>& generation) {
  CacheMatch match;
  match.generation_ = generation;
  match.first_block_ = std::min(first_block, blocks.size());
  match.rungs_.assign(rungs.begin(), rungs.end());
  const std::vector<CacheKind> kinds = KindsOf(kind, rungs);
  TrackNumbers numbers(match.tracks_);
  const PrefixMatch found = index.LongestMatch(blocks);
  for (size_t block = match.first_block_; found.Has(block); ++block) {
    const std::span<const BlockOffer> before =
        match.offers_.empty() ? std::span<const BlockOffer>() : match.offers_.back();
    std::vector<BlockOffer> offers =
        OffersOf(index.Sources(found, block), kinds, generation, before, numbers);
    if (offers.empty()) {
      break;
    }
    match.offers_.push_back(std::move(offers));
  }
  return match;
}

CacheMatch CacheMatch::None(size_t first_block) {
  CacheMatch match;
  match.first_block_ = first_block;
  return match;
}

std::optional<uint64_t> CacheMatch::BytesAt(size_t block, Rung rung) const {
  const std::span<const BlockOffer> all = offers(block);
  const auto found = std::ranges::find(all, rung, &BlockOffer::rung);
  return found == all.end() ? std::nullopt : std::optional(found->bytes);
}

std::optional<LoadRun> CacheMatch::RunFrom(size_t block, Rung rung, size_t blocks_max) const {
  std::optional<LoadRun> furthest;
  for (const BlockOffer& first : offers(block)) {
    if (first.rung != rung) {
      continue;
    }
    LoadRun run{tracks_[first.track], rung, first.group, block, 1, first.bytes};
    while (run.block_count < blocks_max && run.end_block() < end_block()) {
      const std::span<const BlockOffer> all = offers(run.end_block());
      const auto next = std::ranges::find_if(all, [&](const BlockOffer& offer) {
        return offer.track == first.track && offer.group == run.last_group() + 1;
      });
      if (next == all.end()) {
        break;
      }
      ++run.block_count;
      run.bytes += next->bytes;
    }
    if (!furthest || run.block_count > furthest->block_count) {
      furthest = std::move(run);
    }
  }
  return furthest;
}

std::vector<LoadRun> CacheMatch::BestRuns() const {
  std::vector<LoadRun> runs;
  for (size_t block = first_block_; block < end_block();) {
    if (offers(block).empty()) {
      ++block;
      continue;
    }
    runs.push_back(*RunFrom(block, offers(block).front().rung, block_count()));
    block = runs.back().end_block();
  }
  return runs;
}

uint64_t CacheMatch::bytes() const {
  uint64_t bytes = 0;
  for (const LoadRun& run : BestRuns()) {
    bytes += run.bytes;
  }
  return bytes;
}

void CacheMatch::Withdraw(size_t block, const TrackName& track) {
  withdrawn_.emplace(block, track);
  if (block < end_block()) {
    std::erase_if(offers_[block - first_block_],
                  [&](const BlockOffer& offer) { return tracks_[offer.track] == track; });
  }
}

std::vector<BlockOffer> CacheMatch::Lookup(const PrefixIndex& index,
                                           std::span<const BlockHash> blocks,
                                           std::span<const CacheKind> kinds, size_t block) {
  const PrefixMatch found = index.LongestMatch(blocks.subspan(block, 1));
  if (!found.Has(0)) {
    return {};
  }
  std::vector<BlockSource> sources = index.Sources(found, 0);
  std::erase_if(sources, [&](const BlockSource& source) {
    return withdrawn_.contains({block, source.track});
  });
  TrackNumbers numbers(tracks_);
  const bool follows = block > first_block_ && block - first_block_ <= offers_.size();
  return OffersOf(sources, kinds, generation_,
                  follows ? std::span<const BlockOffer>(offers_[block - first_block_ - 1])
                          : std::span<const BlockOffer>(),
                  numbers);
}

bool CacheMatch::Extend(const PrefixIndex& index, std::span<const BlockHash> blocks,
                        const CacheKind& kind, size_t end) {
  const std::vector<CacheKind> kinds = KindsOf(kind, rungs_);
  bool is_more = false;
  for (size_t block = first_block_; block < end_block(); ++block) {
    if (offers(block).empty()) {
      offers_[block - first_block_] = Lookup(index, blocks, kinds, block);
      is_more = is_more || !offers(block).empty();
    }
  }
  while (end_block() < std::min(end, blocks.size())) {
    std::vector<BlockOffer> offers = Lookup(index, blocks, kinds, end_block());
    if (offers.empty()) {
      break;
    }
    offers_.push_back(std::move(offers));
    is_more = true;
  }
  return is_more;
}

void CacheMatch::ExtendOver(const BlockShelf& shelf, const PrefixIndex& index,
                            std::span<const BlockHash> blocks, const CacheKind& kind) {
  const std::vector<CacheKind> kinds = KindsOf(kind, rungs_);
  while (end_block() < blocks.size()) {
    std::vector<BlockOffer> offers = Lookup(index, blocks, kinds, end_block());
    if (offers.empty() && !shelf.Has(blocks[end_block()], rungs_, generation_)) {
      return;
    }
    offers_.push_back(std::move(offers));
  }
}

}  // namespace kvcast
