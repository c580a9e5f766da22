#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

void PrintVerdict(const StoreVerdict& verdict) {
  fmt::print("read     {}, {}\n", Counted(verdict.records, "record"), HumanBytes(verdict.bytes));
  if (verdict.damage.empty()) {
    fmt::print("damage   none\n");
    return;
  }
  fmt::print("damage   {}\n", Counted(verdict.damage.size(), "place"));
  for (const StoreDamage& damage : verdict.damage) {
    fmt::print("  {}, byte {}: {}\n", damage.file, Grouped(damage.offset), damage.what);
    if (damage.track) {
      fmt::print("    {}{}\n", damage.track->Render(),
                 damage.location ? ", object " + damage.location->ToString() : "");
    }
  }
  uint64_t bytes = 0;
  uint64_t objects = 0;
  for (const StoreLoss& loss : verdict.losses) {
    bytes += loss.bytes;
    objects += loss.objects;
  }
  if (verdict.unlisted > 0) {
    fmt::print("cost     all that {} held, of which nobody can tell\n",
               verdict.unlisted == 1 ? "one pack" : Counted(verdict.unlisted, "pack"));
  }
  if (verdict.nameless > 0) {
    fmt::print("cost     up to {} of which nobody can tell what {}\n",
               Counted(verdict.nameless, "record"),
               verdict.nameless == 1 ? "it held" : "they held");
  } else if (verdict.losses.empty() && verdict.unlisted == 0) {
    fmt::print("cost     nothing: whatever is damaged stands elsewhere too\n");
  }
  if (verdict.losses.empty()) {
    return;
  }
  fmt::print("cost     {} of {}, {}\n", Counted(objects, "object"),
             Counted(verdict.losses.size(), "group"), HumanBytes(bytes));
  for (const StoreLoss& loss : verdict.losses) {
    fmt::print("  {}, group {}: {}, {}{}\n", loss.track.Render(), loss.group,
               Counted(loss.objects, "object"), HumanBytes(loss.bytes),
               loss.was_whole ? "; no longer whole" : "");
  }
}

void PrintJson(const StoreVerdict& verdict) {
  Json damage = Json::array();
  for (const StoreDamage& one : verdict.damage) {
    damage.push_back(
        {{"file", one.file},
         {"offset", one.offset},
         {"what", one.what},
         {"track", one.track ? Json(one.track->Render()) : Json()},
         {"object",
          one.location ? Json::array({one.location->group, one.location->object}) : Json()},
         {"costs", one.costs}});
  }
  Json losses = Json::array();
  for (const StoreLoss& loss : verdict.losses) {
    losses.push_back({{"track", loss.track.Render()},
                      {"group", loss.group},
                      {"was_whole", loss.was_whole},
                      {"objects", loss.objects},
                      {"bytes", loss.bytes}});
  }
  fmt::print("{}", JsonText({{"records", verdict.records},
                             {"bytes", verdict.bytes},
                             {"damage", std::move(damage)},
                             {"losses", std::move(losses)},
                             {"nameless", verdict.nameless},
                             {"unlisted", verdict.unlisted}}));
}

Result<int> RunVerify(const StoreFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<RestingStore> store, OpenRestingStore(flags.store));
  Progress progress("Verifying");
  KVCAST_TRY(const StoreVerdict verdict,
             store->Verify([&](uint64_t done, uint64_t total) { progress.Update(done, total); }));
  progress.Done();
  if (flags.json) {
    PrintJson(verdict);
  } else {
    PrintVerdict(verdict);
  }
  return verdict.damage.empty() ? kExitOk : kExitFailed;
}

}  // namespace

void AddStoreVerifyCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "verify",
      "Read all of a store, find what is damaged, and say what that costs\n\n"
      "Every record has check sums over its name, its contents and the place where it stands. "
      "What is damaged is never served: a node that comes upon it forgets the object, and gets it "
      "again from elsewhere if it can. So there is nothing to repair; this tells beforehand what "
      "would be missing, and whether a disk is going bad. Nothing is changed.\n\n"
      "Exit status: 0 if nothing is damaged, 1 if something is or the store cannot be read.");
  command->footer(
      "kvcast store verify DIR\n"
      "kvcast store verify DIR --json");
  const auto flags = std::make_shared<StoreFlags>();
  AddStoreArgument(*command, *flags);
  command->add_flag("--json", flags->json, "Print everything as JSON");
  command->callback([flags, exit_status] {
    const Result<int> result = RunVerify(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
