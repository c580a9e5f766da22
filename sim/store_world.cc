#include "sim/store_world.h"

#include <algorithm>

#include "kvcast/store/disk_eviction.h"

namespace kvcast::sim {
namespace {

constexpr uint64_t kStoreGroups = 10;
constexpr uint64_t kObjects = 4;
constexpr size_t kDisks = 2;
constexpr size_t kRamBytes = 40'000;
constexpr uint64_t kStoreSegmentBytes = 32 << 10;
constexpr uint64_t kStoreBudget = kSuperblockBytes + 8 * kStoreSegmentBytes;
constexpr uint64_t kStorePackBytes = 32 << 10;
constexpr uint64_t kBucketQueueBytes = 40'000;
constexpr uint64_t kDemotingBytes = 20'000;  // For each of them.
constexpr Duration kStorePatience = std::chrono::seconds(10);

// What stands under a name follows from the name.
Object StoreObjectOf(uint64_t track, Location at) {
  Random random(track * 1'000'003 + at.group * 1009 + at.object);
  std::string payload(200 + random.Below(1800), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  Object object;
  object.location = at;
  object.priority = static_cast<uint8_t>(at.object);
  object.payload = Bytes::Of(payload);
  return object;
}

}  // namespace

TrackName StoreWorld::TrackOf(uint64_t track) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model", "prefix"}),
                        "t" + std::to_string(track));
}

void StoreWorldCounts::Add(const StoreWorldCounts& more) {
  puts += more.puts;
  refused += more.refused;
  contradictions += more.contradictions;
  acknowledged += more.acknowledged;
  failed += more.failed;
  hits += more.hits;
  reads += more.reads;
  misses += more.misses;
  demoted += more.demoted;
  packs += more.packs;
  evicted += more.evicted;
  restarts += more.restarts;
  checked += more.checked;
  erased += more.erased;
  erasures_done += more.erasures_done;
  bad_blocks += more.bad_blocks;
  unread += more.unread;
  put_again += more.put_again;
  hangs += more.hangs;
}

StoreWorld::StoreWorld(uint64_t seed) : random_(seed), bucket_(seed), side_(bucket_) {
  for (size_t i = 0; i < kDisks; ++i) {
    MemoryDevice& device = devices_.emplace_back(seed * kDisks + i);
    device.faults().reorder = random_.Happens(0.5);
    device.faults().fail_at = random_.Happens(0.5) ? 20 + random_.Below(400) : 0;
    device.faults().fail_count = 1 + random_.Below(4);
  }
  if (random_.Happens(0.7)) {
    for (double* chance : {&faults_.refuse, &faults_.throttle, &faults_.hang, &faults_.lost_reply,
                           &faults_.cut, &faults_.other}) {
      *chance = random_.Happens(0.3) ? 0.1 : 0;
    }
  }
  has_bad_blocks_ = random_.Happens(0.4);
  Start();
  bucket_.faults() = faults_;
}

void StoreWorld::Start() {
  StoreOptions options;
  options.ram_bytes = kRamBytes;
  options.epoch_us = 1'700'000'000'000'000;
  options.key_property = 0x3801;
  options.reads.patience = kStorePatience;
  options.demoting_bytes_max = kDemotingBytes;
  store_ = std::make_unique<Store>(options);
  tiers_.clear();
  for (size_t i = 0; i < kDisks; ++i) {
    DiskTierOptions disk;
    disk.bytes_max = kStoreBudget;
    disk.segment_bytes = kStoreSegmentBytes;
    disk.key_property = options.key_property;
    disk.seed = random_.Next();
    random_.Fill(disk.fresh.bytes);
    DiskEvictionOptions eviction;
    eviction.limits = {.bytes_max = kStoreBudget, .ghosts_max = 100};
    auto tier = std::make_unique<DiskTier>(disk, *DiskEviction::Of(eviction));
    tiers_.push_back(tier.get());
    store_->AddTier(TierKind::kDisk, std::move(tier));
  }
  BucketTierOptions bucket;
  bucket.prefix = "kvcast";
  bucket.node.bytes.fill(std::byte{1});
  bucket.seed = random_.Next();
  bucket.key_property = options.key_property;
  bucket.pack_bytes = kStorePackBytes;
  bucket.queue_bytes_max = kBucketQueueBytes;
  bucket.upload_patience = std::chrono::seconds(3);  // So that some are given up.
  auto tier = std::make_unique<BucketTier>(bucket);
  remote_ = tier.get();
  store_->AddTier(TierKind::kBucket, std::move(tier));
}

void StoreWorld::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

std::string StoreWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps && wrong_.empty(); ++step) {
    if (random_.Happens(0.5)) {
      Step();
    } else if (random_.Happens(0.004)) {
      Restart();
    } else if (random_.Happens(0.05)) {
      now_ += std::chrono::milliseconds(random_.Below(1500));
    } else {
      Act();
    }
    HarmDisks();
    TakeEvents();
    CheckBounds();
    if (!wrong_.empty()) {
      return "step " + std::to_string(step) + ": " + wrong_;
    }
  }
  Restart();
  return wrong_;
}

StoreWorld::Name StoreWorld::RandomName() {
  return {random_.Below(kTracks), {random_.Below(kStoreGroups), random_.Below(kObjects)}};
}

void StoreWorld::Act() {
  const uint64_t kind = random_.Below(100);
  if (kind < 55) {
    Put(random_.Happens(0.05));
  } else if (kind < 65) {
    EndGroup();
  } else if (kind < 97) {
    Get();
  } else if (random_.Happens(0.1)) {
    Erase();
  } else {
    const Name name = RandomName();
    (void)store_->Warm(TrackOf(name.first),
                       LocationRange::Groups(name.second.group, name.second.group + 2), now_);
  }
}

void StoreWorld::Put(bool contradicts) {
  const Name name = RandomName();
  const TrackName track = TrackOf(name.first);
  Object object = StoreObjectOf(name.first, name.second);
  // Only what is there can be contradicted.
  if (contradicts && store_->PresenceOf(track, name.second) == Presence::kExists) {
    ++counts_.contradictions;
    object.payload = Bytes::Of("something else");
    if (store_->Put(track, object, Durability::kMemory, now_).ok()) {
      Fail("other bytes were taken under a name that has some");
    }
    return;
  }
  const Durability level = random_.Happens(0.5)   ? Durability::kMemory
                           : random_.Happens(0.7) ? Durability::kDisk
                                                  : Durability::kBucket;
  Pledged pledge{name, {}};
  if (const auto missed = missed_.find(name);
      missed != missed_.end() && missed->second == PlacesOf(name)) {
    pledge.unreadable = missed->second;
  }
  const auto kept = store_->Put(track, object, level, now_);
  Note("put " + std::to_string(name.first) + name.second.ToString());
  ++(kept.ok() ? counts_.puts : counts_.refused);
  OnPutAnew(name);  // A put that a tier refuses may have been on its way to another.
  if (kept.ok() && kept->ticket) {
    pledged_[*kept->ticket] = pledge;
  }
}

// Usually what is missing comes first: only whole groups go down.
void StoreWorld::EndGroup() {
  const Name name = RandomName();
  for (uint64_t object = 0; object < kObjects && random_.Happens(0.95); ++object) {
    const Object missing = StoreObjectOf(name.first, {name.second.group, object});
    (void)store_->Put(TrackOf(name.first), missing, Durability::kMemory, now_).ok();
    OnPutAnew({name.first, {name.second.group, object}});
  }
  (void)store_
      ->EndGroup(TrackOf(name.first), name.second.group, kObjects, Durability::kMemory, now_)
      .ok();
}

void StoreWorld::Get() {
  const Name name = RandomName();
  const Store::Got got = store_->Get(TrackOf(name.first), name.second, now_);
  if (const auto* object = std::get_if<Object>(&got)) {
    ++counts_.hits;
    Compare(name, *object);
  } else if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
    asked_[*ticket] = {name, now_, PlacesOf(name)};
  } else {
    ++counts_.misses;
  }
}

void StoreWorld::Compare(const Name& name, const Object& object) {
  CheckNotErased(name);
  const Object right = StoreObjectOf(name.first, name.second);
  if (object.location != right.location || object.priority != right.priority ||
      object.payload != right.payload) {
    Fail("track " + std::to_string(name.first) + " has other bytes at " + name.second.ToString());
  }
}

void StoreWorld::Step() {
  const size_t which = random_.Below(kDisks + 1);
  (void)(which < kDisks ? StepDisk(which) : StepBucket());
}

bool StoreWorld::StepDisk(size_t which) {
  for (DeviceRequest& request : tiers_[which]->TakeRequests()) {
    devices_[which].Submit(std::move(request));
  }
  const auto completion = devices_[which].Next();
  if (completion) {
    tiers_[which]->OnCompletion(*completion, now_);
  }
  return completion.has_value();
}

bool StoreWorld::StepBucket() {
  side_.OnTime(now_);
  for (BucketRequest& request : remote_->TakeRequests(now_)) {
    side_.Submit(std::move(request));
  }
  auto completion = side_.Next();
  if (!completion) {
    return false;
  }
  remote_->OnCompletion(*std::move(completion), now_);
  return true;
}

void StoreWorld::TakeEvents() {
  store_->OnTime(now_);
  while (const std::optional<StoreEvent> event = store_->Next()) {
    if (const auto* read = std::get_if<StoreRead>(&*event)) {
      OnRead(*read);
    } else if (const auto* moved = std::get_if<StoreMoved>(&*event)) {
      OnMoved(moved->group);
    } else if (const auto* written = std::get_if<StoreWritten>(&*event)) {
      if (OnErased(*written)) {
        continue;
      }
      const auto pledge = pledged_.find(written->ticket);
      if (pledge == pledged_.end()) {
        Fail("something is acknowledged that nobody asked for, or twice");
        return;
      }
      Note((written->error ? "failed " : "acknowledged ") + std::to_string(written->ticket));
      ++(written->error ? counts_.failed : counts_.acknowledged);
      if (!written->error && pledge->second) {
        OnAcknowledged(*pledge->second, written->level);
      }
      pledged_.erase(pledge);
    }
  }
}

void StoreWorld::OnRead(const StoreRead& read) {
  const auto asked = asked_.find(read.ticket);
  if (asked == asked_.end()) {
    Fail("an answer that nobody waits for");
    return;
  }
  ++(read.found ? counts_.reads : counts_.misses);
  if (read.found) {
    Compare(asked->second.name, read.found->object);
  } else if (IsUnreadable(asked->second.name) && !read.trials.empty() &&
             PlacesOf(asked->second.name) == asked->second.places &&
             std::ranges::none_of(tiers_, [](const DiskTier* tier) { return tier->away(); })) {
    missed_[asked->second.name] = asked->second.places;
  }
  asked_.erase(asked);
}

// What a tier reports as gone is no longer promised, unless another has it. From a bucket without a
// bound nothing goes.
void StoreWorld::OnMoved(const EvictedGroup& moved) {
  for (auto promise = promised_.begin(); promise != promised_.end();) {
    const auto& [track, location] = promise->first;
    const bool gone = TrackOf(track) == moved.track && location.group == moved.group &&
                      promise->second != Durability::kBucket &&
                      !store_->tiers().Holder(moved.track, location);
    counts_.evicted += gone ? 1 : 0;
    promise = gone ? promised_.erase(promise) : std::next(promise);
  }
}

void StoreWorld::CheckBounds() {
  if (store_->ram().bytes() > kRamBytes) {
    Fail("RAM holds " + std::to_string(store_->ram().bytes()) + " bytes");
  }
  if (store_->demoting_bytes() > (kDisks + 1) * kDemotingBytes) {
    Fail(std::to_string(store_->demoting_bytes()) + " bytes are on their way down");
  }
  for (size_t i = 0; i < kDisks; ++i) {
    if (devices_[i].bytes() > kStoreBudget) {
      Fail("a disk has files of " + std::to_string(devices_[i].bytes()) + " bytes");
    }
  }
  for (const auto& [ticket, asked] : asked_) {
    if (now_ >= asked.since + kStorePatience) {
      Fail("someone who asked was not answered in time");
    }
  }
}

void StoreWorld::Restart() {
  Note("restart");
  ++counts_.restarts;
  ForgetUnreadable();
  counts_.demoted += store_->counts().demoted;
  counts_.packs += remote_->counts().packs_put;
  store_.reset();
  side_.Abandon();
  bucket_.faults() = {};
  asked_.clear();
  pledged_.clear();
  ForgetUnsure();
  const bool power_cut = random_.Happens(0.5);
  for (MemoryDevice& device : devices_) {
    DeviceFaults faults = device.faults();
    device = power_cut ? device.AfterPowerCut(random_) : device.AfterKill();
    faults.fail_at = 0;
    faults.hangs = false;
    // A start waits for what cannot be read, and nothing is lost by that.
    if (const auto files = device.List(); !files.empty() && random_.Happens(0.4)) {
      faults.unreadable = files[random_.Below(files.size())].number;
      faults.unreadable_reads = 1 + random_.Below(4);
    }
    device.faults() = faults;
  }
  Start();
  SettleDown(/*waits_max=*/20);  // A start reads again what it cannot read.
  CheckPromises();
  bucket_.faults() = faults_;
}

void StoreWorld::SettleDown(int waits_max) {
  for (int waits = 0; waits < waits_max && wrong_.empty();) {
    bool moved = false;
    for (size_t i = 0; i < kDisks; ++i) {
      while (StepDisk(i)) {
        moved = true;
        TakeEvents();
      }
    }
    while (StepBucket()) {
      moved = true;
      TakeEvents();
    }
    TakeEvents();
    if (!moved) {
      ++waits;
      now_ += std::chrono::seconds(2);
    }
  }
}

void StoreWorld::CheckPromises() {
  if (!store_->opened()) {
    Fail("a start fails");
    return;
  }
  // Those that were asked for at once are answered at once: the rest waits for its turn.
  const std::map<Name, Durability> promised = promised_;
  for (const auto& one : promised) {
    const Name& name = one.first;
    if (!promised_.contains(name)) {
      continue;  // Reported as gone meanwhile.
    }
    const uint64_t before = counts_.reads + counts_.hits;
    const Store::Got got = store_->Get(TrackOf(name.first), name.second, now_);
    if (const auto* object = std::get_if<Object>(&got)) {
      ++counts_.hits;
      Compare(name, *object);
    } else if (const auto* ticket = std::get_if<StoreTicket>(&got)) {
      asked_[*ticket] = {name, now_, PlacesOf(name)};
      SettleDown();
    }
    ++counts_.checked;
    if (counts_.reads + counts_.hits == before && promised_.contains(name) && !IsUnreadable(name)) {
      Fail("track " + std::to_string(name.first) + " has lost " + name.second.ToString());
    }
  }
}

}  // namespace kvcast::sim
