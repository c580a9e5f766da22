#include "sim/disk_world.h"

#include <algorithm>

namespace kvcast::sim {
namespace {

constexpr uint64_t kSegmentBytes = 32 << 10;
constexpr uint64_t kBudget = kSuperblockBytes + 7 * kSegmentBytes;
// More than all objects of a track take.
constexpr uint64_t kReservedBytes = 3 * kSegmentBytes;
// As when all that came at one time expires.
constexpr size_t kRemovalsAtOnce = 24;
// Longer than a tier leaves a disk alone that failed.
constexpr Duration kPatience = std::chrono::seconds(2);
// A start waits a few times for what it cannot read.
constexpr int kWaitsMax = 24;

// Lets a tier and its device do what they have to do, waiting where the tier waits. `on_event` is
// called for each event.
template <typename OnEvent>
void Settle(DiskTier& tier, MemoryDevice& device, Instant& now, OnEvent on_event) {
  for (int waits = 0; waits < kWaitsMax;) {
    for (DeviceRequest& request : tier.TakeRequests()) {
      device.Submit(std::move(request));
    }
    const auto completion = device.Next();
    if (completion) {
      tier.OnCompletion(*completion, now);
    }
    while (auto event = tier.Next()) {
      on_event(*event);
    }
    if (!completion) {
      if (!tier.deadline()) {
        return;
      }
      ++waits;
      now += kPatience;
      tier.OnTime(now);
    }
  }
}

}  // namespace

void DiskWorldCounts::Add(const DiskWorldCounts& more) {
  power_cuts += more.power_cuts;
  flips += more.flips;
  restarts += more.restarts;
  acknowledged += more.acknowledged;
  failed += more.failed;
  evicted += more.evicted;
  carried += more.carried;
  errors += more.errors;
  full += more.full;
  misdirected += more.misdirected;
  unread += more.unread;
  bad_blocks += more.bad_blocks;
  lost += more.lost;
}

DiskWorld::DiskWorld(uint64_t seed, std::optional<DiskPlan> plan)
    : plan_(plan), random_(seed), device_(seed) {
  DeviceFaults& faults = device_.faults();
  faults.reorder = random_.Happens(0.5);
  if (plan_) {
    faults.fail_at = plan_->fail_at;
  } else {
    DrawFaults(seed);
  }
  by_worth_ = seed % 2 == 1;
  removes_much_ = seed % 8 >= 5;
  has_bad_blocks_ = !plan_ && random_.Happens(0.4);
  tier_ = std::make_unique<DiskTier>(Options(kBudget), Policy(kBudget));
}

std::unique_ptr<DiskPolicy> DiskWorld::Policy(uint64_t bytes_max) const {
  if (!by_worth_) {
    return std::make_unique<OldestFirst>();
  }
  DiskEvictionOptions options;
  options.limits = {.bytes_max = bytes_max, .ghosts_max = 100};
  options.reservations = {{DiskModel::kReserver, kReservedBytes}};
  return *DiskEviction::Of(options);
}

void DiskWorld::DrawFaults(uint64_t seed) {
  DeviceFaults& faults = device_.faults();
  // Every request of a world fails in some world.
  faults.fail_at = seed % 4 == 0 ? 0 : 1 + seed % 251;
  faults.fail_count = 1 + (random_.Happens(0.3) ? random_.Below(6) : 0);
  if (random_.Happens(0.15)) {
    faults.misdirect_at = 1 + random_.Below(200);
    ++counts_.misdirected;
  }
  if (random_.Happens(0.15)) {
    faults.capacity = kSuperblockBytes + (1 + random_.Below(4)) * kSegmentBytes;
    ++counts_.full;
  }
}

DiskTierOptions DiskWorld::Options(uint64_t bytes_max) {
  DiskTierOptions options;
  options.bytes_max = bytes_max;
  options.segment_bytes = kSegmentBytes;
  options.key_property = 0x3801;
  options.seed = random_.Next();
  random_.Fill(options.fresh.bytes);
  return options;
}

void DiskWorld::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

std::string DiskWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps; ++step) {
    std::string wrong;
    HarmDisk();
    if (random_.Happens(0.45)) {
      wrong = StepDevice();
    } else if (random_.Happens(0.004)) {
      Restart();
    } else if (random_.Happens(tier_->ready() ? 0.02 : 0.3)) {
      now_ += kPatience;
      tier_->OnTime(now_);
    } else {
      Ask();
    }
    if (wrong.empty()) {
      wrong = TakeEvents();
    }
    if (!wrong.empty()) {
      return "step " + std::to_string(step) + ": " + wrong;
    }
  }
  std::string wrong;
  device_.faults().unreadable_reads = 0;
  Settle(*tier_, device_, now_, [&](TierEvent& event) {
    if (auto* written = std::get_if<TierWritten>(&event)) {
      model_.OnWritten(*written);
    } else if (auto* evicted = std::get_if<TierEvicted>(&event)) {
      model_.OnEvicted(evicted->group);
    }
  });
  SeeDanger();
  counts_.carried += tier_->counts().carried;
  counts_.errors += tier_->counts().write_errors + tier_->counts().read_errors;
  if (tier_->state() != DiskTier::State::kReady) {
    return "the directory is not open at the end";
  }
  wrong = LookThrough(device_.AfterKill(), kBudget, 0);
  wrong = wrong.empty() ? TryFlips(plan_.value_or(DiskPlan()).flips) : wrong;
  return wrong.empty() ? TryPut() : wrong;
}

std::string DiskWorld::TryPut() {
  if (device_.faults().capacity != UINT64_MAX) {
    return "";
  }
  std::string refusal;
  for (int tries = 0; tries < 8; ++tries) {
    Object object;
    object.payload = Bytes::Of("at last");
    bool acknowledged = false;
    const auto ticket = tier_->Put(DiskModel::Track(DiskModel::kTracks), object, 0, now_);
    refusal = ticket.ok() ? "it is not answered" : ticket.error().message();
    Settle(*tier_, device_, now_, [&](TierEvent& event) {
      const auto* const written = std::get_if<TierWritten>(&event);
      if (written != nullptr && ticket.ok() && written->ticket == *ticket) {
        acknowledged = !written->error;
        refusal = written->error ? written->error->message() : "";
      }
    });
    if (acknowledged) {
      return "";
    }
    now_ += kPatience;
    tier_->OnTime(now_);
  }
  return "a disk that is well again takes no put: " + refusal;
}

void DiskWorld::Ask() {
  const uint64_t kind = random_.Below(100);
  if (removes_much_ && kind < 15) {
    AskLasting();
  } else if (removes_much_ && kind < 50) {
    for (size_t i = 0; i < kRemovalsAtOnce; ++i) {
      AskRemove();
    }
  } else if (kind < 70) {
    AskPut();
  } else if (kind < 80) {
    AskRemove();
  } else if (kind < 88) {
    AskDescribe();
  } else {
    const DiskModel::Name& name = model_.names()[random_.Below(model_.names().size())];
    if (const auto ticket = tier_->Get(DiskModel::Track(name.track), name.location, now_)) {
      gets_[*ticket] = name;
    }
  }
}

void DiskWorld::AskLasting() {
  const DiskModel::Name& name = model_.names()[random_.Below(model_.names().size())];
  if (name.track != 0) {
    return;
  }
  if (const auto ticket = tier_->Get(DiskModel::Track(0), name.location, now_)) {
    gets_[*ticket] = name;
  }
}

void DiskWorld::AskPut() {
  const DiskModel::Name& name = model_.names()[random_.Below(model_.names().size())];
  const auto ticket = tier_->Put(DiskModel::Track(name.track), DiskModel::ObjectOf(name),
                                 name.location.object, now_);
  Note("put " + std::to_string(name.track) + name.location.ToString());
  if (ticket.ok()) {
    model_.OnPut(*ticket, name);
  } else {
    ++counts_.failed;
  }
}

void DiskWorld::AskRemove() {
  const uint64_t track =
      removes_much_ ? 1 + random_.Below(DiskModel::kTracks - 1) : random_.Below(DiskModel::kTracks);
  std::optional<uint64_t> group;
  if (!random_.Happens(0.15)) {
    group = random_.Below(DiskModel::kGroups);
  }
  const auto ticket = tier_->Remove(DiskModel::Track(track), group, now_);
  if (ticket.ok()) {
    Note("remove " + std::to_string(track) + (group ? " " + std::to_string(*group) : ""));
    model_.OnRemove(*ticket, track, group);
  }
}

void DiskWorld::AskDescribe() {
  const uint64_t track = random_.Below(DiskModel::kTracks);
  TrackFacts facts;
  facts.properties = DiskModel::PropertiesOf(track);
  const auto ticket = tier_->Describe(DiskModel::Track(track), facts, now_);
  if (ticket.ok()) {
    Note("describe " + std::to_string(track));
    model_.OnDescribe(*ticket, track);
  }
}

std::string DiskWorld::StepDevice() {
  for (DeviceRequest& request : tier_->TakeRequests()) {
    device_.Submit(std::move(request));
  }
  const auto completion = device_.Next();
  if (!completion) {
    return "";
  }
  Note((completion->error ? "failed " : "did ") + std::to_string(completion->token));
  const bool opening = tier_->state() == DiskTier::State::kOpening;
  tier_->OnCompletion(*completion, now_);
  counts_.unread += opening && tier_->ready() ? tier_->unread_segments() : 0;
  SeeDanger();
  if (tier_->allocated_bytes() > kBudget || device_.bytes() > kBudget) {
    return "the files take " + std::to_string(device_.bytes()) + " bytes of " +
           std::to_string(kBudget);
  }
  std::string wrong = TakeEvents();
  const bool cut = !plan_ || random_.Happens(plan_->power_cut_chance);
  return wrong.empty() && cut ? TryPowerCut() : wrong;
}

void DiskWorld::SeeDanger() {
  misdirected_ = device_.misdirected() != 0 ? device_.misdirected() : misdirected_;
  // Where there was no room to move anything to, what was known of tracks went with their segment.
  // What an unread segment removed is moved as if it had not been.
  forgetful_ = forgetful_ || misdirected_ != 0 || tier_->unread_segments() > 0 ||
               tier_->counts().gave_up > 0 || !device_.faults().bad_blocks.empty();
  // What an index says that is still being read is not the last word.
  if (!tier_->ready() || (misdirected_ == 0 && device_.faults().bad_blocks.empty())) {
    return;
  }
  for (const DiskModel::Name& name : model_.names()) {
    const auto found = tier_->index().Find(DiskModel::Track(name.track), name.location);
    const bool unreadable = IsUnreadable(name);
    if (unreadable || (found && found->place.segment == misdirected_ && misdirected_ != 0)) {
      counts_.lost += endangered_.insert(name).second && unreadable ? 1u : 0u;
    } else if (found) {
      endangered_.erase(name);
    }
  }
}

std::string DiskWorld::TakeEvents() {
  while (auto event = tier_->Next()) {
    if (auto* written = std::get_if<TierWritten>(&*event)) {
      Note((written->error ? "refused " : "acknowledged ") + std::to_string(written->ticket));
      model_.OnWritten(*written);
      (written->error ? counts_.failed : counts_.acknowledged) += 1;
    } else if (auto* read = std::get_if<TierRead>(&*event)) {
      std::string wrong = DiskModel::Differs(gets_.at(read->ticket), read->found);
      gets_.erase(read->ticket);
      if (!wrong.empty()) {
        return wrong;
      }
    } else if (const auto* gone = std::get_if<TierEvicted>(&*event)) {
      const EvictedGroup& evicted = gone->group;
      Note("evicted " + evicted.track.name() + " " + std::to_string(evicted.group));
      model_.OnEvicted(evicted);
      ++counts_.evicted;
      if (by_worth_ && evicted.track == DiskModel::Track(DiskModel::kReserved) &&
          tier_->counts().gave_up == 0 && misdirected_ == 0 &&
          device_.faults().bad_blocks.empty()) {
        return "group " + std::to_string(evicted.group) + " is evicted, which is reserved";
      }
    }
  }
  return "";
}

void DiskWorld::HarmDisk() {
  // What lies where is known of a tier that is open, and has read all.
  if (!has_bad_blocks_ || !tier_->ready() || tier_->unread_segments() > 0 ||
      !random_.Happens(0.02)) {
    return;
  }
  const std::vector<DeviceCompletion::File> files = device_.List();
  const auto* const file = files.empty() ? nullptr : &files[random_.Below(files.size())];
  if (file == nullptr || file->number == kSuperblockFile || file->bytes == 0) {
    return;
  }
  const uint64_t block = random_.Below(file->bytes / kDeviceBlockBytes) * kDeviceBlockBytes;
  Note("bad " + std::to_string(file->number) + " " + std::to_string(block));
  device_.faults().bad_blocks.emplace(file->number, block);
  ++counts_.bad_blocks;
  SeeDanger();
}

bool DiskWorld::IsUnreadable(const DiskModel::Name& name) const {
  const auto found = tier_->index().Find(DiskModel::Track(name.track), name.location);
  const DeviceFaults& faults = device_.faults();
  return found && (faults.IsBad(found->place.segment, found->place.offset, found->length) ||
                   faults.IsBad(found->place.segment, 0, 2 * kDeviceBlockBytes));
}

void DiskWorld::Restart() {
  Note("restart");
  ++counts_.restarts;
  SeeDanger();
  counts_.carried += tier_->counts().carried;
  counts_.errors += tier_->counts().write_errors + tier_->counts().read_errors;
  DeviceFaults faults = device_.faults();
  requests_before_ += device_.request_count();
  device_ = random_.Happens(0.5) ? device_.AfterKill() : device_.AfterPowerCut(random_);
  faults.fail_at = random_.Happens(0.5) ? 1 + random_.Below(60) : 0;
  if (plan_) {
    faults.fail_at = plan_->fail_at > requests_before_ ? plan_->fail_at - requests_before_ : 0;
  }
  faults.misdirect_at = 0;
  if (const auto files = device_.List(); !plan_ && !files.empty() && random_.Happens(0.4)) {
    faults.unreadable = files[random_.Below(files.size())].number;
    faults.unreadable_reads = 1 + random_.Below(random_.Happens(0.5) ? 4 : 60);
  }
  device_.faults() = faults;
  tier_ = std::make_unique<DiskTier>(Options(kBudget), Policy(kBudget));
  model_.OnRestart();
  gets_.clear();
}

std::string DiskWorld::TryPowerCut() {
  ++counts_.power_cuts;
  return LookThrough(device_.AfterPowerCut(random_), kBudget, 0);
}

std::string DiskWorld::TryFlips(size_t count) {
  // With bad blocks besides, a flip may cost what those have left to tell things by.
  if (!device_.faults().bad_blocks.empty()) {
    return "";
  }
  const MemoryDevice whole = device_.AfterKill();
  for (size_t i = 0; i < count; ++i) {
    MemoryDevice flipped = whole;
    const auto files = flipped.List();
    const auto& file = files[random_.Below(files.size())];
    if (file.bytes == 0) {
      continue;
    }
    // Headers and footers are small, and as important as the rest.
    uint64_t at = random_.Below(file.bytes);
    if (random_.Happens(0.3)) {
      at = random_.Below(64);
    } else if (random_.Happens(0.3)) {
      at = file.bytes - 1 - random_.Below(std::min<uint64_t>(file.bytes, 600));
    }
    ++counts_.flips;
    flipped.contents(file.number)[at] ^= static_cast<std::byte>(1 << random_.Below(8));
    // With more room nothing is evicted, so that all that is missing is the flip's fault.
    std::string wrong = LookThrough(std::move(flipped), 2 * kBudget, 1);
    if (!wrong.empty()) {
      return wrong + ", after a bit of byte " + std::to_string(at) + " of " +
             DiskFileName(file.number) + " was flipped";
    }
  }
  return "";
}

std::string DiskWorld::LookThrough(MemoryDevice device, uint64_t bytes_max, size_t lost_max) {
  device.faults().bad_blocks = device_.faults().bad_blocks;
  DiskTier tier(Options(bytes_max), Policy(bytes_max));
  Instant now = now_;
  std::set<std::pair<TrackName, uint64_t>> evicted;
  std::map<TierTicket, DiskModel::Name> gets;
  std::set<DiskModel::Name> found;
  std::string wrong;
  const auto on_event = [&](TierEvent& event) {
    if (auto* gone = std::get_if<TierEvicted>(&event); gone != nullptr && bytes_max == kBudget) {
      evicted.emplace(gone->group.track, gone->group.group);
    } else if (auto* read = std::get_if<TierRead>(&event)) {
      const DiskModel::Name name = gets.at(read->ticket);
      wrong = wrong.empty() ? DiskModel::Differs(name, read->found) : wrong;
      if (read->found) {
        found.insert(name);
      }
    }
  };
  Settle(tier, device, now, on_event);
  if (tier.state() != DiskTier::State::kReady || !tier.idle()) {
    return tier.state() == DiskTier::State::kReady ? "a start does not come to rest"
                                                   : "a start fails";
  }
  for (const DiskModel::Name& name : model_.names()) {
    if (const auto ticket = tier.Get(DiskModel::Track(name.track), name.location, now)) {
      gets[*ticket] = name;
    }
  }
  Settle(tier, device, now, on_event);
  size_t lost = 0;
  for (const DiskModel::Name& name : model_.names()) {
    const DiskModel::Promise& promise = model_.promise(name);
    const bool excused = endangered_.contains(name) ||
                         evicted.contains({DiskModel::Track(name.track), name.location.group});
    if (promise.here && !found.contains(name) && !excused && ++lost > lost_max) {
      wrong = "track " + std::to_string(name.track) + " has lost " + name.location.ToString();
    }
    if (promise.gone && found.contains(name) && !forgetful_ && lost_max == 0) {
      wrong = "track " + std::to_string(name.track) + " has " + name.location.ToString() +
              " again, which was removed";
    }
  }
  for (uint64_t track = 0; track < DiskModel::kTracks && !forgetful_ && lost_max == 0; ++track) {
    const TrackFacts* facts = tier.index().FindTrack(DiskModel::Track(track));
    if ((model_.described(track) &&
         (facts == nullptr || facts->properties != DiskModel::PropertiesOf(track))) ||
        (model_.largest(track) && (facts == nullptr || facts->largest < model_.largest(track)))) {
      wrong = "what was known of track " + std::to_string(track) + " is lost: " +
              (facts == nullptr            ? "everything"
               : facts->largest            ? "its largest object is " + facts->largest->ToString()
               : facts->properties.empty() ? "its properties"
                                           : "its largest object");
    }
  }
  return wrong;
}

}  // namespace kvcast::sim
