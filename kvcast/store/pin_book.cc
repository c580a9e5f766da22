#include "kvcast/store/pin_book.h"

namespace kvcast {

bool PinBook::Add(RamGroup& group, PinOwner owner, Instant until) {
  const auto [pin, is_new] = pins_.try_emplace({group.serial, owner}, Pin{&group, until});
  if (!is_new) {
    times_.erase({pin->second.until, owner, group.serial});
    pin->second.until = until;
  } else {
    owners_.emplace(owner, group.serial);
    group_bytes_ += group.pins++ == 0 ? group.bytes : 0;
  }
  times_.emplace(until, owner, group.serial);
  return is_new && group.pins == 1;
}

bool PinBook::Remove(Pins::iterator pin) {
  RamGroup& group = *pin->second.group;
  const PinOwner owner = pin->first.second;
  owners_.erase({owner, group.serial});
  times_.erase({pin->second.until, owner, group.serial});
  pins_.erase(pin);
  if (--group.pins > 0) {
    return false;
  }
  group_bytes_ -= group.bytes;
  return true;
}

std::vector<RamGroup*> PinBook::RemoveOwner(PinOwner owner) {
  std::vector<RamGroup*> free;
  for (auto next = owners_.lower_bound({owner, 0}); next != owners_.end() && next->first == owner;
       next = owners_.lower_bound({owner, 0})) {
    const auto pin = pins_.find({next->second, owner});
    RamGroup* const group = pin->second.group;
    if (Remove(pin)) {
      free.push_back(group);
    }
  }
  return free;
}

std::vector<RamGroup*> PinBook::RemoveDue(Instant now) {
  std::vector<RamGroup*> free;
  while (!times_.empty() && std::get<Instant>(*times_.begin()) <= now) {
    const auto [until, owner, serial] = *times_.begin();
    const auto pin = pins_.find({serial, owner});
    RamGroup* const group = pin->second.group;
    if (Remove(pin)) {
      free.push_back(group);
    }
  }
  return free;
}

void PinBook::RemoveGroup(RamGroup& group) {
  while (!Remove(pins_.lower_bound({group.serial, 0}))) {
  }
}

std::optional<Instant> PinBook::next() const {
  return times_.empty() ? std::nullopt : std::optional(std::get<Instant>(*times_.begin()));
}

}  // namespace kvcast
