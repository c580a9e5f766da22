#include "kvcast/kv/block_table.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// How many digests the table finds together: enough for the memory to be busy all the time, few
// enough to be still at hand when their turn comes.
constexpr size_t kTogether = 64;

uint64_t Load(const Digest& digest, size_t word) {
  uint64_t value = 0;
  std::memcpy(&value, digest.bytes.data() + word * sizeof(value), sizeof(value));
  return value;
}

// The two halves of a 128-bit product, folded: every input bit reaches every output bit.
uint64_t Fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

BlockTable::BlockTable(uint64_t seed) {
  Random random(seed);
  for (uint64_t& word : seeds_) {
    word = random.Next();
  }
}

uint32_t BlockTable::TagOf(const Digest& digest) const {
  const uint64_t first = Fold(Load(digest, 0) ^ seeds_[0], Load(digest, 1) ^ seeds_[1]);
  const uint64_t second = Fold(Load(digest, 2) ^ seeds_[2], Load(digest, 3) ^ seeds_[3]);
  return static_cast<uint32_t>((first ^ second) >> 32);
}

uint32_t BlockTable::FindByTag(uint32_t tag, const Digest& digest) const {
  return slots_.Find(tag, [&](uint32_t number) { return blocks_[number].digest == digest; })
      .value_or(kNone);
}

uint32_t BlockTable::Find(const Digest& digest) const { return FindByTag(TagOf(digest), digest); }

// In rounds, each of which finds in the cache what the round before it asked for.
void BlockTable::FindTogether(const Lookup& lookup, std::span<const uint32_t> places,
                              bool whole_runs) const {
  struct Sought {
    uint32_t tag = 0;
    uint32_t place = 0;
  };
  std::array<Sought, kTogether> sought;
  for (size_t i = 0; i < places.size(); ++i) {
    sought[i] = {TagOf(lookup.digests[places[i]]), places[i]};
    slots_.PrefetchMarks(sought[i].tag);
  }
  size_t left = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    sought[left] = sought[i];
    left += slots_.PrefetchSlot(sought[i].tag) ? 1u : 0u;
  }
  for (size_t i = 0; i < left; ++i) {
    (void)slots_.Find(sought[i].tag, [&](uint32_t number) {
      whole_runs ? blocks_.PrefetchRunOf(number) : blocks_.Prefetch(number);
      return true;
    });
  }
  for (size_t i = 0; i < left; ++i) {
    const uint32_t place = sought[i].place;
    lookup.numbers[place] = FindByTag(sought[i].tag, lookup.digests[place]);
  }
}

size_t BlockTable::FindAround(const Lookup& lookup, size_t place) const {
  const std::span<uint32_t> numbers = lookup.numbers;
  const auto find = [&](size_t next, size_t known) {
    if (numbers[next] == kNone) {
      numbers[next] = blocks_.FindInRunOf(numbers[known], lookup.digests[next]);
      return numbers[next] != kNone;
    }
    return false;
  };
  size_t first = place;
  while (first > 0 && find(first - 1, first)) {
    --first;
  }
  size_t last = place;
  while (last + 1 < numbers.size() && find(last + 1, last)) {
    ++last;
  }
  return last - first;
}

// First every eighth, then every fourth of those that are left, and so on: runs may be shorter
// than they could be.
void BlockTable::FindAll(std::span<const Digest> digests, std::span<uint32_t> numbers) const {
  KVCAST_CHECK(digests.size() == numbers.size() && digests.size() < kNone);
  std::ranges::fill(numbers, kNone);
  const Lookup lookup{digests, numbers};
  std::array<uint32_t, kTogether> places;
  size_t found_by_table = 0;
  size_t found_beside = 0;  // If few are, whole runs are not worth their memory's time.
  for (size_t stride = BlockRuns::kRunBlocks; stride > 0; stride /= 2) {
    const bool first_time = stride == BlockRuns::kRunBlocks;
    const bool whole_runs = stride > 1 && found_beside >= found_by_table;
    size_t count = 0;
    const auto find_places = [&] {
      const std::span<const uint32_t> sought = std::span(places).first(count);
      FindTogether(lookup, sought, whole_runs);
      for (const uint32_t place : sought) {
        if (whole_runs && numbers[place] != kNone) {
          ++found_by_table;
          found_beside += FindAround(lookup, place);
        }
      }
      count = 0;
    };
    const size_t step = first_time ? stride : 2 * stride;
    for (size_t place = first_time ? 0 : stride; place < digests.size(); place += step) {
      if (numbers[place] == kNone) {
        places[count++] = static_cast<uint32_t>(place);
        if (count == kTogether) {
          find_places();
        }
      }
    }
    find_places();
  }
}

uint32_t BlockTable::Insert(const Digest& digest, uint32_t near, bool may_grow) {
  KVCAST_CHECK(digest != Digest());
  const uint32_t number = blocks_.Take(near, may_grow);
  blocks_[number].digest = digest;
  slots_.Insert(TagOf(digest), number);
  return number;
}

void BlockTable::Erase(uint32_t number) {
  slots_.Erase(TagOf(blocks_[number].digest), number);
  blocks_.Free(number);
}

}  // namespace kvcast
