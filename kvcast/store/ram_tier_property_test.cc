// The RAM tier beside a naive model of what is in it, under random operations: nothing is lost but
// what is said to be evicted, nothing goes that must stay, and every byte is counted.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/heap_bytes_test.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

constexpr uint64_t kPropertyOfKeys = 0x3801;
constexpr size_t kBytesMax = 160'000;
constexpr std::array<std::string_view, 3> kTenants = {"acme", "umbrella", "others"};
constexpr std::array<uint64_t, 3> kReserved = {25'000, 30'000, 0};
constexpr size_t kTracks = 24;
constexpr uint64_t kGroups = 5;
constexpr uint64_t kObjects = 4;
constexpr uint64_t kOwners = 3;

struct ModelGroup {
  std::map<uint64_t, uint64_t> objects;  // And how long their payloads are.
  std::optional<uint64_t> end;
  std::map<PinOwner, Instant> pins;

  bool whole() const { return end == objects.size(); }
};

struct Went {
  size_t track = 0;
  uint64_t group = 0;
};

class ModelledRam {
 public:
  ModelledRam(uint64_t seed, std::string_view eviction) : random_(seed) {
    for (size_t i = 0; i < kTracks; ++i) {
      const std::string scope = std::string(kTenants[i % kTenants.size()]) + "/model";
      const std::string prefix(8 + 12 * (i % 3), static_cast<char>('a' + i));
      names_.push_back(*TrackName::Of(
          *TrackNamespace::Of({"service", scope, prefix, "generation " + std::to_string(i)}),
          i % 2 == 0 ? "BF16" : "a track with a long name"));
    }
    for (size_t i = 0; i < kTracks; ++i) {
      numbers_[names_[i]] = i;
    }
    went_.reserve(1000);
    Measure([&] {
      RamTierOptions options;
      options.bytes_max = kBytesMax;
      options.eviction = eviction;
      options.key_property = kPropertyOfKeys;
      options.secret = seed;
      for (size_t i = 0; i < kTenants.size(); ++i) {
        if (kReserved[i] > 0) {
          options.reservations.emplace(kTenants[i], kReserved[i]);
        }
      }
      tier_.emplace(*RamTier::Of(options));
    });
  }

  void Step() {
    const size_t track = random_.Below(kTracks);
    const std::array<uint64_t, 3> before = TenantBytes();
    switch (random_.Below(14)) {
      case 0:
        Pin(track);
        break;
      case 1:
        Unpin();
        break;
      case 2:
        Remove(track);
        break;
      case 3:
        Forget(track);
        Measure([&] {  // Beyond all that is put.
          tier_->AddGap(names_[track],
                        LocationRange::Groups(kGroups + random_.Below(40), kGroups + 40));
        });
        break;
      case 4:
      case 5:
      case 6:
        End(track);
        break;
      case 7:
      case 8:
        Get(track);
        break;
      default:
        Put(track);
    }
    TakeEvicted(track % kTenants.size(), before);
    Compare();
  }

  size_t evictions() const { return evictions_; }
  size_t pins() const { return pins_; }

 private:
  using Groups = std::map<uint64_t, ModelGroup>;

  // Runs something of which nothing but the tier's own memory may remain.
  template <typename Work>
  void Measure(Work work) {
    const size_t before = HeapBytes();
    work();
    tier_heap_ += HeapBytes() - before;
  }

  std::array<uint64_t, 3> TenantBytes() const {
    std::array<uint64_t, 3> bytes{};
    for (size_t i = 0; i < kTenants.size(); ++i) {
      bytes[i] = tier_->tenant_bytes(kTenants[i]);
    }
    return bytes;
  }

  Object Make(Location location, uint64_t length) const {
    Object object;
    object.location = location;
    for (uint64_t left = length; left > 0;) {
      const uint64_t piece = std::min<uint64_t>(left, 1500);
      object.payload.Append(Bytes::Of(std::string(piece, 'x')));
      left -= piece;
    }
    if (location.object == 0 && location.group % 2 == 0) {
      // Tracks share their blocks: copies, and returns under other names.
      const std::string key(32, static_cast<char>('a' + location.group));
      object.properties = PropertiesBuilder()
                              .Immutable(PropertiesBuilder().Bytes(kPropertyOfKeys, key).Build())
                              .Build();
    }
    return object;
  }

  void Put(size_t track) {
    Location at{random_.Below(kGroups), random_.Below(kObjects)};
    if (random_.Happens(0.8)) {  // In order, as they mostly come.
      const auto begun = model_[track].find(at.group);
      at.object = begun == model_[track].end() ? 0 : begun->second.objects.size();
    }
    const uint64_t length = random_.Below(random_.Happens(0.2) ? 6000 : 1500);
    bool kept = false;
    Measure([&] {
      const Result<bool> put = tier_->Put(names_[track], Make(at, length));
      kept = put.ok() && *put;
    });
    const auto group = model_[track].find(at.group);
    const bool known = group != model_[track].end() && group->second.objects.contains(at.object);
    const bool beyond = group != model_[track].end() && group->second.end <= at.object &&
                        group->second.end.has_value();
    if (kept) {
      EXPECT_FALSE(known || beyond);
      just_put_ = {track, at.group};
      model_[track][at.group].objects[at.object] = length;
    }
  }

  void End(size_t track) {
    const uint64_t number = random_.Below(kGroups);
    const auto group = model_[track].find(number);
    // Whole, as a rule.
    const uint64_t end = group == model_[track].end() || group->second.objects.empty()
                             ? random_.Below(kObjects + 1)
                             : group->second.objects.rbegin()->first + 1;
    bool ended = false;
    Measure([&] { ended = tier_->EndGroup(names_[track], number, end).ok(); });
    if (ended) {
      just_put_ = {track, number};
      model_[track][number].end = end;
    } else if (tier_->FindGroup(names_[track], number)) {
      model_[track][number];
    }
  }

  void Get(size_t track) {
    const LocationRange range = LocationRange::Groups(random_.Below(kGroups), kGroups);
    size_t found = 0;
    Measure([&] { found = tier_->GetRange(names_[track], range, 1000).size(); });
    size_t expected = 0;
    for (const auto& [number, group] : model_[track]) {
      expected += number >= range.first.group ? group.objects.size() : 0;
    }
    EXPECT_EQ(found, expected);
  }

  void Pin(size_t track) {
    const uint64_t first = random_.Below(kGroups);
    const PinOwner owner = random_.Below(kOwners);
    const Instant until = now_ + std::chrono::seconds(random_.Below(20));
    const std::array<uint64_t, 3> before = TenantBytes();
    bool pinned = false;
    Measure([&] { pinned = tier_->Pin(names_[track], first, first + 3, owner, until).ok(); });
    TakeEvicted(track % kTenants.size(), before);  // For the pins' own memory.
    for (uint64_t number = first; pinned && number <= first + 3; ++number) {
      const auto group = model_[track].find(number);
      if (group != model_[track].end() && group->second.whole()) {
        group->second.pins[owner] = until;
        ++pins_;
      }
    }
    EXPECT_LE(tier_->pinned_bytes(), kBytesMax / 2);
  }

  void Unpin() {
    const PinOwner owner = random_.Below(kOwners);
    const bool by_time = random_.Happens(0.7);
    now_ += by_time ? std::chrono::seconds(random_.Below(6)) : std::chrono::seconds(0);
    Measure([&] { by_time ? tier_->OnTime(now_) : tier_->Unpin(owner); });
    for (Groups& groups : model_) {
      for (auto& [number, group] : groups) {
        std::erase_if(group.pins, [&](const auto& pin) {
          return by_time ? pin.second <= now_ : pin.first == owner;
        });
      }
    }
  }

  void Remove(size_t track) {
    const Location at{random_.Below(kGroups), random_.Below(kObjects)};
    const bool whole = random_.Happens(0.3);
    Measure(
        [&] { whole ? tier_->Remove(names_[track], at.group) : tier_->Remove(names_[track], at); });
    const auto group = model_[track].find(at.group);
    if (group == model_[track].end()) {
      return;
    }
    if (whole || (group->second.objects.erase(at.object) > 0 && group->second.objects.empty())) {
      model_[track].erase(group);
    } else if (!group->second.whole()) {
      group->second.pins.clear();
    }
  }

  void Forget(size_t track) {
    bool forgotten = false;
    Measure([&] { forgotten = tier_->Forget(names_[track]); });
    EXPECT_EQ(forgotten, model_[track].empty());
  }

  void TakeEvicted(size_t by_tenant, const std::array<uint64_t, 3>& before) {
    went_.clear();
    Measure([&] {
      for (const EvictedGroup& evicted : tier_->TakeEvicted()) {
        went_.push_back({numbers_.at(evicted.track), evicted.group});
      }
    });
    std::set<size_t> losers;
    for (const Went& went : went_) {
      const auto group = model_[went.track].find(went.group);
      ASSERT_NE(group, model_[went.track].end()) << "It went twice, or was never here.";
      EXPECT_TRUE(group->second.pins.empty());
      EXPECT_FALSE(just_put_ && just_put_->track == went.track && just_put_->group == went.group);
      model_[went.track].erase(group);
      losers.insert(went.track % kTenants.size());
      ++evictions_;
    }
    for (const size_t loser : losers) {
      if (loser != by_tenant) {
        EXPECT_GE(before[loser], kReserved[loser]);
        EXPECT_GE(tier_->tenant_bytes(kTenants[loser]), kReserved[loser]);
      }
    }
    just_put_.reset();
  }

  void Compare() {
    EXPECT_LE(tier_->bytes(), kBytesMax);
    EXPECT_EQ(tier_->bytes(), tier_heap_);
    size_t objects = 0;
    for (size_t track = 0; track < kTracks; ++track) {
      for (const auto& [number, group] : model_[track]) {
        const std::optional<GroupFacts> facts = tier_->FindGroup(names_[track], number);
        ASSERT_TRUE(facts.has_value());
        ASSERT_EQ(facts->object_count, group.objects.size());
        ASSERT_EQ(facts->end, group.end);
        for (const auto& [object, length] : group.objects) {
          const Object* const found = tier_->Look(names_[track], {number, object});
          ASSERT_NE(found, nullptr);
          ASSERT_EQ(found->payload.size(), length);
        }
        objects += group.objects.size();
      }
    }
    EXPECT_EQ(tier_->object_count(), objects);
  }

  Random random_;
  std::vector<TrackName> names_;
  std::map<TrackName, size_t> numbers_;
  std::array<Groups, kTracks> model_;
  std::optional<RamTier> tier_;
  size_t tier_heap_ = 0;
  std::vector<Went> went_;
  std::optional<Went> just_put_;
  Instant now_{};
  size_t evictions_ = 0;
  size_t pins_ = 0;
};

class EveryRamTier : public testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(Policies, EveryRamTier, testing::ValuesIn(EvictionNames()),
                         [](const auto& policy) { return std::string(policy.param); });

TEST_P(EveryRamTier, HoldsWhatItsModelHoldsAndCountsEveryByte) {
  size_t evictions = 0;
  size_t pins = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ModelledRam tier(seed, GetParam());
    for (int step = 0; step < 3000 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      tier.Step();
    }
    ASSERT_FALSE(HasFailure());
    evictions += tier.evictions();
    pins += tier.pins();
  }
  EXPECT_GT(evictions, 200u);
  EXPECT_GT(pins, 100u);
}

}  // namespace
}  // namespace kvcast
