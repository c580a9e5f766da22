#include "kvcast/store/track_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "kvcast/base/random.h"
#include "kvcast/store/ram_index.h"

namespace kvcast {
namespace {

constexpr size_t kSlotsLeast = 16;

// Every bit of both goes into every bit of the result.
uint64_t Fold(uint64_t a, uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t WordAt(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The last bytes are read as a word that reaches back into those before them, as the length makes
// that unambiguous: how many bytes are copied is known to the compiler everywhere.
uint64_t HashText(std::string_view text, uint64_t hash, uint64_t secret) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; end - at >= 16; at += 16) {
    hash = Fold(WordAt(at) ^ secret, WordAt(at + 8) ^ hash);
  }
  if (text.size() >= 8) {
    if (end - at > 8) {
      hash = Fold(WordAt(at) ^ secret, hash ^ 1);
    }
    if (at < end) {
      hash = Fold(WordAt(end - 8) ^ secret, hash ^ 2);
    }
  } else {
    uint64_t word = 0;
    for (; at < end; ++at) {
      word = word << 8 | static_cast<unsigned char>(*at);
    }
    hash = Fold(word ^ secret, hash ^ 3);
  }
  return Fold(hash ^ text.size(), secret);
}

}  // namespace

TrackTable::TrackTable(uint64_t secret, size_t* bytes)
    : secret_{Scatter(secret), Scatter(secret + 1) | 1}, slots_(CountedAllocator<Slot>(bytes)) {}

uint64_t TrackTable::HashOf(const TrackName& name) const {
  return HashText(name.name(), HashText(name.space().packed(), secret_[0], secret_[1]), secret_[1]);
}

RamTrack* TrackTable::Find(const TrackName& name) const {
  if (count_ == 0) {
    return nullptr;
  }
  const uint64_t hash = HashOf(name);
  for (size_t at = Home(hash); slots_[at].track != nullptr; at = After(at)) {
    if (slots_[at].hash == hash && slots_[at].track->name() == name) {
      return slots_[at].track;
    }
  }
  return nullptr;
}

size_t TrackTable::GrowthForOne() const {
  return Crowded() ? std::max(kSlotsLeast, slots_.size()) * sizeof(Slot) : 0;
}

void TrackTable::Add(RamTrack& track) {
  if (Crowded()) {
    Rebuild(std::max(kSlotsLeast, 2 * slots_.size()));
  }
  Place({HashOf(track.name()), &track});
  ++count_;
}

void TrackTable::Place(Slot slot) {
  size_t at = Home(slot.hash);
  while (slots_[at].track != nullptr) {
    at = After(at);
  }
  slots_[at] = slot;
}

// What stands behind it moves up, unless that would be before its home.
void TrackTable::Remove(const RamTrack& track) {
  size_t hole = Home(HashOf(track.name()));
  while (slots_[hole].track != &track) {
    hole = After(hole);
  }
  const size_t mask = slots_.size() - 1;
  for (size_t at = After(hole); slots_[at].track != nullptr; at = After(at)) {
    const size_t from_home = (at - Home(slots_[at].hash)) & mask;
    if (from_home >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole] = Slot();
  --count_;
  if (count_ == 0) {
    Rebuild(0);
  } else if (slots_.size() > kSlotsLeast && 8 * count_ < slots_.size()) {
    Rebuild(slots_.size() / 2);
  }
}

void TrackTable::Rebuild(size_t slot_count) {
  Slots old(slot_count, Slot(), slots_.get_allocator());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.track != nullptr) {
      Place(slot);
    }
  }
}

}  // namespace kvcast
