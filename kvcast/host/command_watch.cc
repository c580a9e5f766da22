#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/catalog_session.h"
#include "kvcast/host/command.h"
#include "kvcast/host/held_caches.h"
#include "kvcast/host/held_values.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

struct WatchFlags {
  CatalogFlags catalog;
  bool all = false;
  uint64_t count = 0;
};

void Print(const ViewChange& change, bool json) {
  const HoldingsChange& what = change.change;
  const std::map<uint64_t, Holdings::Block> one{{what.group, what.block}};
  const HeldTrack track{change.node, &what.track, &one};
  const std::optional<HeldCache> cache = HeldCacheOf(track);
  const std::vector<HeldValue> values = HeldValuesOf(track);  // One, or none.
  const std::string time = ToIso8601(WallNow());
  if (json) {
    Json line{{"time", time},
              {"event", what.added ? "added" : "removed"},
              {"track", what.track.Render()},
              {"block", what.group},
              {"key", what.block.key.ToHex()},
              {"bytes", what.block.bytes},
              {"node", ToHex(change.node)}};
    if (cache) {
      line["model"] = cache->model;
      line["prefix"] = cache->prefix;
      line["generation"] = cache->generation;
      line["rung"] = cache->rung;
    }
    for (const HeldValue& value : values) {
      line["model"] = value.model;
      line["value"] = value.name;
      line["generation"] = value.generation;
    }
    fmt::print("{}\n", line.dump());
  } else if (cache) {
    fmt::print("{} {} {} prefix {} block {:<4} {:<14}{:>10}  node {}\n", time,
               what.added ? '+' : '-', cache->model, cache->prefix.substr(0, kShortHex), what.group,
               cache->rung, HumanBytes(what.block.bytes), cache->node.substr(0, kShortHex));
  } else if (!values.empty()) {
    const HeldValue& value = values.front();
    fmt::print("{} {} {} value {} {:>10}  node {}\n", time, what.added ? '+' : '-', value.model,
               value.name.substr(0, kShortHex), HumanBytes(value.bytes),
               value.node.substr(0, kShortHex));
  } else {
    fmt::print("{} {} {} group {} {:>10}  node {}\n", time, what.added ? '+' : '-',
               what.track.Render(), what.group, HumanBytes(what.block.bytes),
               ToHex(change.node).substr(0, kShortHex));
  }
}

Result<void> RunWatch(const WatchFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<CatalogSession> session, CatalogSession::Open(flags.catalog));
  if (!flags.all) {
    (void)session->view().TakeChanges();  // What was there before.
  }
  if (!flags.catalog.json) {
    fmt::print(stderr, "watching; Ctrl-C ends it\n");
  }
  for (uint64_t printed = 0; !session->interrupted();) {
    for (const ViewChange& change : session->view().TakeChanges()) {
      Print(change, flags.catalog.json);
      if (++printed == flags.count) {
        return {};
      }
    }
    (void)std::fflush(stdout);
    KVCAST_TRY_VOID(session->Turn(Now() + std::chrono::hours(1)));
  }
  return {};
}

}  // namespace

void AddWatchCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "watch",
      "Print what nodes take in and give up, as it happens\n\n"
      "A line for each block or value that a node, or one behind it, begins to hold (+) or no "
      "longer holds (-): what their catalogs say, within moments. Goes on until Ctrl-C.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast watch --node HOST:PORT#FINGERPRINT\n"
      "kvcast watch public/tinylm@9379127396f05b09 --all --json --node HOST:PORT#FINGERPRINT");
  const auto flags = std::make_shared<WatchFlags>();
  CatalogFlags::AddTo(*command, flags->catalog,
                      "Whose caches, as TENANT/NAME@16-HEX-DIGITS (default: all models')");
  command->add_flag("--all", flags->all, "Begin with all that is held already");
  command->add_option("--count", flags->count, "End after so many lines (default: never)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->callback([flags, exit_status] {
    const Result<void> result = RunWatch(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
