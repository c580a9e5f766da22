#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/driven_store.h"
#include "kvcast/host/forget_flags.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

constexpr size_t kForgetAtOnce = 1024;
constexpr Duration kForgetTidyFor = std::chrono::seconds(5);

struct ForgetOptions {
  StoreFlags flags;
  ForgetFlags what;
};

// Removes what is meant, and waits until no start brings it back.
class Forgetting {
 public:
  Forgetting(DrivenStore& store, const relay::ForgetScope& scope) : store_(&store), scope_(scope) {}

  Result<void> RemoveTracks() {
    LowerTier& tier = store_->tier();
    std::optional<TrackName> after;
    for (std::vector<TrackName> names = tier.Tracks(after, kForgetAtOnce); !names.empty();
         names = tier.Tracks(after, kForgetAtOnce)) {
      for (const TrackName& name : names) {
        if (scope_.Covers(name)) {
          KVCAST_TRY_VOID(Remove(name, std::nullopt));
          ++tracks;
        }
      }
      after = names.back();
    }
    return {};
  }
  // Of tracks that hold more than the prefix.
  Result<void> RemoveBlocks() {
    LowerTier& tier = store_->tier();
    std::optional<EvictedGroup> after;
    for (std::vector<ListedGroup> groups = tier.Groups(after, kForgetAtOnce);
         scope_.prefix && !groups.empty(); groups = tier.Groups(after, kForgetAtOnce)) {
      for (const ListedGroup& group : groups) {
        if (group.key == scope_.prefix && scope_.MayHold(group.track)) {
          KVCAST_TRY_VOID(Remove(group.track, group.group));
          ++blocks;
        }
      }
      after = EvictedGroup{groups.back().track, groups.back().group};
    }
    return {};
  }
  Result<void> Finish() {
    Progress progress("Waiting until it is durable");
    store_->Hurry();
    while (!open_.empty()) {
      KVCAST_TRY_VOID(Turn());
    }
    progress.Done();
    const Instant until = Now() + kForgetTidyFor;
    while (store_->Tidy() && Now() < until) {
      KVCAST_TRY_VOID(Turn());
    }
    return {};
  }

  size_t tracks = 0;
  size_t blocks = 0;

 private:
  Result<void> Remove(const TrackName& track, std::optional<uint64_t> group) {
    while (open_.size() >= kForgetAtOnce) {
      KVCAST_TRY_VOID(Turn());
    }
    KVCAST_TRY(const TierTicket ticket, store_->tier().Remove(track, group, Now()));
    open_.insert(ticket);
    return {};
  }
  Result<void> Turn() {
    store_->Turn(std::chrono::milliseconds(100));
    while (auto event = store_->tier().Next()) {
      if (auto* written = std::get_if<TierWritten>(&*event)) {
        if (open_.erase(written->ticket) > 0 && written->error) {
          return *written->error;
        }
      }
    }
    return {};
  }

  DrivenStore* store_;
  relay::ForgetScope scope_;
  std::set<TierTicket> open_;
};

Result<void> RunForget(const ForgetOptions& options) {
  KVCAST_TRY(const relay::ForgetScope scope, options.what.Scope());
  // Looks first: a directory that is none of a store's must not become one.
  KVCAST_TRY_VOID(OpenRestingStore(options.flags.store));
  KVCAST_TRY(const std::unique_ptr<DrivenStore> store, DrivenStore::Open(options.flags.store));
  Forgetting forgetting(*store, scope);
  const auto named = [&](const Result<void>& result) {
    return result.ok() ? result : Result<void>(Error(result.error()).In(options.flags.store));
  };
  KVCAST_TRY_VOID(named(forgetting.RemoveTracks()));
  KVCAST_TRY_VOID(named(forgetting.RemoveBlocks()));
  KVCAST_TRY_VOID(named(forgetting.Finish()));
  if (options.flags.json) {
    fmt::print("{}", JsonText(Json{{"tracks", forgetting.tracks},
                                   {"blocks", forgetting.blocks},
                                   {"tenant", scope.tenant},
                                   {"store", options.flags.store}}));
    return {};
  }
  fmt::print(
      "forgot {}{} of tenant {} in {}\n", Counted(forgetting.tracks, "track"),
      forgetting.blocks > 0 ? " and " + Counted(forgetting.blocks, "block") + " of others" : "",
      scope.tenant, options.flags.store);
  return {};
}

}  // namespace

void AddStoreForgetCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "forget",
      "Remove a tenant's caches from a store, or those of one model or prefix\n\n"
      "What is removed is gone for whoever asks from then on, and does not come back with a "
      "restart, nor from a bucket at another node. A directory must not be in use; a bucket may "
      "be, and nodes that use it see that it is gone when they look through it next. Each "
      "directory and bucket of a node is a store of its own: name them all. What says in a bucket "
      "that something is gone is no node's: the bytes= of none count it, and none deletes it.\n\n"
      "A prefix is named by the hash of its last block, as 'kvcast name' prints it: the tracks "
      "that were published as that prefix go, and that block wherever else it is.");
  command->footer(
      "kvcast store forget DIR --tenant acme\n"
      "kvcast store forget DIR --tenant acme --model llama-3\n"
      "kvcast store forget s3://BUCKET/PREFIX --tenant acme");
  const auto options = std::make_shared<ForgetOptions>();
  AddStoreArgument(*command, options->flags);
  options->what.AddTo(*command);
  command->add_flag("--json", options->flags.json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunForget(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
