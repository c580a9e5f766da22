// Replays seeds of the simulator: kvcast_sim road --seed 7, or --seed 0 --seeds 100000; of all
// worlds if none is named.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "kvcast/base/planted.h"
#include "sim/bucket_world.h"
#include "sim/catalog_world.h"
#include "sim/disk_world.h"
#include "sim/network_world.h"
#include "sim/road_world.h"
#include "sim/session_world.h"
#include "sim/store_world.h"

namespace kvcast::sim {
namespace {

struct Seeds {
  std::string world;
  uint64_t first = 0;
  uint64_t count = 1;
  size_t steps = 0;
};

// Plays every seed in a world of this kind; 1 if one of them saw something violated.
template <typename World, typename Counts>
int Play(const Seeds& seeds, const std::function<void(Counts&, const Counts&)>& add,
         const std::function<std::string(const Counts&)>& text) {
  Counts total;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    World world(seed);
    const std::string wrong = world.Play(seeds.steps);
    if (!wrong.empty() || seeds.count == 1) {
      fmt::print("seed {}: {}\nhistory {}\n", seed, wrong.empty() ? "nothing violated" : wrong,
                 world.history().ToHex());
    }
    if (!wrong.empty()) {
      fmt::print("again: kvcast_sim {} --seed {} --steps {}\n", seeds.world, seed, seeds.steps);
      return 1;
    }
    add(total, world.counts());
  }
  fmt::print("{} seeds from {}, 0 violations: {}\n", seeds.count, seeds.first, text(total));
  return 0;
}

int PlayBuckets(const Seeds& seeds) {
  return Play<BucketWorld, BucketWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} requests, {} faults, {} outages, {} times left alone, {} restarts; {} "
            "acknowledged, {} failed, {} hits, {} misses, {} groups evicted, {} packs merged; {} "
            "buckets damaged",
            total.requests, total.faults, total.outages, total.away, total.restarts,
            total.acknowledged, total.failed, total.hits, total.misses, total.evicted, total.merged,
            total.damaged);
      });
}

int PlayCatalogs(const Seeds& seeds) {
  return Play<CatalogWorld, CatalogWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} objects delivered, {} lost, {} damaged, {} repeated, {} delayed, {} restarts, {} "
            "refetches",
            total.delivered, total.lost, total.damaged, total.repeated, total.delayed,
            total.restarts, total.refetches);
      });
}

int PlayDisks(const Seeds& seeds) {
  return Play<DiskWorld, DiskWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} states after a power cut, {} with a bit flipped, {} restarts; {} acknowledged, {} "
            "failed, {} groups evicted, {} objects carried; {} errors of the device, {} disks too "
            "small, {} with a misdirected write, {} segments unread at a start, {} blocks gone "
            "bad, "
            "{} objects in them",
            total.power_cuts, total.flips, total.restarts, total.acknowledged, total.failed,
            total.evicted, total.carried, total.errors, total.full, total.misdirected, total.unread,
            total.bad_blocks, total.lost);
      });
}

// Each seed again and again, with an error at the first request to the disk, at the second, and so
// on to the last.
int PlayDiskErrors(const Seeds& seeds) {
  DiskWorldCounts total;
  uint64_t plays = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    for (uint64_t fail_at = 1;; ++fail_at) {
      DiskWorld world(seed, DiskPlan{.fail_at = fail_at, .power_cut_chance = 0.05});
      const std::string wrong = world.Play(seeds.steps);
      if (!wrong.empty()) {
        fmt::print(
            "seed {}, an error at request {}: {}\nagain: kvcast_sim {} --seed {} --steps {}\n",
            seed, fail_at, wrong, seeds.world, seed, seeds.steps);
        return 1;
      }
      if (world.request_count() < fail_at) {
        break;  // It was never asked for.
      }
      total.Add(world.counts());
      ++plays;
    }
  }
  fmt::print(
      "{} seeds from {}, 0 violations: {} plays with an error at one request each; {} states after "
      "a power cut, {} with a bit flipped, {} acknowledged, {} failed\n",
      seeds.count, seeds.first, plays, total.power_cuts, total.flips, total.acknowledged,
      total.failed);
  return 0;
}

int PlayNetworks(const Seeds& seeds) {
  return Play<NetworkWorld, NetworkCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) { return total.ToString(); });
}

int PlayRoads(const Seeds& seeds) {
  return Play<RoadWorld, RoadWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} blocks published, {} skipped, {} loaded, {} to compute again; {} connections "
            "broken, {} stalled, {} operations cancelled, {} prefills given up, {} publications "
            "that lie, "
            "{} restarts, {} "
            "nodes with little "
            "room; {} loads followed, {} blocks came as they were published",
            total.published, total.skipped, total.loaded, total.again, total.broken, total.stalls,
            total.cancels, total.given_up, total.lies, total.restarts, total.small_nodes,
            total.followed, total.live);
      });
}

int PlaySessions(const Seeds& seeds) {
  return Play<SessionWorld, SessionWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} requests, {} refused, {} cancelled, {} changed; {} objects sent, {} taken, {} "
            "streams reset, {} late, {} ends without all; {} times all streams were used "
            "up, {} requests put out; {} packets lost, {} repeated, {} overtaken; {} leaps of "
            "time; {} connections broken",
            total.requests, total.refused, total.cancelled, total.updated, total.sent, total.taken,
            total.resets, total.late, total.given_up, total.used_up, total.put_out, total.lost,
            total.repeated, total.overtaken, total.leaps, total.broken);
      });
}

int PlayStores(const Seeds& seeds) {
  return Play<StoreWorld, StoreWorldCounts>(
      seeds, [](auto& total, const auto& more) { total.Add(more); },
      [](const auto& total) {
        return fmt::format(
            "{} puts, {} refused, {} that contradict; {} acknowledged, {} failed; {} hits in "
            "memory, {} read from below, {} misses; {} groups demoted, {} packs put, {} promises "
            "gone; "
            "{} "
            "restarts, {} promises held to; {} tracks erased, {} of them for good; {} blocks gone "
            "bad, "
            "{} promises in them, {} of those kept anew; {} times a disk hung",
            total.puts, total.refused, total.contradictions, total.acknowledged, total.failed,
            total.hits, total.reads, total.misses, total.demoted, total.packs, total.evicted,
            total.restarts, total.checked, total.erased, total.erasures_done, total.bad_blocks,
            total.unread, total.put_again, total.hangs);
      });
}

}  // namespace
}  // namespace kvcast::sim

namespace kvcast::sim {
namespace {

struct KindOfWorld {
  const char* name;
  const char* what;
  size_t steps;  // Unless others are asked for.
  int (*play)(const Seeds&);
};
constexpr KindOfWorld kWorlds[] = {
    {"bucket", "Bucket tiers on a bucket that fails in every way", 800, PlayBuckets},
    {"catalog", "Nodes that fill and evict, and a client that follows their catalogs", 120,
     PlayCatalogs},
    {"disk", "A disk tier whose disk loses its power after every step", 400, PlayDisks},
    {"disk-errors", "The same, each seed with an error at every request in turn", 400,
     PlayDiskErrors},
    {"network", "Origin, relays in levels, publishers and readers, disks and a bucket", 400,
     PlayNetworks},
    {"road", "Engines that publish and load through a node", 1000, PlayRoads},
    {"session", "Two sessions over a link that loses, repeats and reorders", 600, PlaySessions},
    {"store", "A store of RAM, disks and a bucket that fail, on a machine that dies", 1500,
     PlayStores},
};

void AddSeedsTo(CLI::App& app, Seeds& seeds, const std::string& steps) {
  app.add_option("--seed", seeds.first, "The first seed")->capture_default_str();
  app.add_option("--seeds,--count", seeds.count, "How many seeds to play")->capture_default_str();
  app.add_option("--steps", seeds.steps, "How long each plays before its faults stop" + steps);
}

int PlayIn(const KindOfWorld& world, Seeds seeds) {
  seeds.world = world.name;
  seeds.steps = seeds.steps == 0 ? world.steps : seeds.steps;
  return world.play(seeds);
}

// One after the other, up to the first in which something is violated.
int PlayInAll(const Seeds& seeds) {
  for (const KindOfWorld& world : kWorlds) {
    fmt::print("{}: ", world.name);
    (void)std::fflush(stdout);
    if (const int status = PlayIn(world, seeds); status != 0) {
      return status;
    }
  }
  return 0;
}

}  // namespace
}  // namespace kvcast::sim

int main(int argc, char** argv) {
  using kvcast::sim::KindOfWorld;
  CLI::App app(
      "Plays kvcast's core in made-up worlds with faults, each reproduced by its seed: in the one "
      "that is named, or in all of them in turn.");
  app.require_subcommand(0, 1);
  int status = 0;
  kvcast::sim::Seeds seeds;
  kvcast::sim::AddSeedsTo(app, seeds, "");
  for (const KindOfWorld& world : kvcast::sim::kWorlds) {
    CLI::App* const named = app.add_subcommand(world.name, world.what);
    kvcast::sim::AddSeedsTo(*named, seeds, fmt::format(" [{}]", world.steps));
    named->callback([&seeds, &status, &world] { status = kvcast::sim::PlayIn(world, seeds); });
  }
#ifdef KVCAST_PLANTED_BUGS
  // Before anything is played: an option of the program itself, given before the world's name.
  app.add_option_function<int>(
         "--bug", [](int bug) { kvcast::planted_bug = static_cast<kvcast::PlantedBug>(bug); },
         "Which of the planted bugs is there (kvcast/base/planted.h)")
      ->check(CLI::Range(0, kvcast::kPlantedBugs))
      ->trigger_on_parse();
#endif
  CLI11_PARSE(app, argc, argv);
  return app.get_subcommands().empty() ? kvcast::sim::PlayInAll(seeds) : status;
}
