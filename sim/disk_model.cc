#include "sim/disk_model.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast::sim {

DiskModel::DiskModel() {
  for (uint64_t track = 0; track < kTracks; ++track) {
    for (uint64_t group = 0; group < kGroups; ++group) {
      for (uint64_t object = 0; object < kObjects; ++object) {
        names_.push_back({track, {group, object}});
        promises_[names_.back()];
      }
    }
  }
}

TrackName DiskModel::Track(uint64_t track) {
  const std::string tenant = track == kReserved ? kReserver : "tenant";
  return *TrackName::Of(*TrackNamespace::Of({"service", tenant}), std::to_string(track));
}

Properties DiskModel::PropertiesOf(uint64_t track) {
  return PropertiesBuilder().Number(2, 1000 + track).Build();
}

Object DiskModel::ObjectOf(const Name& name) {
  const uint64_t number =
      (name.track * kGroups + name.location.group) * kObjects + name.location.object;
  Random random(number);
  Object object;
  object.location = name.location;
  object.subgroup = number;
  object.priority = static_cast<uint8_t>(random.Below(256));
  object.properties = PropertiesBuilder().Number(0x3c, number).Build();
  std::string payload(random.Below(3) == 0 ? random.Below(6000) : random.Below(600), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  object.payload = Bytes::Of(payload);
  return object;
}

std::vector<DiskModel::Name> DiskModel::NamesOf(uint64_t track,
                                                std::optional<uint64_t> group) const {
  std::vector<Name> found;
  std::ranges::copy_if(names_, std::back_inserter(found), [&](const Name& name) {
    return name.track == track && (!group || name.location.group == *group);
  });
  return found;
}

void DiskModel::OnPut(TierTicket ticket, const Name& name) {
  Promise& promise = promises_.at(name);
  promise.put = ++operations_;
  promise.gone = false;
  asked_[ticket] = {Kind::kPut, operations_, name, std::nullopt};
}

void DiskModel::OnRemove(TierTicket ticket, uint64_t track, std::optional<uint64_t> group) {
  ++operations_;
  for (const Name& name : NamesOf(track, group)) {
    promises_.at(name).removed = operations_;
    promises_.at(name).here = false;
  }
  if (!group) {
    described_[track] = false;
    largest_[track].reset();
    track_removed_[track] = operations_;
  }
  asked_[ticket] = {Kind::kRemove, operations_, {track, {}}, group};
}

void DiskModel::OnDescribe(TierTicket ticket, uint64_t track) {
  asked_[ticket] = {Kind::kDescribe, ++operations_, {track, {}}, std::nullopt};
}

void DiskModel::OnWritten(const TierWritten& written) {
  const auto found = asked_.find(written.ticket);
  KVCAST_CHECK(found != asked_.end());
  const Asked asked = found->second;
  asked_.erase(found);
  if (written.error) {
    return;
  }
  if (asked.kind == Kind::kPut) {
    Promise& promise = promises_.at(asked.name);
    promise.here = promise.here || asked.operation > promise.removed;
    if (asked.operation > track_removed_[asked.name.track]) {
      auto& largest = largest_[asked.name.track];
      largest = std::max(largest, std::optional(asked.name.location));
    }
  } else if (asked.kind == Kind::kDescribe) {
    if (asked.operation > track_removed_[asked.name.track]) {
      described_[asked.name.track] = true;
    }
  } else {
    for (const Name& name : NamesOf(asked.name.track, asked.group)) {
      Promise& promise = promises_.at(name);
      promise.gone = promise.put < asked.operation;
    }
  }
}

void DiskModel::OnEvicted(const EvictedGroup& evicted) {
  for (const Name& name : names_) {
    if (Track(name.track) == evicted.track && name.location.group == evicted.group) {
      promises_.at(name).here = false;
    }
  }
}

std::string DiskModel::Differs(const Name& name, const std::optional<StoredObject>& found) {
  if (!found) {
    return "";
  }
  const Object expected = ObjectOf(name);
  const bool same = found->object.ConsistentWith(expected) &&
                    found->object.properties == expected.properties &&
                    found->received_us == name.location.object;
  return same ? ""
              : "track " + std::to_string(name.track) + " has other bytes at " +
                    name.location.ToString();
}

}  // namespace kvcast::sim
