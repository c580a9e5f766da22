#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

using std::chrono::hours;

struct Totals {
  uint64_t tracks = 0;
  uint64_t groups = 0;
  uint64_t whole = 0;
  uint64_t objects = 0;
  uint64_t bytes = 0;

  void Add(const ListedTrack& track) {
    ++tracks;
    groups += track.groups.size();
    whole += track.whole_count();
    objects += track.object_count();
    bytes += track.payload_bytes();
  }
};

struct AgeClass {
  const char* name;
  Duration below;
};
constexpr std::array<AgeClass, 5> kAges = {{{"an hour", hours(1)},
                                            {"a day", hours(24)},
                                            {"a week", hours(7 * 24)},
                                            {"a month", hours(30 * 24)},
                                            {"longer", Duration::max()}}};

struct Statistics {
  Totals all;
  std::map<std::string, Totals> tenants;
  std::vector<std::pair<std::string, uint64_t>> largest;  // Tracks, by bytes.
  std::vector<StoreFile> files;
  std::array<uint64_t, kAges.size()> live_by_age{};
};

constexpr size_t kTracksShown = 10;

size_t AgeOf(uint64_t received_us) {
  const auto now_us =
      std::chrono::duration_cast<std::chrono::microseconds>(WallNow().time_since_epoch());
  const Duration age = now_us - std::chrono::microseconds(received_us);
  return static_cast<size_t>(
      std::ranges::find_if(kAges, [&](const AgeClass& one) { return age < one.below; }) -
      kAges.begin());
}

Result<Statistics> Count(RestingStore& store) {
  Statistics statistics;
  TrackWalk walk(store, "");
  while (const auto track = walk.Next()) {
    statistics.all.Add(*track);
    statistics.tenants[TenantOf(track->name)].Add(*track);
    statistics.largest.emplace_back(track->name.Render(), track->payload_bytes());
    std::ranges::stable_sort(statistics.largest, std::greater<>(),
                             [](const auto& one) { return one.second; });
    statistics.largest.resize(std::min(statistics.largest.size(), kTracksShown));
  }
  Progress progress("Looking into segments");
  KVCAST_TRY(statistics.files,
             store.Files([&](uint64_t done, uint64_t total) { progress.Update(done, total); }));
  progress.Done();
  for (const StoreFile& file : statistics.files) {
    if (file.age_us && file.live_bytes > 0) {
      statistics.live_by_age[std::min(AgeOf(*file.age_us), kAges.size() - 1)] += file.live_bytes;
    }
  }
  return statistics;
}

std::string ReceiptText(const StoreFile& file) {
  return file.age_us ? ToIso8601(WallTime(std::chrono::microseconds(*file.age_us))) : "-";
}

void PrintStatistics(const Statistics& statistics) {
  uint64_t allocated = 0;
  uint64_t live = 0;
  for (const StoreFile& file : statistics.files) {
    allocated += file.bytes;
    live += file.live_bytes;
  }
  const Totals& all = statistics.all;
  fmt::print("tracks    {}\n", Grouped(all.tracks));
  fmt::print("groups    {}, {} of them whole\n", Grouped(all.groups), Grouped(all.whole));
  fmt::print("objects   {}, {}\n", Grouped(all.objects), HumanBytes(all.bytes));
  fmt::print("segments  {}, {} allocated, {} live\n\n", Grouped(statistics.files.size()),
             HumanBytes(allocated), HumanBytes(live));
  fmt::print("{:<24} {:>8} {:>10} {:>12} {:>12}\n", "tenant", "tracks", "groups", "objects",
             "bytes");
  for (const auto& [tenant, totals] : statistics.tenants) {
    fmt::print("{:<24} {:>8} {:>10} {:>12} {:>12}\n", tenant.empty() ? "(none)" : tenant,
               Grouped(totals.tracks), Grouped(totals.groups), Grouped(totals.objects),
               HumanBytes(totals.bytes));
  }
  fmt::print("\n{:<24} {:>12}\n", "received within", "live");
  for (size_t age = 0; age < kAges.size(); ++age) {
    fmt::print("{:<24} {:>12}\n", kAges[age].name, HumanBytes(statistics.live_by_age[age]));
  }
  fmt::print("\n{:<24} {:<10} {:>12} {:>12} {:>10}  {}\n", "segment", "state", "bytes", "live",
             "objects", "received from");
  for (const StoreFile& file : statistics.files) {
    fmt::print("{:<24} {:<10} {:>12} {:>12} {:>10}  {}\n", file.name, file.state,
               HumanBytes(file.bytes), HumanBytes(file.live_bytes), Grouped(file.object_count),
               ReceiptText(file));
  }
  fmt::print("\nlargest tracks\n");
  for (const auto& [track, bytes] : statistics.largest) {
    fmt::print("{:>12}  {}\n", HumanBytes(bytes), track);
  }
}

Json JsonOf(const Totals& totals) {
  return {{"tracks", totals.tracks},
          {"groups", totals.groups},
          {"whole_groups", totals.whole},
          {"objects", totals.objects},
          {"bytes", totals.bytes}};
}

void PrintJson(const Statistics& statistics) {
  Json json = JsonOf(statistics.all);
  json["tenants"] = Json::object();
  for (const auto& [tenant, totals] : statistics.tenants) {
    json["tenants"][tenant] = JsonOf(totals);
  }
  json["segments"] = Json::array();
  for (const StoreFile& file : statistics.files) {
    json["segments"].push_back({{"name", file.name},
                                {"state", file.state},
                                {"bytes", file.bytes},
                                {"live_bytes", file.live_bytes},
                                {"objects", file.object_count},
                                {"received_us", file.age_us ? Json(*file.age_us) : Json()}});
  }
  json["largest_tracks"] = Json::array();
  for (const auto& [track, bytes] : statistics.largest) {
    json["largest_tracks"].push_back({{"track", track}, {"bytes", bytes}});
  }
  fmt::print("{}", JsonText(json));
}

Result<int> RunStat(const StoreFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<RestingStore> store, OpenRestingStore(flags.store));
  KVCAST_TRY(const Statistics statistics, Count(*store));
  if (flags.json) {
    PrintJson(statistics);
  } else {
    PrintStatistics(statistics);
  }
  return TellUnlisted(*store);
}

}  // namespace

void AddStoreStatCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "stat",
      "Say what a store's room is used for: by tenant, by age, by segment\n\n"
      "A segment is a file that is written once, from its beginning to its end; its room comes "
      "back when it is removed as a whole. Live is what would have to be moved for that. A segment "
      "is as old as its first object. One that is open was being written when the node stopped "
      "without notice; the next start moves what it holds. The ten largest tracks are listed.\n\n"
      "Exit status: 0 if all of the store could be read; 1 if not, and then there may be more.");
  command->footer(
      "kvcast store stat DIR\n"
      "kvcast store stat DIR --json");
  const auto flags = std::make_shared<StoreFlags>();
  AddStoreArgument(*command, *flags);
  command->add_flag("--json", flags->json, "Print everything as JSON");
  command->callback([flags, exit_status] {
    const Result<int> result = RunStat(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
