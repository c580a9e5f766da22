#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/kv/token_list.h"

namespace kvcast {
namespace {

struct Got {
  LoadPlan plan;
  LoadReport report;
  double seconds = 0;
};

Result<Got> Load(const CacheTask& task, NodeConnection& node, LoadPlan plan, CacheRows& rows) {
  const std::vector<LayerMemory> memory = rows.Memory();
  KVCAST_TRY(const PagedCache cache, BlocksInARow(task.shape, task.values, memory));
  const size_t blocks = plan.block_count();
  KVCAST_TRY(const PromptPages pages,
             PromptPages::Of(cache, PagesInARow(blocks), task.shape.tokens(), blocks));
  Progress progress("Loading");
  const Instant start = Now();
  KVCAST_TRY(LoadReport report,
             node.Load(plan, task.chain.blocks(), pages,
                       {.deadline = task.deadline, .on_progress = [&](size_t loaded) {
                          progress.Update(loaded * task.block_bytes(), blocks * task.block_bytes());
                        }}));
  if (report.complete()) {
    progress.Done();
  }
  return Got{std::move(plan), std::move(report),
             std::chrono::duration<double>(Now() - start).count()};
}

// The tokens that were loaded, in a file that is there as a whole or not at all.
Result<void> Write(const CacheTask& task, const CacheRows& rows, size_t tokens, FileWriter writer) {
  const KvMetadata metadata = {
      {std::string(kModelNameKey), task.model.name},
      {std::string(kModelFpKey), task.model.description.Fingerprint().ToHex()},
      {std::string(kTokensDigestKey),
       DigestOfTokens(std::span(task.prompt).first(tokens)).ToHex()}};
  KVCAST_TRY(const KvFilePlan plan, KvFilePlan::Of(task.shape.layers(), task.values,
                                                   static_cast<uint32_t>(tokens), metadata));
  return rows.WriteAs(plan, std::move(writer));
}

std::string GenerationOf(const TrackName& track) {
  const Result<CacheTrack> parsed = CacheTrack::Parse(track);
  return parsed.ok() ? ToHex(parsed->generation) : Printable(track.Render());
}

void PrintJson(const CacheTask& task, const Got& got, size_t tokens) {
  Json runs = Json::array();
  for (const LoadRun& run : got.plan.runs()) {
    runs.push_back({{"first_block", run.first_block},
                    {"blocks", run.block_count},
                    {"generation", GenerationOf(run.track)},
                    {"bytes", run.bytes}});
  }
  fmt::print("{}", JsonText(Json{{"node", task.address.host_and_port},
                                 {"model", task.kind.scope().Field()},
                                 {"blocks", task.chain.blocks().size()},
                                 {"rung", std::string(ToString(got.plan.rung()))},
                                 {"found", got.plan.block_count()},
                                 {"loaded", got.report.loaded()},
                                 {"tokens", tokens},
                                 {"bytes", got.report.bytes},
                                 {"seconds", got.seconds},
                                 {"reason", got.report.reason},
                                 {"runs", runs}}));
}

void PrintText(const CacheFlags& flags, const CacheTask& task, const Got& got, size_t tokens) {
  task.Print(flags);
  fmt::print("found    {} of {} blocks, as {}\n", got.plan.block_count(),
             task.chain.blocks().size(), ToString(got.plan.rung()));
  for (const LoadRun& run : got.plan.runs()) {
    fmt::print("         blocks {}-{} as published by {}\n", run.first_block,
               run.first_block + run.block_count - 1, GenerationOf(run.track));
  }
  fmt::print("loaded   {} blocks, {} in {:.2f} s\n", got.report.loaded(),
             HumanBytes(got.report.bytes), got.seconds);
  if (!got.report.complete()) {
    fmt::print("         not all that was found: {}\n", got.report.reason);
  }
  fmt::print("cache    {}: {} tokens in {}; {} left to compute\n", flags.file, Grouped(tokens),
             ToString(task.values), Grouped(task.tokens() - tokens));
}

Result<void> RunGet(const CacheFlags& flags) {
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  // Before anything is loaded that could then not be written.
  KVCAST_TRY(FileWriter writer, FileWriter::Create(flags.file));
  const std::string where = "node " + task.address.host_and_port;
  KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
  LoadPlan plan = node->FindAtAny(task.rungs.empty() ? task.ladder.LoadedByDefault() : task.rungs,
                                  task.chain.blocks());
  if (plan.empty()) {
    return Error(ErrorCode::kNotFound,
                 "The node holds no block of this prompt for " + task.kind.scope().Field() +
                     " at the rungs asked for (--rung). Names cover the model, tenant, salt and "
                     "block "
                     "length: 'kvcast name' shows them, and both sides must agree.")
        .In(where);
  }
  CacheRows rows(task.shape.layers(), task.values, plan.block_count() * task.shape.tokens());
  KVCAST_TRY(const Got got, Load(task, *node, std::move(plan), rows));
  const size_t tokens = got.report.loaded() * task.shape.tokens();
  if (tokens == 0) {
    return Error(ErrorCode::kNotFound, "No block could be loaded: " + got.report.reason).In(where);
  }
  KVCAST_TRY_VOID(Write(task, rows, tokens, std::move(writer)));
  if (flags.json) {
    PrintJson(task, got, tokens);
  } else {
    PrintText(flags, task, got, tokens);
  }
  return {};
}

}  // namespace

void AddGetCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "get",
      "Load the KV cache of a prompt, as far as a node has it, into a file\n\n"
      "Finds the longest beginning of the prompt, in whole blocks, whose KV somebody has published "
      "to the node, loads it, checks every token of it, and writes it as a safetensors file. What "
      "could not be loaded is left out; the file is there as a whole or not at all.\n\n"
      "Exit status: 0 if at least one block was loaded; 1 if there was none, and then no file.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast get prompt.tokens cache.safetensors --model DIR --node HOST:PORT#FINGERPRINT\n"
      "kvcast get prompt.tokens cache.safetensors --model DIR --node node7.example:4433\n"
      "kvcast get prompt.tokens cache.safetensors --model DIR --node node7.example:4433 --rung "
      "KTC-medium");
  const auto flags = std::make_shared<CacheFlags>();
  command->add_option("PROMPT", flags->prompt, "A file of token ids; - is stdin")->required();
  command->add_option("CACHE", flags->file, "The safetensors file to write")->required();
  CacheFlags::AddTo(*command, *flags,
                    "The rung to load; of several the one with the most blocks (default: those "
                    "that give the very values: lossless, or as they are)");
  command->callback([flags, exit_status] {
    const Result<void> result = RunGet(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
