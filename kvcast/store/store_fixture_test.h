#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/fake_tier_test.h"
#include "kvcast/store/store.h"

namespace kvcast {

inline const TrackName kStoreTrack = *TrackName::Of(*TrackNamespace::Of({"a", "b"}), "t");
inline constexpr size_t kStorePayloadBytes = 1000;

inline std::string StorePayload(Location at) {
  return std::string(kStorePayloadBytes, static_cast<char>('a' + at.group)) + at.ToString();
}
inline Object StoreObject(Location at) {
  Object object;
  object.location = at;
  object.payload = Bytes::Of(StorePayload(at));
  return object;
}

// A store of some RAM and fake tiers below.
class StoreTest : public testing::Test {
 protected:
  static constexpr Instant kBegin{std::chrono::hours(1)};

  void Make(size_t disks, size_t ram_bytes = 1 << 20) {
    StoreOptions options;
    options.ram_bytes = ram_bytes;
    options.epoch_us = 1'000'000'000;
    options.reads.patience = std::chrono::seconds(10);
    options.max_cache_ms = [](const Properties& properties) {
      const auto most = properties.Find(4);
      return most ? std::optional(most->number) : std::nullopt;
    };
    options.warming = warming_;
    store_ = std::make_unique<Store>(options);
    disks_.clear();
    for (size_t i = 0; i < disks; ++i) {
      auto tier = std::make_unique<FakeTier>();
      disks_.push_back(tier.get());
      store_->AddTier(TierKind::kDisk, std::move(tier));
    }
  }
  // Puts a whole group; nothing if something is refused.
  std::optional<std::vector<StoreTicket>> PutGroup(uint64_t group, uint64_t objects,
                                                   Durability level = Durability::kMemory) {
    std::vector<StoreTicket> tickets;
    for (uint64_t object = 0; object < objects; ++object) {
      const auto kept = store_->Put(kStoreTrack, StoreObject({group, object}), level, now_);
      if (!kept.ok()) {
        return std::nullopt;
      }
      if (kept->ticket) {
        tickets.push_back(*kept->ticket);
      }
    }
    const auto ended = store_->EndGroup(kStoreTrack, group, objects, level, now_);
    if (ended.ok() && *ended) {
      tickets.push_back(**ended);
    }
    return tickets;
  }
  void Take() {
    store_->OnTime(now_);
    while (std::optional<StoreEvent> event = store_->Next()) {
      if (const auto* written = std::get_if<StoreWritten>(&*event)) {
        written_.emplace(written->ticket, *written);
      } else if (const auto* read = std::get_if<StoreRead>(&*event)) {
        EXPECT_TRUE(read_.emplace(read->ticket, read->found).second) << "answered twice";
      } else if (const auto* moved = std::get_if<StoreMoved>(&*event)) {
        moved_.insert(moved->group.group);
      }
    }
  }
  // Everything that the tiers were asked for comes to its end.
  void Finish() {
    for (bool more = true; more;) {
      more = false;
      for (FakeTier* disk : disks_) {
        more = more || disk->writes() + disk->reads() > 0;
        disk->FinishWrites();
        while (disk->reads() > 0) {
          disk->FinishRead();
        }
      }
      Take();
    }
  }
  StoreTicket Ask(Location at) {
    const Store::Got got = store_->Get(kStoreTrack, at, now_);
    EXPECT_TRUE(std::holds_alternative<StoreTicket>(got)) << at.ToString();
    return std::holds_alternative<StoreTicket>(got) ? std::get<StoreTicket>(got) : 0;
  }
  std::optional<std::string> InMemory(Location at) {
    const Store::Got got = store_->Get(kStoreTrack, at, now_);
    if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
      store_->Cancel(*ticket);
    }
    const auto* object = std::get_if<Object>(&got);
    return object == nullptr ? std::nullopt : std::optional(object->payload.ToString());
  }
  // So many groups of four objects as do not fit RAM; the first ones are on disk then.
  void Fill() {
    Make(1, 24'000);
    for (uint64_t group = 0; group < 8; ++group) {
      ASSERT_TRUE(PutGroup(group, 4).has_value());
    }
    Finish();
    ASSERT_TRUE(store_->tiers().at(0).FindGroup(kStoreTrack, 0)->whole());
  }

  // One thing that may happen, to a store or to a tier.
  void Act(Random& random, Location at, FakeTier& disk) {
    switch (random.Below(9)) {
      case 0:
      case 1: {
        const Durability level = random.Happens(0.4) ? Durability::kDisk : Durability::kMemory;
        const auto kept = store_->Put(kStoreTrack, StoreObject(at), level, now_);
        if (kept.ok() && kept->ticket) {
          pledged_[*kept->ticket] = at;
        }
        break;
      }
      case 2:
        (void)store_->EndGroup(kStoreTrack, at.group, 4, Durability::kMemory, now_).ok();
        break;
      case 3:
      case 4: {
        const Store::Got got = store_->Get(kStoreTrack, at, now_);
        if (const auto* object = std::get_if<Object>(&got)) {
          ASSERT_EQ(object->payload.ToString(), StorePayload(at));
        } else if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
          asked_[*ticket] = {at, now_};
        }
        break;
      }
      case 5:
        if (disk.writes() > 0) {
          disk.FinishWrite(random.Happens(0.1), random.Below(disk.writes()));
        }
        break;
      case 6:
        if (disk.reads() > 0) {
          disk.FinishRead(random.Happens(0.1), random.Below(disk.reads()));
        }
        break;
      case 7:
        disk.refuses = random.Happens(0.2);
        disk.reads_max = random.Below(4);
        break;
      default:
        if (random.Happens(0.2)) {
          disk.Evict(kStoreTrack, at.group);
        }
        now_ += std::chrono::milliseconds(random.Below(500));
    }
  }

  Instant now_ = kBegin;
  std::map<StoreTicket, std::pair<Location, Instant>> asked_;  // By those that act at random,
  std::map<StoreTicket, Location> pledged_;                    // and what they were promised.
  WarmQueue::Limits warming_;
  std::unique_ptr<Store> store_;
  std::vector<FakeTier*> disks_;
  std::map<StoreTicket, StoreWritten> written_;
  std::map<StoreTicket, std::optional<StoredObject>> read_;
  std::set<uint64_t> moved_;
};

}  // namespace kvcast
