#include "kvcast/relay/ack_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvcast::relay {
namespace {

// Records of one object; more go into the next.
constexpr size_t kRecordsMax = 1024;

}  // namespace

std::optional<Durability> AckBook::LevelOf(const TrackName& track) const {
  const auto found = tracks_.find(track);
  return found == tracks_.end() ? std::nullopt : std::optional(found->second.level);
}

AckBook::Track* AckBook::Open(const TrackName& track) {
  const Result<TrackName> ack_track = AckTrackOf(track.space());
  if (!ack_track.ok()) {
    return nullptr;
  }
  const auto [found, is_new] = tracks_.try_emplace(track, Track{*ack_track});
  if (is_new) {
    found->second.life = ++last_life_;
    found->second.recalled = true;
    ++ack_tracks_[*ack_track].tracks;
  }
  return &found->second;
}

void AckBook::Begin(const TrackName& track, Durability level, std::optional<StoreTicket> ticket) {
  Track* const opened = Open(track);
  if (opened == nullptr) {
    return;
  }
  Track& state = *opened;
  if (std::exchange(state.recalled, false)) {
    state.reached.erase(Durability::kMemory);  // Its publisher waits for more.
  }
  state.level = std::max(state.level, level);
  End(track, std::nullopt);
  if (ticket) {
    // What is told now says all that was told before: how that went no longer matters.
    state.failed = false;
    state.told = ticket;
    ++state.waiting;
    tickets_.emplace(*ticket, Write{track, state.life});
  }
}

void AckBook::End(const TrackName& track, std::optional<Instant> until) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end()) {
    return;
  }
  if (const auto before = std::exchange(found->second.until, until)) {
    ending_.erase({*before, track});
  }
  if (until) {
    ending_.emplace(*until, track);
  }
}

void AckBook::OnAsked(const TrackName& track, uint64_t group, StoreTicket ticket) {
  if (const auto found = tracks_.find(track); found != tracks_.end()) {
    ++found->second.groups[group].waiting;
    tickets_.emplace(ticket, Write{track, found->second.life, group});
  }
}

std::vector<EvictedGroup> AckBook::OnWritten(const StoreWritten& written) {
  const auto ticket = tickets_.find(written.ticket);
  if (ticket == tickets_.end()) {
    return {};
  }
  const auto [name, life, number] = ticket->second;
  tickets_.erase(ticket);
  const auto track = tracks_.find(name);
  if (track == tracks_.end() || track->second.life != life) {
    return {};  // Nobody waits for it any more.
  }
  if (number) {
    Group& group = track->second.groups[*number];
    --group.waiting;
    group.failed = group.failed || written.error;
    group.level = std::min(group.level, written.level);
    return {{name, *number}};
  }
  --track->second.waiting;
  track->second.failed =
      track->second.told == written.ticket ? written.error.has_value() : track->second.failed;
  std::vector<EvictedGroup> groups;
  for (const auto& [waiting_number, group] : track->second.groups) {
    groups.push_back({name, waiting_number});
  }
  return groups;
}

std::vector<EvictedGroup> AckBook::Unsettled(const TrackName& name,
                                             std::optional<uint64_t> only) const {
  std::vector<EvictedGroup> groups;
  const auto track = tracks_.find(name);
  if (track == tracks_.end() || track->second.waiting > 0) {
    return groups;
  }
  for (auto group = track->second.groups.lower_bound(only.value_or(0));
       group != track->second.groups.end() && (!only || group->first == *only); ++group) {
    if (group->second.waiting == 0) {
      groups.push_back({name, group->first});
    }
  }
  return groups;
}

void AckBook::Settle(const TrackName& name, uint64_t number, bool whole) {
  const auto found = tracks_.find(name);
  if (found == tracks_.end()) {
    return;
  }
  Track& track = found->second;
  const auto group = track.groups.find(number);
  if (group == track.groups.end() || group->second.waiting > 0 || track.waiting > 0) {
    return;
  }
  if (group->second.failed || track.failed) {
    Tell(track, name, std::nullopt, number, number);
    track.groups.erase(group);
  } else if (whole) {
    const Durability level = group->second.level;
    Add(track.reached[level], number);
    Tell(track, name, level, number, number);
    track.groups.erase(group);
  }
}

void AckBook::Recall(const TrackName& name, const std::vector<Standing>& groups, Instant until) {
  Track* const track = groups.empty() && !tracks_.contains(name) ? nullptr : Open(name);
  if (track == nullptr) {
    return;
  }
  track->reached.clear();  // Things may have changed.
  if (track->recalled) {
    End(name, until);
  }
  const bool told = track->waiting == 0 && !track->failed;
  for (const auto& [group, level] : groups) {
    const bool durable = level != Durability::kMemory && told && !track->groups.contains(group);
    if (track->recalled || durable) {
      Add(track->reached[level], group);
    }
  }
}

void AckBook::Add(Runs& runs, uint64_t group) {
  auto after = runs.upper_bound(group);
  auto run = after == runs.begin() ? runs.end() : std::prev(after);
  if (run != runs.end() && run->second + 1 >= group) {
    run->second = std::max(run->second, group);
  } else {
    run = runs.emplace(group, group).first;
  }
  if (after != runs.end() && after->first == group + 1) {
    run->second = after->second;
    runs.erase(after);
  }
  if (runs.size() > kRunsMax) {
    runs.erase(runs.begin());
  }
}

void AckBook::Tell(const Track& track, const TrackName& name, std::optional<Durability> level,
                   uint64_t first, uint64_t last) {
  changed_.insert(track.ack_track);
  std::vector<AckRecord>& records = ack_tracks_.at(track.ack_track).records;
  AckRecord* const before = records.empty() ? nullptr : &records.back();
  if (before != nullptr && before->name == name.name() && before->level == level &&
      before->last + 1 == first) {
    before->last = last;
  } else {
    records.push_back({level, name.name(), first, last});
  }
}

void AckBook::Repeat(const TrackName& ack_track) {
  const TrackName first_name = *TrackName::Of(ack_track.space(), "");
  for (auto found = tracks_.lower_bound(first_name);
       found != tracks_.end() && found->first.space() == ack_track.space(); ++found) {
    const TrackName& name = found->first;
    const Track& track = found->second;
    for (const auto& [level, runs] : track.reached) {
      for (const auto& [first, last] : runs) {
        Tell(track, name, level, first, last);
      }
    }
  }
}

std::vector<AckObject> AckBook::TakeObjects() {
  std::vector<AckObject> objects;
  for (const TrackName& name : std::exchange(changed_, {})) {
    const auto found = ack_tracks_.find(name);
    if (found == ack_tracks_.end()) {
      continue;
    }
    AckTrack& ack_track = found->second;
    const std::vector<AckRecord> records = std::exchange(ack_track.records, {});
    for (size_t first = 0; first < records.size(); first += kRecordsMax) {
      const size_t last = std::min(records.size(), first + kRecordsMax);
      Object object;
      object.location = {group_, ack_track.next_object++};
      object.payload = EncodeAcks({records.begin() + static_cast<ptrdiff_t>(first),
                                   records.begin() + static_cast<ptrdiff_t>(last)});
      objects.push_back({name, std::move(object)});
    }
  }
  return objects;
}

bool AckBook::Erase(const TrackName& name) {
  End(name, std::nullopt);
  const auto track = tracks_.find(name);
  const auto ack_track = ack_tracks_.find(track->second.ack_track);
  tracks_.erase(track);
  const bool last = --ack_track->second.tracks == 0;
  if (last) {
    ack_tracks_.erase(ack_track);
  }
  return last;
}

}  // namespace kvcast::relay
