#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/codec/rung_promise.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/number_range.h"
#include "kvcast/host/track_text.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

constexpr double kWithinMax = 86.4e6;

// What is asked of a load beyond what is asked of a publication.
struct GetFlags {
  CacheFlags cache;
  std::string least;
  double within_ms = 0;   // 0: as long as --timeout says.
  double compute_ms = 0;  // 0: nobody says.
};

struct Got {
  size_t found = 0;
  LoadReport report;
  double seconds = 0;
};

Duration Milliseconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(count));
}

Result<Got> Load(const GetFlags& flags, const CacheTask& task, NodeConnection& node,
                 const CacheMatch& match, CacheRows& rows) {
  const std::vector<LayerMemory> memory = rows.Memory();
  KVCAST_TRY(const PagedCache cache, BlocksInARow(task.shape, task.values, memory));
  const size_t blocks = match.block_count();
  KVCAST_TRY(
      const PromptPages pages,
      PromptPages::OfSlice(cache, PagesInARow(blocks), task.shape.tokens(), blocks, task.slice));
  Progress progress("Loading");
  const Instant start = Now();
  NodeConnection::LoadCall call;
  call.deadline = task.deadline;
  if (flags.within_ms > 0) {
    call.deadline = std::min(call.deadline, start + Milliseconds(flags.within_ms));
  }
  if (flags.compute_ms > 0) {
    call.compute_per_block = Milliseconds(flags.compute_ms);
  }
  call.on_progress = [&](size_t loaded) {
    progress.Update(loaded * task.block_bytes(), blocks * task.block_bytes());
  };
  KVCAST_TRY(LoadReport report, node.Load(match, task.chain.blocks(), pages, call));
  if (report.complete()) {
    progress.Done();
  }
  return Got{blocks, std::move(report), std::chrono::duration<double>(Now() - start).count()};
}

// The tokens that were loaded, in a file that is there as a whole or not at all.
Result<void> Write(const CacheFlags& flags, const CacheTask& task, const LoadReport& report,
                   const CacheRows& rows, FileWriter writer) {
  const auto tokens = static_cast<uint32_t>(report.loaded() * task.shape.tokens());
  KvMetadata metadata = MetadataOf({task.prompt, flags.inputs.inputs, flags.tenant.salt}, tokens);
  metadata.emplace(kModelNameKey, task.model.name);
  metadata.emplace(kModelFpKey, task.model.description.Fingerprint().ToHex());
  std::optional<Rung> least;
  for (const Rung rung : report.rungs()) {
    least = LessTrue(least, rung);
  }
  metadata.emplace(kRungKey, ToString(*least));
  if (!task.slice.IsWhole()) {
    metadata.emplace(kSliceKey, task.slice.Suffix());
  }
  KVCAST_TRY(const KvFilePlan plan,
             KvFilePlan::Of(task.shape.layers(), task.values, tokens, metadata));
  return rows.WriteAs(plan, std::move(writer));
}

// Several fetches of one track, one after the other, are of no interest to anybody.
std::vector<LoadRun> Joined(const std::vector<LoadRun>& runs) {
  std::vector<LoadRun> joined;
  for (const LoadRun& run : runs) {
    if (!joined.empty() && joined.back().track == run.track) {
      joined.back().block_count += run.block_count;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

void PrintJson(const CacheTask& task, const Got& got, size_t tokens) {
  Json runs = Json::array();
  for (const LoadRun& run : Joined(got.report.runs)) {
    runs.push_back({{"first_block", run.first_block},
                    {"blocks", run.block_count},
                    {"rung", std::string(ToString(run.rung))},
                    {"generation", GenerationOf(run.track)}});
  }
  fmt::print("{}", JsonText(Json{{"node", task.node()},
                                 {"model", task.kind.scope().Field()},
                                 {"blocks", task.chain.blocks().size()},
                                 {"found", got.found},
                                 {"loaded", got.report.loaded()},
                                 {"tokens", tokens},
                                 {"bytes", got.report.bytes},
                                 {"seconds", got.seconds},
                                 {"reason", got.report.reason},
                                 {"runs", runs},
                                 {"choices", got.report.choices}}));
}

void PrintText(const CacheFlags& flags, const CacheTask& task, const Got& got, size_t tokens,
               bool explain) {
  task.Print(flags);
  fmt::print("found    {} of {} blocks\n", got.found, task.chain.blocks().size());
  if (explain) {
    for (const std::string& choice : got.report.choices) {
      fmt::print("chosen   {}\n", choice);
    }
  }
  fmt::print("loaded   {} blocks, {} in {:.2f} s\n", got.report.loaded(),
             HumanBytes(got.report.bytes), got.seconds);
  for (const LoadRun& run : Joined(got.report.runs)) {
    fmt::print("         blocks {}-{} as {}, published by {}\n", run.first_block,
               run.end_block() - 1, ToString(run.rung), GenerationOf(run.track));
  }
  if (!got.report.complete()) {
    fmt::print("         not all that was found: {}\n", got.report.reason);
  }
  fmt::print("cache    {}: {} tokens in {}; {} left to compute\n", flags.file, Grouped(tokens),
             ToString(task.values), Grouped(task.tokens() - tokens));
}

// The rungs to choose from, the best first.
Result<std::vector<Rung>> RungsFor(const GetFlags& flags, const CacheTask& task) {
  if (!flags.least.empty()) {
    KVCAST_TRY(const Rung least, BuiltRungOf(flags.least));
    return task.ladder.LoadedDownTo(least);
  }
  return task.rungs.empty() ? task.ladder.LoadedByDefault() : task.rungs;
}

Result<void> RunGet(const GetFlags& get) {
  const CacheFlags& flags = get.cache;
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  // Before anything is loaded that could then not be written.
  KVCAST_TRY(FileWriter writer, FileWriter::Create(flags.file));
  const std::string where = "node " + task.node();
  KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
  KVCAST_TRY(const std::vector<Rung> rungs, RungsFor(get, task));
  const CacheMatch match = node->Find(task.chain.blocks(), 0, rungs, task.generation);
  if (match.empty()) {
    return Error(ErrorCode::kNotFound,
                 "The node holds no block of this prompt for " + task.kind.scope().Field() +
                     " at the rungs asked for (--rung). Names cover the model, tenant, salt and "
                     "block "
                     "length: 'kvcast name' shows them, and both sides must agree.")
        .In(where);
  }
  CacheRows rows(task.shape.layers(), task.values, match.block_count() * task.shape.tokens());
  KVCAST_TRY(const Got got, Load(get, task, *node, match, rows));
  const size_t tokens = got.report.loaded() * task.shape.tokens();
  if (tokens == 0) {
    return Error(ErrorCode::kNotFound, "No block could be loaded: " + got.report.reason).In(where);
  }
  KVCAST_TRY_VOID(Write(flags, task, got.report, rows, std::move(writer)));
  if (flags.json) {
    PrintJson(task, got, tokens);
  } else {
    PrintText(flags, task, got, tokens,
              !get.least.empty() || get.within_ms > 0 || get.compute_ms > 0);
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
      "With --least each block comes at the truest rung, from that one up, with which all of them "
      "come within --within milliseconds, as far as the node's pace can be foreseen; with "
      "--compute-ms, what is computed faster than it is loaded is left out. What was chosen and "
      "why is printed.\n\n"
      "Exit status: 0 if at least one block was loaded; 1 if there was none, and then no file.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast get prompt.tokens cache.safetensors --model DIR --node HOST:PORT#FINGERPRINT\n"
      "kvcast get prompt.tokens cache.safetensors --model DIR --node node7.example:4433\n"
      "kvcast get prompt.tokens cache.safetensors --model DIR --node node7.example:4433 --rung "
      "KTC-medium\n"
      "kvcast get prompt.tokens cache.safetensors --model DIR --node node7.example:4433 --least "
      "KTC-coarse --within 200 --compute-ms 30");
  const auto get = std::make_shared<GetFlags>();
  CacheFlags* const flags = &get->cache;
  command->add_option("PROMPT", flags->prompt, "A file of token ids; - is stdin")->required();
  command->add_option("CACHE", flags->file, "The safetensors file to write")->required();
  CacheFlags::AddTo(*command, *flags,
                    "A rung to load; several, the preferred first, if said several times (default: "
                    "those that give the very values: lossless, or as they are)",
                    "Only what was published under this generation");
  command
      ->add_option("--least", get->least,
                   "Choose among all rungs that are at least as true as this one, block by block")
      ->type_name("NAME")
      ->check(RungProblem)
      ->excludes("--rung");
  command
      ->add_option("--within", get->within_ms,
                   "Load what comes within so many milliseconds, at rungs that make it so")
      ->type_name("MS")
      ->check(NumberRange(1, kWithinMax));
  command
      ->add_option("--compute-ms", get->compute_ms,
                   "What computing a block takes, in milliseconds: loads only what is faster")
      ->type_name("MS")
      ->check(NumberRange(0.001, 1e9));
  command->callback([get, exit_status] {
    const Result<void> result = RunGet(*get);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
