// Tracks that somebody wants gone, and whether they are.
#include <algorithm>
#include <iterator>

#include "sim/store_world.h"

namespace kvcast::sim {

// What was under way for the track is nobody's promise any more.
void StoreWorld::Erase() {
  if (!store_->opened()) {
    return;  // Whoever asks now is told so.
  }
  const uint64_t track = random_.Below(kTracks);
  const TrackName name = TrackOf(track);
  Note("erase " + std::to_string(track));
  ++counts_.erased;
  store_->Bar([name](const TrackName& each) { return each == name; }, now_);
  const Store::Erased erased = store_->Erase(name, std::nullopt, now_);
  std::erase_if(promised_, [&](const auto& each) { return each.first.first == track; });
  for (auto& [ticket, pledge] : pledged_) {
    if (pledge && pledge->name.first == track) {
      pledge.reset();
    }
  }
  Erasure& erasure = erasures_[track];  // Removals of an earlier one may still be under way.
  erasure.anew.clear();
  erasure.unsure = erased.refused;
  erasure.waiting.insert(erased.tickets.begin(), erased.tickets.end());
  if (store_->GroupFrom(name, 0) && !erased.refused) {
    Fail("track " + std::to_string(track) + " is there after it was erased");
  }
}

bool StoreWorld::OnErased(const StoreWritten& written) {
  for (auto& [track, erasure] : erasures_) {
    if (erasure.waiting.erase(written.ticket) > 0) {
      erasure.unsure = erasure.unsure || written.error.has_value();
      counts_.erasures_done += erasure.waiting.empty() && !erasure.unsure ? 1u : 0u;
      return true;
    }
  }
  return false;
}

void StoreWorld::OnPutAnew(const Name& name) {
  if (const auto erasure = erasures_.find(name.first); erasure != erasures_.end()) {
    erasure->second.anew.insert(name.second);
  }
}

// Of what is not known to be written, a restart may find some.
void StoreWorld::ForgetUnsure() {
  std::erase_if(erasures_, [](const auto& each) {
    return each.second.unsure || !each.second.waiting.empty();
  });
}

void StoreWorld::CheckNotErased(const Name& name) {
  const auto erasure = erasures_.find(name.first);
  if (erasure != erasures_.end() && !erasure->second.unsure &&
      !erasure->second.anew.contains(name.second)) {
    Fail("track " + std::to_string(name.first) + " was erased, and " + name.second.ToString() +
         " has come back");
  }
}

}  // namespace kvcast::sim
