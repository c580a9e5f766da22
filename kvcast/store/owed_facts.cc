#include "kvcast/store/owed_facts.h"

namespace kvcast {

void OwedFacts::OnAsked(const TrackName& track, About group, uint64_t record) {
  under_way_[{track, group}] = record;
  owed_.erase({track, group});
}

void OwedFacts::OnSettled(const TrackName& track, About group, uint64_t record, bool durable) {
  const auto last = under_way_.find({track, group});
  if (last == under_way_.end() || last->second != record) {
    return;  // A later one says it too, or it was forgotten.
  }
  under_way_.erase(last);
  if (!durable) {
    owed_.insert({track, group});
  }
}

void OwedFacts::OnLost(const TrackName& track, About group) {
  if (!under_way_.contains({track, group})) {
    owed_.insert({track, group});
  }
}

void OwedFacts::Forget(const TrackName& track, About group) {
  if (group) {
    under_way_.erase({track, group});
    owed_.erase({track, group});
    return;
  }
  const auto of_track = [&](const Name& name) { return name.first == track; };
  auto first = under_way_.lower_bound({track, std::nullopt});
  while (first != under_way_.end() && of_track(first->first)) {
    first = under_way_.erase(first);
  }
  auto owed = owed_.lower_bound({track, std::nullopt});
  while (owed != owed_.end() && of_track(*owed)) {
    owed = owed_.erase(owed);
  }
}

std::vector<OwedFacts::About> OwedFacts::Of(const TrackName& track) const {
  std::vector<About> owed;
  for (auto one = owed_.lower_bound({track, std::nullopt});
       one != owed_.end() && one->first == track; ++one) {
    owed.push_back(one->second);
  }
  return owed;
}

std::vector<TrackName> OwedFacts::Tracks() const {
  std::vector<TrackName> tracks;
  for (const Name& name : owed_) {
    if (tracks.empty() || tracks.back() != name.first) {
      tracks.push_back(name.first);
    }
  }
  return tracks;
}

}  // namespace kvcast
