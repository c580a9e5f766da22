#include "kvcast/relay/expiry_book.h"

#include <algorithm>

#include "kvcast/store/disk_index.h"

namespace kvcast::relay {

void ExpiryBook::Unlist(Tracks::iterator track, uint64_t number) {
  const Group& group = track->second.at(number);
  if (group.first < group.entries.size()) {
    firsts_.erase({group.entries[group.first].at, &track->first, number});
  }
}

void ExpiryBook::List(Tracks::iterator track, uint64_t number) {
  const Group& group = track->second.at(number);
  firsts_.insert({group.entries[group.first].at, &track->first, number});
}

void ExpiryBook::Erase(Tracks::iterator track, uint64_t number) {
  track->second.erase(number);
  if (track->second.empty()) {
    bytes_ -= HeapBytesOf(track->first);
    tracks_.erase(track);
  }
}

void ExpiryBook::Add(const TrackName& name, Location location, Instant at) {
  const auto [track, is_new] =
      tracks_.try_emplace(name, CountedAllocator<Groups::value_type>(&bytes_));
  bytes_ += is_new ? HeapBytesOf(name) : 0;
  Group& group = track->second.try_emplace(location.group, &bytes_).first->second;
  Unlist(track, location.group);
  const auto first = group.entries.begin() + static_cast<ptrdiff_t>(group.first);
  group.entries.insert(std::ranges::upper_bound(first, group.entries.end(), at, {}, &Entry::at),
                       {at, location.object});
  List(track, location.group);
  if (group.joined) {
    Join(name, location.group);
  }
}

void ExpiryBook::Forget(const TrackName& name, uint64_t group) {
  const auto track = tracks_.find(name);
  if (track != tracks_.end() && track->second.contains(group)) {
    Unlist(track, group);
    Erase(track, group);
  }
}

void ExpiryBook::Join(const TrackName& name, uint64_t number) {
  const auto track = tracks_.find(name);
  if (track != tracks_.end() && track->second.contains(number)) {
    Group& group = track->second.at(number);
    const Entry first = group.entries[group.first];
    group.entries.assign(1, first);
    group.entries.shrink_to_fit();
    group.first = 0;
    group.joined = true;
  }
}

void ExpiryBook::AddGroup(const TrackName& name, uint64_t number, Instant at) {
  Add(name, {number, 0}, at);
  Join(name, number);
}

bool ExpiryBook::Has(const TrackName& name, uint64_t group) const {
  const auto track = tracks_.find(name);
  return track != tracks_.end() && track->second.contains(group);
}

std::optional<Instant> ExpiryBook::next() const {
  return firsts_.empty() ? std::nullopt : std::optional(std::get<Instant>(*firsts_.begin()));
}

std::optional<ExpiryBook::Expired> ExpiryBook::TakeDue(Instant now) {
  if (!next() || *next() > now) {
    return std::nullopt;
  }
  const uint64_t number = std::get<uint64_t>(*firsts_.begin());
  const auto track = tracks_.find(*std::get<const TrackName*>(*firsts_.begin()));
  Group& group = track->second.at(number);
  Unlist(track, number);
  Expired expired{track->first, number, std::nullopt};
  const Entry& due = group.entries[group.first++];
  if (!group.joined) {
    expired.object = due.object;
  }
  if (group.first == group.entries.size()) {
    Erase(track, number);
  } else {
    List(track, number);
  }
  return expired;
}

}  // namespace kvcast::relay
