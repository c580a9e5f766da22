// RAM must hand out references faster than anybody can send what they refer to: over two million a
// second on one core. Each is measured in turn with its limit: copying the same objects out of an
// array, in the same order, where nothing has to be found; and copying a payload.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "bench/interleaved.h"
#include "kvcast/base/random.h"
#include "kvcast/store/ram_tier.h"

namespace kvcast {
namespace {

constexpr size_t kStoredObjects = 1'000'000;
constexpr size_t kGetsPerRound = 20'000;
constexpr uint64_t kGroupsPerTrack = 8;

// Objects as a node receives them: payloads in as many chunks as the reader of a stream makes. All
// share the same chunks, as a million payloads do not fit the machine; nobody reads them, and a get
// does not touch them. What a get does touch, each object has for itself.
struct Stored {
  size_t chunks;
  uint64_t objects_per_group;
};
constexpr Stored k160Kb{5, 128};
constexpr Stored k2Mb{12, 128};
constexpr Stored k2MbAlone{12,
                           1};  // Each get is a fetch of its group, which the policy is told of.

std::vector<Bytes> ChunksOf(const Stored& stored) {
  std::vector<Bytes> chunks;
  for (size_t i = 0; i < stored.chunks; ++i) {
    chunks.push_back(Bytes::Copy(std::vector<std::byte>(2048)));
  }
  return chunks;
}

TrackName TrackNumber(size_t number) {
  const Digest prefix = Sha256::Of(std::to_string(number));
  return *TrackName::Of(
      *TrackNamespace::Of({"moq://kvcache.moq.arpa/v1/", "tenant/model@0123456789abcdef",
                           AsText(prefix.bytes), AsText(prefix.bytes).substr(0, 16)}),
      "BF16");
}

// A tier of so many objects, and the same in an array.
struct FilledTier {
  struct Wanted {
    size_t track;
    Location location;
    size_t number;
  };

  explicit FilledTier(const Stored& stored)
      : tier(*RamTier::Of({.bytes_max = size_t{64} << 30, .key_property = 0x3801, .secret = 1})) {
    const std::vector<Bytes> chunks = ChunksOf(stored);
    const size_t per_track = kGroupsPerTrack * stored.objects_per_group;
    for (size_t i = 0; i < kStoredObjects; ++i) {
      if (i % per_track == 0) {
        tracks.push_back(TrackNumber(tracks.size()));
      }
      Object object;
      object.location = {i % per_track / stored.objects_per_group, i % stored.objects_per_group};
      for (const Bytes& chunk : chunks) {
        object.payload.Append(chunk);
      }
      KVCAST_CHECK(tier.Put(tracks.back(), object).ok());
      if (object.location.object + 1 == stored.objects_per_group) {
        KVCAST_CHECK(
            tier.EndGroup(tracks.back(), object.location.group, stored.objects_per_group).ok());
      }
      all.push_back({tracks.size() - 1, object.location, i});
      array.push_back(std::move(object));
    }
    Random random(2);
    for (size_t i = 0; i < 50 * kGetsPerRound; ++i) {
      order.push_back(all[random.Below(all.size())]);
    }
  }

  RamTier tier;
  std::vector<TrackName> tracks;
  std::vector<Wanted> all;
  std::vector<Object> array;
  std::vector<Wanted> order;
};

// Is finding an object little beside taking a reference to it?
void GetReferences(benchmark::State& state, const Stored& stored) {
  FilledTier filled(stored);
  size_t ours_at = 25 * kGetsPerRound;  // Far from what the limit has just brought into caches.
  size_t limit_at = 0;
  const auto next = [&](size_t& at) -> const FilledTier::Wanted& {
    return filled.order[at++ % filled.order.size()];
  };
  Interleave(
      state, "of_bare_copies",
      [&] {
        for (size_t i = 0; i < kGetsPerRound; ++i) {
          const Object copy = filled.array[next(limit_at).number];
          benchmark::DoNotOptimize(&copy);
        }
      },
      [&] {
        for (size_t i = 0; i < kGetsPerRound; ++i) {
          const FilledTier::Wanted& wanted = next(ours_at);
          const std::optional<Object> found =
              filled.tier.Get(filled.tracks[wanted.track], wanted.location);
          KVCAST_CHECK(found.has_value());
          benchmark::DoNotOptimize(&found);
        }
      });
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kGetsPerRound));
}

// How much of that is finding it? The object as it lies in the tier, until the next change.
void LookAtObjects(benchmark::State& state, const Stored& stored) {
  FilledTier filled(stored);
  size_t at = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < kGetsPerRound; ++i) {
      const FilledTier::Wanted& wanted = filled.order[at++ % filled.order.size()];
      const Object* const found = filled.tier.Look(filled.tracks[wanted.track], wanted.location);
      KVCAST_CHECK(found != nullptr && found->location == wanted.location);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kGetsPerRound));
}

// The same by groups, as fetches ask: each of a group's objects is one that was handed out.
void GetGroups(benchmark::State& state, const Stored& stored) {
  FilledTier filled(stored);
  const size_t groups_per_round = kGetsPerRound / stored.objects_per_group;
  const size_t group_count = filled.all.size() / stored.objects_per_group;
  Random random(3);
  const auto random_group = [&] { return random.Below(group_count) * stored.objects_per_group; };
  Interleave(
      state, "of_bare_copies",
      [&] {
        for (size_t i = 0; i < groups_per_round; ++i) {
          const auto first = filled.array.begin() + static_cast<std::ptrdiff_t>(random_group());
          const std::vector<Object> copies(
              first, first + static_cast<std::ptrdiff_t>(stored.objects_per_group));
          benchmark::DoNotOptimize(copies.data());
        }
      },
      [&] {
        for (size_t i = 0; i < groups_per_round; ++i) {
          const FilledTier::Wanted& first = filled.all[random_group()];
          const std::vector<Object> found = filled.tier.GetRange(
              filled.tracks[first.track],
              {first.location, {first.location.group, stored.objects_per_group - 1}},
              stored.objects_per_group);
          KVCAST_CHECK(found.size() == stored.objects_per_group);
          benchmark::DoNotOptimize(found.data());
        }
      });
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(groups_per_round * stored.objects_per_group));
}

// What a tier that is full costs a node that goes on receiving: putting an object of 160 KB and
// evicting for it, beside copying the object once.
void PutAndEvict(benchmark::State& state) {
  constexpr size_t kPayloadBytes = 160 * 1024;
  constexpr uint64_t kPutsPerRound = 256;
  std::vector<std::byte> from(kPayloadBytes, std::byte{1});
  std::vector<std::byte> to(kPayloadBytes);
  const Bytes payload = Bytes::Copy(from);
  RamTier tier(size_t{2} << 30);
  uint64_t number = 0;
  Interleave(
      state, "of_memcpy",
      [&] {
        for (uint64_t i = 0; i < kPutsPerRound; ++i) {
          std::memcpy(to.data(), from.data(), to.size());
          benchmark::DoNotOptimize(to.data());
        }
      },
      [&] {
        for (uint64_t i = 0; i < kPutsPerRound; ++i, ++number) {
          const TrackName track = TrackNumber(number / 1024);
          Object object;
          object.location = {number / 128 % 8, number % 128};
          object.payload = payload;
          KVCAST_CHECK(tier.Put(track, object).ok());
          if (number % 128 == 127) {
            KVCAST_CHECK(tier.EndGroup(track, object.location.group, 128).ok());
          }
        }
        for (const EvictedGroup& evicted : tier.TakeEvicted()) {
          (void)tier.Forget(evicted.track);
        }
      });
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kPutsPerRound));
}

BENCHMARK_CAPTURE(GetReferences, 160_KB, k160Kb)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GetReferences, 2_MB, k2Mb)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GetReferences, 2_MB_alone, k2MbAlone)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(LookAtObjects, 160_KB, k160Kb)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GetGroups, 160_KB, k160Kb)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(GetGroups, 2_MB, k2Mb)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(PutAndEvict)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kvcast
