#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/lower_tier.h"
#include "kvcast/store/nearest_key.h"

namespace kvcast {

// A tier below RAM that does what a test tells it: delays, fails, loses, is full or not ready. What
// it was asked for comes to its end when the test says so.
class FakeTier final : public LowerTier {
 public:
  bool is_ready = true;
  bool refuses = false;        // Writes, at once.
  bool refuses_facts = false;  // What is told of tracks.
  bool is_away = false;
  bool owes = false;             // What it was told of tracks did not become durable.
  size_t reads_max = 64;         // At a time.
  size_t writes_max = SIZE_MAX;  // Of objects: more are too much for it.

  bool ready() const override { return is_ready; }
  bool away() const override { return is_away; }
  void HandOverEvicted() override { hands_over_ = true; }
  void OnTime(Instant) override {}
  std::optional<Instant> deadline() const override { return std::nullopt; }
  std::optional<TierEvent> Next() override {
    if (events_.empty()) {
      return std::nullopt;
    }
    TierEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  Result<TierTicket> Put(const TrackName& track, const Object& object, uint64_t received_us,
                         Instant) override {
    if (Takes()) {
      if (PresenceOf(track, object.location) == Presence::kGone) {
        return Error(ErrorCode::kMismatch, "None can stand there.");
      }
      const StoredObject* known = Find(track, object.location);
      if (known != nullptr && !known->object.ConsistentWith(object)) {
        return Error(ErrorCode::kMismatch, "Another stands there.");
      }
      if (known != nullptr) {
        events_.push_back(TierWritten{++last_ticket_, std::nullopt});
        return last_ticket_;
      }
      if (writes_.size() >= writes_max) {
        return Error(ErrorCode::kTooLarge, "Too much waits.");
      }
      writes_.push_back({++last_ticket_, track, StoredObject{object, received_us}});
      return last_ticket_;
    }
    return Refusal();
  }
  Result<void> CheckSame(const TrackName& track, const Object& object) const override {
    const StoredObject* known = Find(track, object.location);
    const bool waits = std::ranges::any_of(writes_, [&](const Write& write) {
      return write.stored && write.track == track &&
             write.stored->object.location == object.location &&
             !write.stored->object.ConsistentWith(object);
    });
    if (waits || (known != nullptr && !known->object.ConsistentWith(object))) {
      return Error(ErrorCode::kMismatch, "Another stands there.");
    }
    return {};
  }
  Result<TierTicket> Describe(const TrackName& track, const TrackFacts& facts, Instant) override {
    if (!Takes() || refuses_facts) {
      return Refusal();
    }
    ++describe_count;
    TrackFacts& known = tracks_[track].facts;
    known.properties = known.properties.empty() ? facts.properties : known.properties;
    known.largest = std::max(known.largest, facts.largest);
    known.end = facts.end ? facts.end : known.end;
    for (const LocationRange& gap : facts.gaps) {
      if (!known.HasGap(gap)) {
        known.gaps.push_back(gap);
      }
    }
    writes_.push_back({++last_ticket_, track, std::nullopt, Told(std::in_place)});
    return last_ticket_;
  }
  Result<TierTicket> EndGroup(const TrackName& track, const GroupEnd& end, Instant) override {
    if (!Takes()) {
      return Refusal();
    }
    tracks_[track].groups[end.group].end = end.end;
    writes_.push_back({++last_ticket_, track, std::nullopt, Told(end.group)});
    return last_ticket_;
  }
  bool HasOwed() const override { return owes; }
  void PayAllOwed(Instant) override { owes = owes && !Takes(); }
  Result<TierTicket> Remove(const TrackName& track, std::optional<uint64_t> group,
                            Instant) override {
    if (!Takes()) {
      return Refusal();
    }
    for (Write& write : writes_) {
      if (write.track == track && write.stored &&
          (!group || write.stored->object.location.group == *group)) {
        write.stored.reset();  // It is not there when it is written.
      }
    }
    if (group) {
      tracks_[track].groups.erase(*group);
    } else {
      tracks_.erase(track);
    }
    writes_.push_back({++last_ticket_, track, std::nullopt});
    return last_ticket_;
  }
  std::optional<TierTicket> Get(const TrackName& track, Location location, Instant) override {
    if (!is_ready || reads_.size() >= reads_max || Find(track, location) == nullptr) {
      return std::nullopt;
    }
    ++get_count;
    reads_.push_back({++last_ticket_, track, location});
    return last_ticket_;
  }

  Presence PresenceOf(const TrackName& track, Location location) const override {
    const auto found = tracks_.find(track);
    if (found == tracks_.end()) {
      return Presence::kUnknown;
    }
    const auto group = found->second.groups.find(location.group);
    const bool ended = group != found->second.groups.end() && group->second.end &&
                       location.object >= *group->second.end;
    const bool gone = ended || found->second.facts.IsGone(location) || AbsentUpTo(track, location);
    return Find(track, location) != nullptr ? Presence::kExists
           : gone                           ? Presence::kGone
                                            : Presence::kUnknown;
  }
  const TrackFacts* FindTrack(const TrackName& track) const override {
    const auto found = tracks_.find(track);
    return !is_ready || found == tracks_.end() ? nullptr : &found->second.facts;
  }
  bool Covers(const TrackName& track, const TrackFacts& facts) const override {
    const TrackFacts* const known = FindTrack(track);
    return known != nullptr && known->Covers(facts) && !owes;
  }
  bool HasWritten(const TrackName& track, std::optional<uint64_t> group) const override {
    return !owes && std::ranges::none_of(writes_, [&](const Write& write) {
      return write.track == track && write.told == Told(group);
    });
  }
  std::optional<GroupFacts> FindGroup(const TrackName& track, uint64_t group) const override {
    const Group* found = GroupOf(track, group);
    if (found == nullptr) {
      return std::nullopt;
    }
    GroupFacts facts{found->end, found->objects.size(), 0};
    for (const auto& [number, stored] : found->objects) {
      facts.payload_bytes += stored.object.payload.size();
      facts.absent_count += stored.object.AbsentBefore();
    }
    if (found->end) {
      facts.absent_count += FindTrack(track)->AbsentIn(
          group, *found->end, [&](uint64_t first, uint64_t last) -> uint64_t {
            const auto next = found->objects.lower_bound(first);
            return next == found->objects.end()
                       ? 0
                       : AbsentBehind(first, last, next->first, next->second.object.AbsentBefore());
          });
    }
    return facts;
  }
  bool Expects(const TrackName& track, uint64_t group) const override {
    return std::ranges::any_of(writes_, [&](const Write& write) {
      return write.track == track && write.stored && write.stored->object.location.group == group;
    });
  }
  std::optional<Digest> KeyOf(const TrackName& track, uint64_t group) const override {
    const StoredObject* first = Find(track, {group, 0});
    const auto inner = first == nullptr ? std::nullopt : first->object.properties.Immutable();
    const auto found = inner ? inner->Find(0x3801) : std::nullopt;
    std::optional<Digest> key;
    if (found) {
      std::ranges::copy(AsBytes(found->bytes), key.emplace().bytes.begin());
    }
    return key;
  }
  std::optional<uint64_t> GroupFrom(const TrackName& track, uint64_t group) const override {
    const auto found = tracks_.find(track);
    return found == tracks_.end() ? std::nullopt : KeyFrom(found->second.groups, group);
  }
  std::optional<uint64_t> GroupUpTo(const TrackName& track, uint64_t group) const override {
    const auto found = tracks_.find(track);
    return found == tracks_.end() ? std::nullopt : KeyUpTo(found->second.groups, group);
  }
  std::optional<uint64_t> ObjectFrom(const TrackName& track, Location location) const override {
    const Group* group = GroupOf(track, location.group);
    return group == nullptr ? std::nullopt : KeyFrom(group->objects, location.object);
  }
  std::optional<uint64_t> AbsentUpTo(const TrackName& track, Location location) const override {
    const Group* const group = GroupOf(track, location.group);
    const auto next = group == nullptr ? std::map<uint64_t, StoredObject>::const_iterator()
                                       : group->objects.upper_bound(location.object);
    const bool gone = group != nullptr && next != group->objects.end() &&
                      next->first - location.object <= next->second.object.AbsentBefore();
    return gone ? std::optional(next->first - 1) : std::nullopt;
  }
  // All at once, whatever is asked for.
  std::vector<ListedGroup> Groups(const std::optional<EvictedGroup>& after, size_t) const override {
    std::vector<ListedGroup> listed;
    for (const auto& [name, track] : tracks_) {
      for (const auto& [number, group] : track.groups) {
        ListedGroup& entry = listed.emplace_back(ListedGroup{name, number, std::nullopt, {}});
        entry.facts = *FindGroup(name, number);
        entry.key = KeyOf(name, number);
      }
    }
    return after ? std::vector<ListedGroup>() : listed;
  }
  std::vector<TrackName> Tracks(const std::optional<TrackName>& after,
                                size_t count_max) const override {
    std::vector<TrackName> names;
    for (auto track = after ? tracks_.upper_bound(*after) : tracks_.begin();
         track != tracks_.end() && names.size() < count_max; ++track) {
      names.push_back(track->first);
    }
    return names;
  }

  // For the test.
  const StoredObject* Find(const TrackName& track, Location location) const {
    const Group* group = GroupOf(track, location.group);
    const auto object = group == nullptr ? std::map<uint64_t, StoredObject>::const_iterator()
                                         : group->objects.find(location.object);
    return group == nullptr || object == group->objects.end() ? nullptr : &object->second;
  }
  // What another process finds that begins where this one ended.
  std::unique_ptr<FakeTier> AfterDeath() const {
    auto after = std::make_unique<FakeTier>();
    after->tracks_ = tracks_;
    return after;
  }
  size_t writes() const { return writes_.size(); }
  size_t reads() const { return reads_.size(); }
  // The write or read that was asked for first, or one at random, comes to its end.
  void FinishWrite(bool fails = false, size_t which = 0) {
    const Write write = std::move(writes_[which]);
    writes_.erase(writes_.begin() + static_cast<ptrdiff_t>(which));
    std::optional<Error> error;
    if (fails) {
      error = Error(ErrorCode::kMachine, "It failed.");
    } else if (write.stored) {
      const Location at = write.stored->object.location;
      Track& track = tracks_[write.track];
      track.groups[at.group].objects.emplace(at.object, *write.stored);
      track.facts.largest = std::max(track.facts.largest, std::optional(at));
    }
    if (write.told && !fails && HasWritten(write.track, *write.told)) {
      events_.push_back(TierTold{write.track, *write.told});
    }
    events_.push_back(TierWritten{write.ticket, error});
  }
  void FinishWrites() {
    while (!writes_.empty()) {
      FinishWrite();
    }
  }
  void FinishRead(bool fails = false, size_t which = 0) {
    const Read read = reads_[which];
    reads_.erase(reads_.begin() + static_cast<ptrdiff_t>(which));
    const StoredObject* stored = Find(read.track, read.location);
    events_.push_back(
        TierRead{read.ticket, fails || stored == nullptr ? std::nullopt : std::optional(*stored)});
  }
  // Somebody else has put a whole group.
  void Arrive(const TrackName& track, uint64_t group, const std::vector<Object>& objects) {
    Track& known = tracks_[track];
    for (const Object& object : objects) {
      known.groups[group].objects.emplace(object.location.object, StoredObject{object, 0});
      known.facts.largest = std::max(known.facts.largest, std::optional(object.location));
    }
    known.groups[group].end = objects.size();
    for (ListedGroup& listed : Groups(std::nullopt, 0)) {
      if (listed.track == track && listed.group == group) {
        events_.push_back(TierArrived{std::move(listed)});
      }
    }
  }
  void Evict(const TrackName& track, uint64_t group) {
    const Group* const found = GroupOf(track, group);
    if (found == nullptr) {
      return;
    }
    TierEvicted evicted{{track, group}};
    if (hands_over_ && FindGroup(track, group)->whole() && !found->objects.empty()) {
      evicted.contents = EvictedContents{{track, group}, found->end, std::nullopt, 0, {}};
      for (const auto& [number, stored] : found->objects) {
        evicted.contents->bytes += stored.object.payload.size();
        evicted.contents->objects.push_back(stored);
      }
    }
    tracks_.at(track).groups.erase(group);
    events_.push_back(std::move(evicted));
  }
  size_t get_count = 0;
  size_t describe_count = 0;

 private:
  struct Group {
    std::map<uint64_t, StoredObject> objects;
    std::optional<uint64_t> end;
  };
  struct Track {
    TrackFacts facts;
    std::map<uint64_t, Group> groups;
  };
  // What was told of: the end of a group, or the track.
  using Told = std::optional<std::optional<uint64_t>>;
  struct Write {
    TierTicket ticket;
    TrackName track;
    std::optional<StoredObject> stored;
    Told told{};
  };
  struct Read {
    TierTicket ticket;
    TrackName track;
    Location location;
  };

  bool Takes() const { return is_ready && !refuses; }
  static Error Refusal() { return Error(ErrorCode::kMachine, "The disk is full."); }
  const Group* GroupOf(const TrackName& track, uint64_t group) const {
    const auto found = tracks_.find(track);
    if (!is_ready || found == tracks_.end() || !found->second.groups.contains(group)) {
      return nullptr;
    }
    return &found->second.groups.at(group);
  }

  std::map<TrackName, Track> tracks_;
  std::deque<Write> writes_;
  std::deque<Read> reads_;
  std::deque<TierEvent> events_;
  TierTicket last_ticket_ = 0;
  bool hands_over_ = false;
};

}  // namespace kvcast
