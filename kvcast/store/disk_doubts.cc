#include "kvcast/store/disk_doubts.h"

#include "kvcast/store/look_delay.h"

namespace kvcast {
namespace {

// An object that is in doubt is listed, and so is not put again: given up after 42 seconds, which
// is longer than most paths to a disk take to come back.
constexpr Duration kFirstLook = std::chrono::seconds(2);
constexpr uint32_t kLooks = 3;

// It is remembered twice, with its name.
size_t HeapOf(const DiskDoubts::Doubt& doubt) { return 2 * HeapBytesOf(doubt.track); }

}  // namespace

bool DiskDoubts::Add(const Doubt& doubt, Instant now) {
  if (Has(doubt.place)) {
    return true;
  }
  if (doubts_.size() >= kMax) {
    return false;
  }
  const auto before = places_.find(Name(doubt.track, doubt.location));
  if (before != places_.end()) {
    Lift(DiskPlace(before->second));  // Where it lay once.
  }
  bytes_ += HeapOf(doubt);
  places_.emplace(Name(doubt.track, doubt.location), doubt.place);
  Schedule(doubts_.emplace(doubt.place, State{doubt}).first->second,
           now + LookDelay(kFirstLook, 0));
  return true;
}

void DiskDoubts::Schedule(State& state, Instant again) {
  due_.erase({state.again, state.doubt.place});
  state.again = again;
  due_.emplace(again, state.doubt.place);
}

std::optional<DiskDoubts::Doubt> DiskDoubts::TakeDue(Instant now) {
  if (due_.empty() || now < due_.begin()->first) {
    return std::nullopt;
  }
  State& state = doubts_.at(due_.begin()->second);
  Schedule(state, now + LookDelay(kFirstLook, state.looks));
  return state.doubt;
}

bool DiskDoubts::OnLookFailed(DiskPlace place, Instant now) {
  const auto found = doubts_.find(place);
  if (found == doubts_.end()) {
    return true;
  }
  if (++found->second.looks == kLooks) {
    Lift(place);
    return false;
  }
  Schedule(found->second, now + LookDelay(kFirstLook, found->second.looks));
  return true;
}

void DiskDoubts::Lift(DiskPlace place) {
  const auto found = doubts_.find(place);
  if (found == doubts_.end()) {
    return;
  }
  const Doubt& doubt = found->second.doubt;
  bytes_ -= HeapOf(doubt);
  due_.erase({found->second.again, place});
  places_.erase(Name(doubt.track, doubt.location));
  doubts_.erase(found);
}

bool DiskDoubts::Any(const TrackName& track, const LocationRange& range,
                     const std::function<bool(const Doubt&)>& wanted) const {
  for (auto place = places_.lower_bound(Name(track, range.first));
       place != places_.end() && place->first.first == track && place->first.second <= range.last;
       ++place) {
    if (wanted(doubts_.at(place->second).doubt)) {
      return true;
    }
  }
  return false;
}

std::optional<Instant> DiskDoubts::deadline() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

}  // namespace kvcast
