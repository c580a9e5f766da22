#include "kvcast/kv/hash_slots.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// How many slots are asked for ahead of the one being looked at: enough for the memory to be busy
// all the time, few enough to be still there when their turn comes.
constexpr size_t kLookAhead = 32;

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

HashSlots::HashSlots(uint64_t seed) {
  Random random(seed);
  for (uint64_t& word : seeds_) {
    word = random.Next();
  }
}

size_t HashSlots::Home(const Digest& digest) const {
  const uint64_t first = Fold(Load(digest, 0) ^ seeds_[0], Load(digest, 1) ^ seeds_[1]);
  const uint64_t second = Fold(Load(digest, 2) ^ seeds_[2], Load(digest, 3) ^ seeds_[3]);
  // In proportion to the table's size, which need not be a power of two.
  return static_cast<size_t>((((first ^ second) >> 32) * slots_.size()) >> 32);
}

uint32_t HashSlots::FindFrom(size_t home, const Digest& digest) const {
  if (slots_.empty() || digest == Digest()) {
    return kNone;
  }
  for (size_t at = home; !IsEmpty(at); at = Next(at)) {
    if (slots_[at].digest == digest) {
      return static_cast<uint32_t>(at);
    }
  }
  return kNone;
}

void HashSlots::FindAll(std::span<const Digest> digests, std::span<uint32_t> slots) const {
  KVCAST_CHECK(digests.size() == slots.size());
  if (slots_.empty()) {
    std::ranges::fill(slots, kNone);
    return;
  }
  std::array<size_t, kLookAhead> homes{};
  const auto ask = [&](size_t i) {
    homes[i % kLookAhead] = Home(digests[i]);
    __builtin_prefetch(&slots_[homes[i % kLookAhead]]);
  };
  for (size_t i = 0; i < std::min(kLookAhead, digests.size()); ++i) {
    ask(i);
  }
  for (size_t i = 0; i < digests.size(); ++i) {
    slots[i] = FindFrom(homes[i % kLookAhead], digests[i]);
    if (i + kLookAhead < digests.size()) {
      ask(i + kLookAhead);
    }
  }
}

// By a quarter and not double: what is empty is paid for, too.
size_t HashSlots::GrownSize() const {
  return std::max<size_t>(16, slots_.size() + slots_.size() / 4);
}

void HashSlots::Grow() {
  const size_t size = GrownSize();
  const std::vector<Slot> old_slots = std::exchange(slots_, std::vector<Slot>(size));
  const std::vector<uint32_t> old_numbers = std::exchange(numbers_, std::vector<uint32_t>(size));
  for (size_t at = 0; at < old_slots.size(); ++at) {
    if (old_slots[at].digest != Digest()) {
      Place(old_slots[at].digest, old_numbers[at]);
    }
  }
}

size_t HashSlots::Place(const Digest& digest, uint32_t number) {
  size_t at = Home(digest);
  while (!IsEmpty(at)) {
    at = Next(at);
  }
  slots_[at].digest = digest;
  numbers_[at] = number;
  return at;
}

}  // namespace kvcast
