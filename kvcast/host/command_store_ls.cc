#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/base/hex.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

struct LsOptions {
  StoreFlags flags;
  bool groups = false;
};

std::string KeyText(const ListedGroup& group) { return group.key ? group.key->ToHex() : ""; }

std::string WholeText(const ListedTrack& track) {
  const uint64_t groups = track.groups.size();
  const uint64_t whole = track.whole_count();
  return Counted(groups, "group") + (groups == 0       ? ""
                                     : whole == groups ? ", whole"
                                                       : ", " + Grouped(whole) + " of them whole");
}

void PrintTrack(const ListedTrack& track, const TrackFacts& facts, bool groups) {
  fmt::print("{}\n", track.name.Render());
  fmt::print("    {}; {}, {}", WholeText(track), Counted(track.object_count(), "object"),
             HumanBytes(track.payload_bytes()));
  if (facts.end) {
    fmt::print("; ends at {}", facts.end->ToString());
  }
  fmt::print("\n");
  if (!groups || track.groups.empty()) {
    return;
  }
  fmt::print("    {:>10} {:>10} {:>14}  {:<5}  {}\n", "group", "objects", "bytes", "whole", "key");
  for (const ListedGroup& group : track.groups) {
    fmt::print("    {:>10} {:>10} {:>14}  {:<5}  {}\n", group.group,
               Grouped(group.facts.object_count), Grouped(group.facts.payload_bytes),
               group.facts.whole() ? "yes" : "no", KeyText(group));
  }
}

Json JsonAt(const std::optional<Location>& location) {
  return location ? Json::array({location->group, location->object}) : Json();
}

Json JsonOf(const ListedTrack& track, const TrackFacts& facts) {
  Json groups = Json::array();
  for (const ListedGroup& group : track.groups) {
    groups.push_back({{"group", group.group},
                      {"objects", group.facts.object_count},
                      {"bytes", group.facts.payload_bytes},
                      {"end", group.facts.end ? Json(*group.facts.end) : Json()},
                      {"whole", group.facts.whole()},
                      {"key", group.key ? Json(KeyText(group)) : Json()}});
  }
  return {{"track", track.name.Render()},           {"tenant", TenantOf(track.name)},
          {"objects", track.object_count()},        {"bytes", track.payload_bytes()},
          {"largest", JsonAt(facts.largest)},       {"end", JsonAt(facts.end)},
          {"properties", JsonOf(facts.properties)}, {"groups", std::move(groups)}};
}

Result<int> RunLs(const LsOptions& options) {
  KVCAST_TRY(const std::unique_ptr<RestingStore> store, OpenRestingStore(options.flags.store));
  TrackWalk walk(*store, options.flags.track_prefix);
  Json json = Json::array();
  uint64_t tracks = 0;
  uint64_t bytes = 0;
  while (const auto track = walk.Next()) {
    const TrackFacts& facts = *store->FindTrack(track->name);
    if (options.flags.json) {
      json.push_back(JsonOf(*track, facts));
    } else {
      PrintTrack(*track, facts, options.groups);
    }
    ++tracks;
    bytes += track->payload_bytes();
  }
  if (options.flags.json) {
    fmt::print("{}", JsonText(json));
  } else {
    fmt::print("{}{}, {}\n", tracks > 0 ? "\n" : "", Counted(tracks, "track"), HumanBytes(bytes));
  }
  return TellUnlisted(*store);
}

}  // namespace

void AddStoreLsCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "ls",
      "List the tracks of a store, and their groups\n\n"
      "A group is whole if every object of it is there. Its key is what catalogs list it by: for a "
      "KV cache the name of the block, which 'kvcast name' prints too. Names of tracks are written "
      "as MoQT writes them: fields with - between them, then -- and the track's own name; what "
      "is no letter, digit or underscore stands in hex behind a period.\n\n"
      "Exit status: 0 if all of the store could be read, 1 if there may be more than is listed.");
  command->footer(
      "kvcast store ls DIR\n"
      "kvcast store ls DIR --groups --track moq\n"
      "kvcast store ls DIR --json");
  const auto options = std::make_shared<LsOptions>();
  AddStoreArgument(*command, options->flags);
  command->add_flag("--groups", options->groups, "List every group too");
  AddTrackFlag(*command, options->flags);
  command->add_flag("--json", options->flags.json, "Print everything as JSON, groups too");
  command->callback([options, exit_status] {
    const Result<int> result = RunLs(*options);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
