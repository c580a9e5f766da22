#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/track_text.h"
#include "kvcast/io/human_units.h"
#include "kvcast/kv/rung.h"

namespace kvcast {
namespace {

// Everything that a prompt's blocks can be had as: for each rung its runs, in the prompt's order.
std::vector<LoadRun> AllRuns(const CacheMatch& match) {
  std::vector<LoadRun> runs;
  for (const Rung rung : match.rungs()) {
    for (size_t block = match.first_block(); block < match.end_block();) {
      const std::optional<LoadRun> run = match.RunFrom(block, rung, match.block_count());
      block = run ? run->end_block() : block + 1;
      if (run) {
        runs.push_back(*run);
      }
    }
  }
  return runs;
}

void PrintJson(const CacheTask& task, const CacheMatch& match) {
  Json offers = Json::array();
  for (const LoadRun& run : AllRuns(match)) {
    offers.push_back({{"rung", std::string(ToString(run.rung))},
                      {"first_block", run.first_block},
                      {"blocks", run.block_count},
                      {"bytes", run.bytes},
                      {"generation", GenerationOf(run.track)}});
  }
  fmt::print("{}", JsonText(Json{{"node", task.node()},
                                 {"model", task.kind.scope().Field()},
                                 {"blocks", task.chain.blocks().size()},
                                 {"found", match.block_count()},
                                 {"tokens", match.block_count() * task.shape.tokens()},
                                 {"offers", offers}}));
}

void PrintText(const CacheFlags& flags, const CacheTask& task, const CacheMatch& match) {
  task.Print(flags);
  const size_t tokens = match.block_count() * task.shape.tokens();
  fmt::print("found    {} of {} blocks; {} tokens are left to compute\n", match.block_count(),
             task.chain.blocks().size(), Grouped(task.tokens() - tokens));
  if (match.empty()) {
    return;
  }
  fmt::print("\n{:<15}{:<11}{:>10}   {}\n", "rung", "blocks", "bytes", "published by");
  for (const LoadRun& run : AllRuns(match)) {
    fmt::print("{:<15}{:<11}{:>10}   {}\n", ToString(run.rung),
               fmt::format("{}-{}", run.first_block, run.end_block() - 1), HumanBytes(run.bytes),
               GenerationOf(run.track));
  }
}

// 0: something was found.
Result<int> RunFind(const CacheFlags& flags) {
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
  const CacheMatch match = node->Find(
      task.chain.blocks(), 0, task.rungs.empty() ? RungsByQuality() : std::span(task.rungs));
  flags.json ? PrintJson(task, match) : PrintText(flags, task, match);
  return match.empty() ? kExitFailed : kExitOk;
}

}  // namespace

void AddFindCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "find",
      "Say how much of a prompt's KV cache can be had, and as what\n\n"
      "Finds the longest beginning of the prompt, in whole blocks, that a node, or one behind it, "
      "holds at any rung, and lists who published which blocks of it. Nothing is loaded: the "
      "node's catalogs are read, and the rest is looked up here.\n\n"
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
                    "(default: all of them)");
  command->callback([flags, exit_status] {
    const Result<int> result = RunFind(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
