#include "kvcast/catalog/holdings_feed.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace kvcast {
namespace {

// Every block of `one` that `other` does not have under the same name. Numbers of tracks mean
// nothing from one epoch to the next.
void AddMissing(const Holdings& one, const Holdings& other, bool added,
                std::vector<HoldingsChange>& to) {
  std::multimap<TrackName, const Holdings::Track*> by_name;
  for (const auto& [id, track] : other.tracks()) {
    by_name.emplace(track.name, &track);
  }
  for (const auto& [id, track] : one.tracks()) {
    const auto [first, last] = by_name.equal_range(track.name);
    for (const auto& [group, block] : track.groups) {
      bool found = false;
      for (auto each = first; each != last && !found; ++each) {
        const auto there = each->second->groups.find(group);
        found = there != each->second->groups.end() && there->second == block;
      }
      if (!found) {
        to.push_back({added, track.name, group, block});
      }
    }
  }
}

}  // namespace

void HoldingsFeed::BeginAgain() {
  if (!told_) {
    told_ = std::move(holdings_);
  }
  holdings_ = Holdings(limits_);
}

void HoldingsFeed::Restart() {
  BeginAgain();
  reader_.Restart();
  broken_ = false;
}

Result<void> HoldingsFeed::OnObject(Location location, const Bytes& payload) {
  const uint64_t epoch = reader_.wanted().group;
  Result<CatalogReader::Update> update = reader_.OnObject(location, payload);
  if (reader_.wanted().group != epoch) {
    broken_ = false;
    BeginAgain();
  }
  if (!update.ok()) {
    BeginAgain();
    return std::move(update).error();
  }
  if (broken_) {
    return {};
  }
  for (size_t i = 0; i < update->records.size(); ++i) {
    const size_t noted = changes_.size();
    if (!told_) {
      Note(update->records[i]);
    }
    if (Result<void> applied = holdings_.Apply(update->records[i]); !applied.ok()) {
      changes_.erase(changes_.begin() + static_cast<ptrdiff_t>(noted), changes_.end());
      broken_ = true;
      BeginAgain();
      return std::move(applied).error().In("catalog object " + location.ToString() + ", record " +
                                           std::to_string(i));
    }
  }
  if (told_ && reader_.synced()) {
    TellDifference();
  }
  return {};
}

// Before it is applied, while what it removes is still there.
void HoldingsFeed::Note(const CatalogRecord& record) {
  const auto found =
      holdings_.tracks().find(std::visit([](const auto& any) { return any.id; }, record));
  if (found == holdings_.tracks().end()) {
    return;
  }
  const auto& [name, groups] = found->second;
  if (const auto* add = std::get_if<AddRecord>(&record)) {
    if (!groups.contains(add->group)) {
      changes_.push_back({true, name, add->group, {add->key, add->bytes}});
    }
  } else if (const auto* remove = std::get_if<RemoveRecord>(&record)) {
    if (const auto group = groups.find(remove->group); group != groups.end()) {
      changes_.push_back({false, name, group->first, group->second});
    }
  } else if (std::holds_alternative<DropRecord>(record)) {
    for (const auto& [group, block] : groups) {
      changes_.push_back({false, name, group, block});
    }
  }
}

void HoldingsFeed::TellDifference() {
  const Holdings before = *std::exchange(told_, std::nullopt);
  AddMissing(before, holdings_, false, changes_);
  AddMissing(holdings_, before, true, changes_);
}

void HoldingsFeed::End() {
  Restart();
  TellDifference();
}

std::vector<HoldingsChange> HoldingsFeed::TakeChanges() { return std::exchange(changes_, {}); }

}  // namespace kvcast
