#include "kvcast/kv/block_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// How many digests the table finds together: enough for the memory to be busy all the time, few
// enough to be still at hand when their turn comes.
constexpr size_t kTogether = 64;
// Every so many digests the table is asked, and those between are tried by number.
constexpr size_t kStride = 8;
constexpr size_t kCacheLineBytes = 64;

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

// In three rounds, each of which finds in the cache what the round before it asked for.
void BlockTable::FindTogether(const Lookup& lookup, std::span<const uint32_t> places) const {
  std::array<uint32_t, kTogether> tags{};
  for (size_t i = 0; i < places.size(); ++i) {
    tags[i] = TagOf(lookup.digests[places[i]]);
    slots_.Prefetch(tags[i]);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    (void)slots_.Find(tags[i], [&](uint32_t number) {
      const std::byte* const block = reinterpret_cast<const std::byte*>(&blocks_[number]);
      for (size_t ahead = 0; ahead < kStride * sizeof(Block); ahead += kCacheLineBytes) {
        __builtin_prefetch(block + ahead);
      }
      return true;
    });
  }
  for (size_t i = 0; i < places.size(); ++i) {
    lookup.numbers[places[i]] = FindByTag(tags[i], lookup.digests[places[i]]);
  }
}

uint32_t BlockTable::FindBeside(uint32_t number, const Digest& digest) const {
  if (IsAt(number + 1, digest)) {
    return number + 1;
  }
  return number > 0 && IsAt(number - 1, digest) ? number - 1 : kNone;
}

void BlockTable::FindAround(const Lookup& lookup, size_t place) const {
  const std::span<uint32_t> numbers = lookup.numbers;
  const auto find = [&](size_t next, size_t known) {
    if (numbers[next] == kNone) {
      numbers[next] = FindBeside(numbers[known], lookup.digests[next]);
      return numbers[next] != kNone;
    }
    return false;
  };
  for (size_t known = place; known > 0 && find(known - 1, known); --known) {
  }
  for (size_t known = place; known + 1 < numbers.size() && find(known + 1, known); ++known) {
  }
}

void BlockTable::FindAll(std::span<const Digest> digests, std::span<uint32_t> numbers) const {
  KVCAST_CHECK(digests.size() == numbers.size() && digests.size() < kNone);
  std::ranges::fill(numbers, kNone);
  const Lookup lookup{digests, numbers};
  std::vector<uint32_t> places;
  const auto find_places = [&] {
    for (size_t done = 0; done < places.size(); done += kTogether) {
      FindTogether(lookup,
                   std::span(places).subspan(done, std::min(kTogether, places.size() - done)));
    }
  };
  for (size_t place = 0; place < digests.size(); place += kStride) {
    places.push_back(static_cast<uint32_t>(place));
  }
  find_places();
  for (const uint32_t place : places) {
    if (numbers[place] != kNone) {
      FindAround(lookup, place);
    }
  }
  places.clear();
  for (size_t place = 0; place < digests.size(); ++place) {
    if (numbers[place] == kNone && place % kStride != 0) {
      places.push_back(static_cast<uint32_t>(place));
    }
  }
  find_places();
}

uint32_t BlockTable::Insert(const Digest& digest) {
  KVCAST_CHECK(digest != Digest());
  const uint32_t number = blocks_.Allocate();
  blocks_[number].digest = digest;
  slots_.Insert(TagOf(digest), number);
  return number;
}

void BlockTable::Erase(uint32_t number) {
  slots_.Erase(TagOf(blocks_[number].digest), number);
  blocks_.Free(number);
}

}  // namespace kvcast
