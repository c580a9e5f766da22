#include "sim/bucket_world.h"

#include <algorithm>
#include <set>

#include "sim/fault_chance.h"

namespace kvcast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kPackBytes = 24 << 10;
constexpr uint64_t kQueueBytes = 48 << 10;
constexpr uint64_t kObjectBytesMax = 8 << 10;
constexpr size_t kDamages = 12;
constexpr Duration kGetPatience = milliseconds(200);
constexpr Duration kUploadPatience = seconds(30);
// By then everything has been tried again.
constexpr Duration kRestPatience = minutes(10);

// Of two, one has what a single tenant puts.
size_t ShardWith(const TrackNamespace& space) {
  return space == DiskModel::Track(DiskModel::kReserved).space() ? 1 : 0;
}

}  // namespace

void BucketWorldCounts::Add(const BucketWorldCounts& more) {
  requests += more.requests;
  faults += more.faults;
  outages += more.outages;
  away += more.away;
  restarts += more.restarts;
  acknowledged += more.acknowledged;
  failed += more.failed;
  hits += more.hits;
  misses += more.misses;
  evicted += more.evicted;
  merged += more.merged;
  damaged += more.damaged;
}

BucketWorld::BucketWorld(uint64_t seed)
    : random_(seed),
      bucket_(seed),
      shared_(seed % 3 == 2),
      budgeted_(seed % 3 == 1),
      sharded_(seed % 6 == 3) {
  faults_.empty_pages = seed % 2 == 1;
  DrawFaults();
  for (size_t i = 0; i < (shared_ || sharded_ ? 2u : 1u); ++i) {
    nodes_.push_back(std::make_unique<Node>(bucket_));
    if (i == 0 || shared_) {
      random_.Fill(nodes_[i]->id.bytes);
    }
    nodes_[i]->id = sharded_ ? nodes_[0]->id : nodes_[i]->id;
    Start(i);
  }
}

size_t BucketWorld::NodeFor(uint64_t track, size_t index) const {
  return sharded_ ? ShardWith(DiskModel::Track(track).space()) : index;
}

void BucketWorld::DrawFaults() {
  faults_.refuse = FaultChance(random_, 0.3);
  faults_.throttle = FaultChance(random_, 0.3);
  faults_.hang = FaultChance(random_, 0.2);
  faults_.lost_reply = FaultChance(random_, 0.2);
  faults_.cut = FaultChance(random_, 0.2);
  faults_.flip = FaultChance(random_, 0.1);
  faults_.other = FaultChance(random_, 0.1);
  faults_.stale_list = FaultChance(random_, 0.5);
  forgetful_ = faults_.stale_list > 0;
  bucket_.faults() = faults_;
}

BucketTierOptions BucketWorld::Options(const PackNode& id) {
  BucketTierOptions options;
  options.prefix = "kv";
  options.node = id;
  options.seed = random_.Next();
  options.key_property = 0x3801;
  options.pack_bytes = kPackBytes;
  options.queue_bytes_max = kQueueBytes;
  options.bytes_max = budgeted_ ? 8 * kPackBytes : 0;
  options.get_patience = kGetPatience;
  options.upload_patience = kUploadPatience;
  options.survey_every = seconds(20);
  options.merge_every = seconds(3);
  options.merge_packs_min = 2;
  return options;
}

void BucketWorld::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

void BucketWorld::Start(size_t index) {
  Node& node = *nodes_[index];
  node.side = BucketSide(bucket_);
  node.side.OnTime(now_);
  BucketTierOptions options = Options(node.id);
  if (sharded_) {
    options.share = {index, 2};
    options.owns = [index](const TrackNamespace& space) { return ShardWith(space) == index; };
  }
  node.tier = std::make_unique<BucketTier>(options);
  node.gets.clear();
  node.asked_away = Instant();
}

void BucketWorld::Count(const Node& node) {
  const BucketTierCounts counts = node.tier->counts();
  counts_.away += counts.breaker_opened;
  counts_.merged += counts.packs_merged;
  forgetful_ = forgetful_ || counts.unread > 0 || counts.damaged > 0;
}

// Together, so that nobody waits for anything any more.
void BucketWorld::RestartAll() {
  Note("restart");
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    ++counts_.restarts;
    node.side.Abandon();
    Count(node);
    if (!budgeted_ && !sharded_ && random_.Happens(0.5)) {
      random_.Fill(node.id.bytes);
    }
    Start(i);
  }
  model_.OnRestart();
}

std::string BucketWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps; ++step) {
    const size_t index = random_.Below(nodes_.size());
    if (random_.Happens(0.003)) {
      RestartAll();
    } else if (random_.Happens(0.004)) {
      bucket_.faults().dead = true;
      ++counts_.outages;
    } else if (random_.Happens(0.02)) {
      bucket_.faults().dead = false;
    } else if (random_.Happens(0.6)) {
      Ask(index);
    } else {
      now_ += random_.Happens(0.1) ? Duration(milliseconds(random_.Below(4000)))
                                   : Duration(milliseconds(random_.Below(150)));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string wrong = Turn(*nodes_[i], i, random_.Below(4));
      if (!wrong.empty()) {
        return "step " + std::to_string(step) + ": " + wrong;
      }
    }
  }
  bucket_.faults() = {};
  std::string wrong = ComeToRest();
  for (const auto& node : nodes_) {
    Count(*node);
  }
  counts_.requests = bucket_.request_count();
  counts_.faults = bucket_.fault_count();
  if (wrong.empty()) {
    wrong = LookThrough(bucket_, 0);
  }
  return wrong.empty() ? TryDamage(kDamages) : wrong;
}

void BucketWorld::Ask(size_t index) {
  const uint64_t kind = random_.Below(100);
  if (kind < 55) {
    AskPut(index);
  } else if (kind < 62 && !shared_) {
    const uint64_t track = random_.Below(DiskModel::kTracks);
    std::optional<uint64_t> group;
    if (!random_.Happens(0.15)) {
      group = random_.Below(DiskModel::kGroups);
    }
    index = NodeFor(track, index);
    const auto ticket = nodes_[index]->tier->Remove(DiskModel::Track(track), group, now_);
    if (ticket.ok()) {
      Note("remove " + std::to_string(track) + (group ? " " + std::to_string(*group) : ""));
      model_.OnRemove(Common(index, *ticket), track, group);
    }
  } else if (kind < 68) {
    const uint64_t track = random_.Below(DiskModel::kTracks);
    TrackFacts facts;
    facts.properties = DiskModel::PropertiesOf(track);
    index = NodeFor(track, index);
    const auto ticket = nodes_[index]->tier->Describe(DiskModel::Track(track), facts, now_);
    if (ticket.ok()) {
      model_.OnDescribe(Common(index, *ticket), track);
    }
  } else {
    // Several at once, as a reader asks.
    for (uint64_t i = random_.Below(4) + 1; i > 0; --i) {
      const DiskModel::Name& name = model_.names()[random_.Below(model_.names().size())];
      Node& node = *nodes_[NodeFor(name.track, index)];
      if (const auto ticket = node.tier->Get(DiskModel::Track(name.track), name.location, now_)) {
        node.gets[*ticket] = {name, now_ + kGetPatience};
      }
    }
  }
}

void BucketWorld::AskPut(size_t index) {
  const DiskModel::Name& name = model_.names()[random_.Below(model_.names().size())];
  index = NodeFor(name.track, index);
  const auto ticket = nodes_[index]->tier->Put(
      DiskModel::Track(name.track), DiskModel::ObjectOf(name), name.location.object, now_);
  Note("put " + std::to_string(name.track) + name.location.ToString());
  if (ticket.ok()) {
    model_.OnPut(Common(index, *ticket), name);
  } else {
    ++counts_.failed;
  }
}

std::string BucketWorld::SendRequests(Node& node) {
  const bool away = node.tier->away();
  std::vector<BucketRequest> requests = node.tier->TakeRequests(now_);
  if (away && !requests.empty()) {
    if (requests.size() > 1 || now_ - node.asked_away < seconds(1)) {
      return "a bucket that is away is asked more than once a second";
    }
    node.asked_away = now_;
  }
  for (BucketRequest& request : requests) {
    node.side.Submit(std::move(request));
  }
  return "";
}

std::string BucketWorld::Turn(Node& node, size_t index, size_t answers) {
  node.side.OnTime(now_);
  node.tier->OnTime(now_);
  std::string wrong = SendRequests(node);
  while (wrong.empty() && answers-- > 0) {
    auto completion = node.side.Next();
    if (!completion) {
      break;
    }
    Note((completion->error ? "failed " : "did ") + std::to_string(completion->token));
    node.tier->OnCompletion(*std::move(completion), now_);
    wrong = SendRequests(node);
  }
  if (wrong.empty()) {
    wrong = TakeEvents(node, index);
  }
  return wrong.empty() ? CheckBounds(node) : wrong;
}

std::string BucketWorld::TakeEvents(Node& node, size_t index) {
  while (auto event = node.tier->Next()) {
    if (auto* written = std::get_if<TierWritten>(&*event)) {
      Note((written->error ? "refused " : "acknowledged ") + std::to_string(written->ticket));
      (written->error ? counts_.failed : counts_.acknowledged) += 1;
      model_.OnWritten({Common(index, written->ticket), written->error});
    } else if (auto* read = std::get_if<TierRead>(&*event)) {
      const auto get = node.gets.find(read->ticket);
      if (get == node.gets.end()) {
        return "a get is answered twice";
      }
      std::string wrong = DiskModel::Differs(get->second.first, read->found);
      (read->found ? counts_.hits : counts_.misses) += 1;
      node.gets.erase(get);
      if (!wrong.empty()) {
        return wrong;
      }
    } else if (const auto* gone = std::get_if<TierEvicted>(&*event)) {
      const EvictedGroup& evicted = gone->group;
      Note("evicted " + evicted.track.name() + " " + std::to_string(evicted.group));
      ++counts_.evicted;
      evicting_ = true;
      // What came damaged is no longer listed here, and still there for others.
      if (budgeted_) {
        model_.OnEvicted(evicted);
      }
    }
  }
  return "";
}

std::string BucketWorld::CheckBounds(const Node& node) const {
  for (const auto& [ticket, get] : node.gets) {
    if (now_ >= get.second) {
      return "a get is not answered in time";
    }
  }
  if (node.tier->queued_bytes() > kQueueBytes + kObjectBytesMax + kPackBytes) {
    return "too many bytes wait: " + std::to_string(node.tier->queued_bytes());
  }
  // What was given up and arrived all the same counts from the next listing on.
  const bool knows_all =
      !forgetful_ && counts_.restarts == 0 && node.tier->counts().packs_failed == 0;
  if (budgeted_ && knows_all && node.tier->packs().own_bytes > 8 * kPackBytes) {
    return "the packs take more than their budget";
  }
  return "";
}

std::string BucketWorld::ComeToRest() {
  const Instant end = now_ + kRestPatience;
  while (now_ < end) {
    bool rests = true;
    Instant next = end;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      std::string wrong = Turn(node, i, SIZE_MAX);
      if (!wrong.empty()) {
        return wrong;
      }
      rests = rests && node.tier->idle() && node.gets.empty();
      for (const auto& due : {node.tier->deadline(), node.side.deadline()}) {
        next = due && *due < next ? *due : next;
      }
    }
    if (rests) {
      return "";
    }
    now_ = std::max(next, now_ + milliseconds(1));
  }
  return "the nodes do not come to rest";
}

std::string BucketWorld::LookThrough(MemoryBucket bucket, size_t lost_max) {
  PackNode id;
  random_.Fill(id.bytes);
  BucketTierOptions options = Options(id);
  options.bytes_max = 0;
  BucketTier tier(options);
  BucketSide side(bucket);
  Instant now = now_;
  std::string wrong;
  std::map<TierTicket, DiskModel::Name> gets;
  std::set<DiskModel::Name> found;
  const auto run = [&] {
    bool more = true;
    while (more) {
      for (BucketRequest& request : tier.TakeRequests(now)) {
        side.Submit(std::move(request));
      }
      auto completion = side.Next();
      more = completion.has_value();
      if (more) {
        tier.OnCompletion(*std::move(completion), now);
      } else if (tier.deadline() && *tier.deadline() < now + seconds(1)) {
        now = std::max(*tier.deadline(), now + milliseconds(1));
        tier.OnTime(now);
        more = true;
      }
      while (auto event = tier.Next()) {
        if (auto* read = std::get_if<TierRead>(&*event)) {
          const DiskModel::Name name = gets.at(read->ticket);
          wrong = wrong.empty() ? DiskModel::Differs(name, read->found) : wrong;
          if (read->found) {
            found.insert(name);
          }
        }
      }
    }
  };
  side.OnTime(now);
  run();
  if (!tier.ready()) {
    return "a fresh node does not start";
  }
  for (const DiskModel::Name& name : model_.names()) {
    if (const auto ticket = tier.Get(DiskModel::Track(name.track), name.location, now)) {
      gets[*ticket] = name;
    }
  }
  run();
  size_t lost = 0;
  for (const DiskModel::Name& name : model_.names()) {
    const DiskModel::Promise& promise = model_.promise(name);
    if (promise.here && !found.contains(name) && ++lost > lost_max) {
      wrong = "track " + std::to_string(name.track) + " has lost " + name.location.ToString();
    }
    if (promise.gone && found.contains(name) && !forgetful_ && lost_max == 0) {
      wrong = "track " + std::to_string(name.track) + " has " + name.location.ToString() +
              " again, which was removed";
    }
  }
  for (uint64_t track = 0; track < DiskModel::kTracks && !evicting_ && lost_max == 0; ++track) {
    const TrackFacts* facts = tier.FindTrack(DiskModel::Track(track));
    if ((model_.described(track) &&
         (facts == nullptr || facts->properties != DiskModel::PropertiesOf(track))) ||
        (model_.largest(track) && (facts == nullptr || facts->largest < model_.largest(track)))) {
      wrong = "what was known of track " + std::to_string(track) + " is lost";
    }
  }
  return wrong;
}

std::string BucketWorld::TryDamage(size_t count) {
  for (size_t i = 0; i < count && !bucket_.objects().empty(); ++i) {
    MemoryBucket damaged = bucket_;
    auto hit = damaged.objects().begin();
    std::advance(hit, random_.Below(damaged.objects().size()));
    std::vector<std::byte>& pack = hit->second;
    ++counts_.damaged;
    size_t lost_max = 1;
    std::string how;
    if (random_.Happens(0.8)) {
      // Headers and ends are small, and as important as the rest.
      uint64_t at = random_.Below(pack.size());
      if (random_.Happens(0.2)) {
        at = random_.Below(64);
      } else if (random_.Happens(0.4)) {
        at = pack.size() - 1 - random_.Below(std::min<uint64_t>(pack.size(), 600));
      }
      pack[at] ^= static_cast<std::byte>(1 << random_.Below(8));
      how = "a bit of byte " + std::to_string(at) + " was flipped";
    } else {
      lost_max = SIZE_MAX;
      auto other = damaged.objects().begin();
      std::advance(other, random_.Below(damaged.objects().size()));
      if (random_.Happens(0.5)) {
        const uint64_t left = random_.Below(pack.size());
        pack.resize(random_.Happens(0.5) ? left : BlocksDown(left));
        how = "a pack was cut";
      } else {
        std::swap(pack, other->second);
        how = "two packs were swapped";
      }
    }
    how += " in " + hit->first;
    const std::string wrong = LookThrough(std::move(damaged), lost_max);
    if (!wrong.empty()) {
      return wrong + ", after " + how;
    }
  }
  return "";
}

}  // namespace kvcast::sim
