#include "kvcast/store/read_desk.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kvcast/store/disk_index.h"

namespace kvcast {
namespace {

// What a container takes for an entry, besides what is in it.
constexpr size_t kWaiterNodeBytes = 48;

}  // namespace

// A read's name is where it is found, and with the tier that was asked or is to be.
size_t ReadDesk::BytesOfReading(const TrackName& track) {
  return 2 * (sizeof(Name) + HeapBytesOf(track) + kWaiterNodeBytes) + sizeof(Reading);
}

// Who waits has a ticket there, one with the read, and one with its deadline.
size_t ReadDesk::BytesOfWaiter(const TrackName& track) {
  return sizeof(Waiter) + HeapBytesOf(track) + 3 * kWaiterNodeBytes;
}

std::optional<ReadDesk::Readings::iterator> ReadDesk::Find(const TrackName& track,
                                                           Location location) {
  const auto [reading, is_new] = readings_.try_emplace({track, location});
  if (is_new) {
    const auto holder = tiers_->Holder(track, location);
    if (!holder) {
      readings_.erase(reading);
      return std::nullopt;
    }
    reading->second.tier = *holder;
    bytes_ += BytesOfReading(track);
  }
  return reading;
}

bool ReadDesk::Ask(StoreTicket ticket, const TrackName& track, Location location, Instant now,
                   std::optional<Duration> patience) {
  if (tickets_.size() >= limits_.waiting_max || bytes_ >= limits_.bytes_max) {
    return false;
  }
  const auto reading = Find(track, location);
  if (!reading) {
    return false;
  }
  (*reading)->second.tickets.insert(ticket);
  const Instant until = now + std::min(limits_.patience, patience.value_or(limits_.patience));
  tickets_.emplace(ticket, Waiter{{track, location}, until});
  bytes_ += BytesOfWaiter(track);
  deadlines_.emplace(until, ticket);
  AskTier(*reading, now);
  return true;
}

bool ReadDesk::Prefetch(const TrackName& track, Location location, Instant now) {
  const auto reading = Find(track, location);
  if (!reading) {
    return false;
  }
  if (!std::exchange((*reading)->second.prefetch, true)) {
    ++prefetching_;
  }
  AskTier(*reading, now);
  return true;
}

void ReadDesk::Cancel(StoreTicket ticket) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) {
    return;
  }
  const auto reading = readings_.find(found->second.name);
  reading->second.tickets.erase(ticket);
  deadlines_.erase({found->second.until, ticket});
  bytes_ -= BytesOfWaiter(found->second.name.first);
  tickets_.erase(found);
  // What a tier was asked for comes; what was to be asked for need not be.
  if (!wanted(reading->second) && !reading->second.asked) {
    if (reading->second.place) {
      queues_.at(reading->second.tier).erase(*reading->second.place);
    }
    bytes_ -= BytesOfReading(reading->first.first);
    readings_.erase(reading);
  }
}

void ReadDesk::AskTier(Readings::iterator reading, Instant now) {
  Reading& state = reading->second;
  if (state.asked || state.place) {
    return;
  }
  const auto& [track, location] = reading->first;
  const auto holder = tiers_->Holder(track, location, state.tier);
  if (!holder) {
    Finish(reading, std::nullopt);
    return;
  }
  state.tier = *holder;
  state.since = now;
  std::map<uint64_t, Name>& queue = queues_[state.tier];
  // Nobody overtakes those who wait already.
  state.asked = queue.empty() ? tiers_->at(state.tier).Get(track, location, now)
                              : std::optional<TierTicket>();
  if (state.asked) {
    asked_.emplace(std::pair(state.tier, *state.asked), reading->first);
  } else {
    state.place = ++last_place_;
    queue.emplace(*state.place, reading->first);
  }
}

bool ReadDesk::OnRead(size_t tier, TierRead read, Instant now) {
  const auto found = asked_.find({tier, read.ticket});
  if (found == asked_.end()) {
    return false;
  }
  const auto reading = readings_.find(found->second);
  asked_.erase(found);
  reading->second.asked.reset();
  // A name stands for one content: that of the first tier which has it, whether or not it answers.
  for (size_t before = 0; before < tier && read.found; ++before) {
    const LowerTier& other = tiers_->at(before);
    if (other.ready() && !other.CheckSame(reading->first.first, read.found->object).ok()) {
      read.found.reset();
    }
  }
  if (read.found) {
    Finish(reading, std::move(read.found));
  } else {
    Reading& state = reading->second;
    state.trials.push_back({tier, TierTrial::Outcome::kFailed, now - state.since});
    ++state.tier;
    AskTier(reading, now);
  }
  return true;
}

void ReadDesk::Finish(Readings::iterator reading, std::optional<StoredObject> found) {
  const bool prefetch = reading->second.prefetch;
  Finished finished{
      reading->first.first, reading->first.second, std::move(found), {}, prefetch, {}};
  if (!finished.found) {
    finished.trials = std::move(reading->second.trials);
  }
  for (const StoreTicket ticket : reading->second.tickets) {
    const auto waiter = tickets_.find(ticket);
    deadlines_.erase({waiter->second.until, ticket});
    bytes_ -= BytesOfWaiter(waiter->second.name.first);
    tickets_.erase(waiter);
    finished.tickets.push_back(ticket);
  }
  prefetching_ -= prefetch ? 1 : 0;
  bytes_ -= BytesOfReading(reading->first.first);
  readings_.erase(reading);
  finished_.push_back(std::move(finished));
}

void ReadDesk::Drop(const TrackName& track) {
  for (auto reading = readings_.lower_bound({track, Location{0, 0}});
       reading != readings_.end() && reading->first.first == track;) {
    const auto next = std::next(reading);
    const Reading& state = reading->second;
    if (state.asked) {
      asked_.erase({state.tier, *state.asked});
    }
    if (state.place) {
      queues_[state.tier].erase(*state.place);
    }
    Finish(reading, std::nullopt);
    reading = next;
  }
}

void ReadDesk::Pump(Instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const StoreTicket ticket = deadlines_.begin()->second;
    const Name name = tickets_.at(ticket).name;
    ++timeouts_;
    const Reading& state = readings_.at(name);
    std::vector<TierTrial> trials = state.trials;
    trials.push_back({state.tier, TierTrial::Outcome::kTooLate, now - state.since});
    Cancel(ticket);
    finished_.push_back(
        {name.first, name.second, std::nullopt, {ticket}, false, std::move(trials)});
  }
  for (auto& [tier, queue] : queues_) {
    while (!queue.empty()) {
      const auto reading = readings_.find(queue.begin()->second);
      Reading& state = reading->second;
      const auto& [track, location] = reading->first;
      const bool here = tiers_->at(tier).PresenceOf(track, location) == Presence::kExists;
      if (here) {
        state.asked = tiers_->at(tier).Get(track, location, now);
        if (!state.asked) {
          break;
        }
        asked_.emplace(std::pair(tier, *state.asked), reading->first);
      }
      queue.erase(queue.begin());
      state.place.reset();
      if (!here) {
        AskTier(reading, now);
      }
    }
  }
}

std::optional<Instant> ReadDesk::deadline() const {
  return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first);
}

}  // namespace kvcast
