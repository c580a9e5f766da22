#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/pace_sample.h"
#include "kvcast/io/human_units.h"
#include "kvcast/kv/rung.h"

namespace kvcast {
namespace {

// Digits that tell nodes apart for people.
constexpr size_t kDigitsShown = 16;

// Blocks that follow each other at one node, from one publication.
struct Stretch {
  size_t first_block;
  size_t blocks = 0;
  Rung rung;
  Generation generation;
  NodeId node;
  uint64_t bytes = 0;
  std::optional<Duration> time{};

  size_t end_block() const { return first_block + blocks; }
  bool GoesOnWith(const BlockPlace& place) const {
    return end_block() == place.block && rung == place.rung && generation == place.generation &&
           node == place.node;
  }
};

// For each rung its stretches, in the prompt's order.
std::vector<Stretch> StretchesOf(const std::vector<BlockPlace>& places,
                                 std::span<const Rung> rungs) {
  std::vector<Stretch> all;
  for (const Rung rung : rungs) {
    const size_t before = all.size();
    for (const BlockPlace& place : places) {
      if (place.rung != rung) {
        continue;
      }
      const auto of_rung = all.begin() + static_cast<ptrdiff_t>(before);
      auto stretch = std::find_if(of_rung, all.end(),
                                  [&](const Stretch& each) { return each.GoesOnWith(place); });
      if (stretch == all.end()) {
        stretch = all.insert(all.end(),
                             {place.block, 0, rung, place.generation, place.node, 0, place.time});
        stretch->time = Duration::zero();
      }
      ++stretch->blocks;
      stretch->bytes += place.bytes;
      stretch->time =
          stretch->time && place.time ? std::optional(*stretch->time + *place.time) : std::nullopt;
    }
  }
  return all;
}

// What was found, and where.
struct Found {
  CacheMatch match;
  std::vector<Stretch> stretches;
};

void PrintJson(const CacheTask& task, const Found& found) {
  Json offers = Json::array();
  for (const Stretch& stretch : found.stretches) {
    Json time;  // Null unless it is known.
    if (stretch.time) {
      time = std::chrono::duration<double, std::milli>(*stretch.time).count();
    }
    offers.push_back({{"rung", std::string(ToString(stretch.rung))},
                      {"first_block", stretch.first_block},
                      {"blocks", stretch.blocks},
                      {"bytes", stretch.bytes},
                      {"load_ms", std::move(time)},
                      {"node", ToHex(stretch.node)},
                      {"generation", ToHex(stretch.generation)}});
  }
  const size_t blocks = found.match.block_count();
  fmt::print("{}", JsonText(Json{{"node", task.node()},
                                 {"model", task.kind.scope().Field()},
                                 {"blocks", task.chain.blocks().size()},
                                 {"found", blocks},
                                 {"tokens", blocks * task.shape.tokens()},
                                 {"offers", offers}}));
}

void PrintText(const CacheFlags& flags, const CacheTask& task, const Found& found) {
  task.Print(flags);
  const size_t blocks = found.match.block_count();
  fmt::print("found    {} of {} blocks; {} tokens are left to compute\n", blocks,
             task.chain.blocks().size(), Grouped(task.tokens() - blocks * task.shape.tokens()));
  if (found.match.empty()) {
    return;
  }
  const bool timed = std::ranges::any_of(found.stretches,
                                         [](const Stretch& each) { return each.time.has_value(); });
  fmt::print("\n{:<15}{:<11}{:>10}   {}{:<18}{}\n", "rung", "blocks", "bytes",
             timed ? "loads in   " : "", "node", "published by");
  for (const Stretch& stretch : found.stretches) {
    fmt::print(
        "{:<15}{:<11}{:>10}   {}{:<18}{}\n", ToString(stretch.rung),
        fmt::format("{}-{}", stretch.first_block, stretch.end_block() - 1),
        HumanBytes(stretch.bytes),
        timed ? fmt::format("{:<11}", stretch.time ? HumanDuration(*stretch.time) : "-") : "",
        ToHex(stretch.node).substr(0, kDigitsShown), ToHex(stretch.generation));
  }
}

// 0: something was found.
Result<int> RunFind(const CacheFlags& flags, bool measure) {
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
  const std::span<const Rung> rungs = task.rungs.empty() ? RungsByQuality() : std::span(task.rungs);
  if (measure) {
    SamplePace(task, *node, rungs);
  }
  const Found found = {
      node->Find(task.chain.blocks(), 0, rungs, task.generation),
      StretchesOf(node->Places(task.chain.blocks(), 0, rungs, task.generation), rungs)};
  flags.json ? PrintJson(task, found) : PrintText(flags, task, found);
  return found.match.empty() ? kExitFailed : kExitOk;
}

}  // namespace

void AddFindCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "find",
      "Say how much of a prompt's KV cache can be had, and as what\n\n"
      "Finds the longest beginning of the prompt, in whole blocks, that a node, or one behind it, "
      "holds at any rung, and lists which node has which blocks of it, and who published them. "
      "The node's catalogs are read, and the rest is looked up here. Of what was found a little is "
      "loaded, 4 MiB or one block, to tell how long all of it would take; --no-load leaves that "
      "out.\n\n"
      "Exit status: 0 if at least one block was found, 1 if none.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast find prompt.tokens --model DIR --node HOST:PORT#FINGERPRINT\n"
      "kvcast find prompt.tokens --model DIR --node node7.example:4433 --rung BF16-lossless "
      "--json");
  const auto flags = std::make_shared<CacheFlags>();
  command->add_option("PROMPT", flags->prompt, "A file of token ids; - is stdin")->required();
  CacheFlags::AddTo(*command, *flags,
                    "A rung to look for; several if said several times "
                    "(default: all of them)",
                    "Only what was published under this generation");
  const auto no_load = std::make_shared<bool>(false);
  command->add_flag("--no-load", *no_load,
                    "Load nothing, and so do not tell how long it would take");
  command->callback([flags, no_load, exit_status] {
    const Result<int> result = RunFind(*flags, !*no_load);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
