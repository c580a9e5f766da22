// Replays seeds of the simulator: kvcast_sim --seed 7, or --seed 0 --count 100000.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/catalog_world.h"

int main(int argc, char** argv) {
  CLI::App app("Plays kvcast's core in made-up worlds with faults, each reproduced by its seed.");
  uint64_t seed = 0;
  uint64_t count = 1;
  size_t steps = 120;
  app.add_option("--seed", seed, "The first seed")->capture_default_str();
  app.add_option("--count", count, "How many seeds to play")->capture_default_str();
  app.add_option("--steps", steps, "How long each plays before its faults stop")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  kvcast::sim::CatalogWorldCounts total;
  for (uint64_t i = 0; i < count; ++i) {
    kvcast::sim::CatalogWorld world(seed + i);
    const std::string wrong = world.Play(steps);
    if (!wrong.empty()) {
      fmt::print("seed {}: {}\nhistory {}\n", seed + i, wrong, world.history().ToHex());
      return 1;
    }
    const kvcast::sim::CatalogWorldCounts& counts = world.counts();
    total.delivered += counts.delivered;
    total.lost += counts.lost;
    total.damaged += counts.damaged;
    total.repeated += counts.repeated;
    total.delayed += counts.delayed;
    total.restarts += counts.restarts;
    total.refetches += counts.refetches;
    if (count == 1) {
      fmt::print("history {}\n", world.history().ToHex());
    }
  }
  fmt::print(
      "{} seeds from {}, 0 violations: {} objects delivered, {} lost, {} damaged, {} repeated, {} "
      "delayed, {} restarts, {} refetches\n",
      count, seed, total.delivered, total.lost, total.damaged, total.repeated, total.delayed,
      total.restarts, total.refetches);
  return 0;
}
