#include "kvcast/store/pack_doubts.h"

#include <algorithm>
#include <iterator>

#include "kvcast/store/look_delay.h"

namespace kvcast {
namespace {

constexpr Duration kFirstPackLook = std::chrono::seconds(5);
// With a pack all that it holds may be hidden: it is given up after two hours. A record is listed
// as long as it is in doubt, and so is not put again: seven minutes.
constexpr uint32_t kPackLooks = 6;
constexpr uint32_t kRecordLooks = 4;

size_t HeapOf(const PackDoubts::Doubt& doubt) {
  return doubt.record ? HeapBytesOf(doubt.record->track) : 0;
}

}  // namespace

uint32_t PackDoubts::LooksFor(const Doubt& doubt) {
  return doubt.record ? kRecordLooks : kPackLooks;
}

void PackDoubts::Add(const Doubt& doubt, Instant now) {
  if (Has(doubt.place) || (doubt.record && full())) {
    return;
  }
  record_count_ += doubt.record ? 1u : 0u;
  bytes_ += HeapOf(doubt);
  State& state = doubts_.emplace(doubt.place, State{doubt}).first->second;
  Schedule(state, now + LookDelay(kFirstPackLook, 0));
}

void PackDoubts::Schedule(State& state, Instant again) {
  due_.erase({state.again, state.doubt.place});
  state.again = again;
  due_.emplace(again, state.doubt.place);
}

bool PackDoubts::OnDamaged(DiskPlace place, Instant now) {
  const auto found = doubts_.find(place);
  if (found == doubts_.end()) {
    return true;
  }
  State& state = found->second;
  const bool was_given_up = state.given_up();
  const size_t counts = state.doubt.record ? 1 : 0;
  CountFor(state) -= counts;
  ++state.looks;
  CountFor(state) += counts;
  Schedule(state, now + LookDelay(kFirstPackLook, state.looks));
  const bool gives_up = state.given_up() && !was_given_up;
  if (given_up_count_ > kRecordsMax) {
    Erase(found);
  }
  return !gives_up;
}

PackDoubts::Doubts::iterator PackDoubts::Erase(Doubts::iterator doubt) {
  due_.erase({doubt->second.again, doubt->first});
  CountFor(doubt->second) -= doubt->second.doubt.record ? 1u : 0u;
  bytes_ -= HeapOf(doubt->second.doubt);
  return doubts_.erase(doubt);
}

void PackDoubts::Lift(DiskPlace place) {
  if (const auto found = doubts_.find(place); found != doubts_.end()) {
    Erase(found);
  }
}

void PackDoubts::Drop(uint32_t segment) {
  auto doubt = doubts_.lower_bound(PlaceOf(segment));
  while (doubt != doubts_.end() && doubt->first.segment == segment) {
    doubt = Erase(doubt);
  }
}

void PackDoubts::Forget(const TrackName& track, std::optional<uint64_t> group) {
  for (auto doubt = doubts_.begin(); doubt != doubts_.end();) {
    const auto& record = doubt->second.doubt.record;
    const bool goes =
        record && record->track == track && (!group || record->location.group == *group);
    doubt = goes ? Erase(doubt) : std::next(doubt);
  }
}

bool PackDoubts::IsGivenUp(DiskPlace place) const {
  const auto found = doubts_.find(place);
  return found != doubts_.end() && found->second.given_up();
}

std::optional<PackDoubts::Doubt> PackDoubts::TakeDue(Instant now) {
  if (due_.empty() || now < due_.begin()->first) {
    return std::nullopt;
  }
  State& state = doubts_.at(due_.begin()->second);
  Schedule(state, now + LookDelay(kFirstPackLook, state.looks));
  return state.doubt;
}

std::optional<Instant> PackDoubts::deadline() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

bool PackDoubts::OnlyOnceMore(DiskPlace place) const {
  const auto found = doubts_.find(place);
  return found != doubts_.end() && found->second.looks + 1 == LooksFor(found->second.doubt);
}

std::vector<uint32_t> PackDoubts::Packs() const {
  std::vector<uint32_t> packs;
  for (const auto& [place, state] : doubts_) {
    if (!state.doubt.record) {
      packs.push_back(place.segment);
    }
  }
  return packs;
}

}  // namespace kvcast
