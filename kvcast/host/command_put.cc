#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/put_progress.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

// How many blocks of the prompt the file has. Mismatch: it has tokens that nobody has named.
Result<size_t> BlocksIn(const KvFile& file, const CacheTask& task, const FileSubject& subject) {
  if (file.tokens() > task.tokens()) {
    return Error(ErrorCode::kMismatch,
                 fmt::format("The file holds {} tokens and the prompt names {}: it is the cache of "
                             "another prompt, or of this one and its continuation. Give the tokens "
                             "of both.",
                             file.tokens(), task.tokens()));
  }
  KVCAST_TRY_VOID(CheckIsOf(file, subject));
  const size_t blocks = file.tokens() / task.shape.tokens();
  if (blocks == 0) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("The file holds {} tokens, and a block {}: there is no whole block "
                             "that could be shared.",
                             file.tokens(), task.shape.tokens()));
  }
  return blocks;
}

std::vector<Rung> PublishedRungs(const CacheTask& task) {
  return task.rungs.empty() ? task.ladder.PublishedByDefault(task.slice) : task.rungs;
}

// Before any is sent.
Result<void> CheckRungs(const KvFile& file, const CacheTask& task) {
  for (const Rung rung : PublishedRungs(task)) {
    KVCAST_TRY_VOID(CheckTrueEnough(RungOf(file), rung));
  }
  return {};
}

// What became of the blocks at one rung.
struct PutReport {
  Rung rung;
  PublishReport published;
};

Result<PublishReport> PublishAt(Rung rung, NodeConnection& node, const CacheTask& task,
                                const PromptPages& pages, Durability durability) {
  Progress progress("Publishing " + std::string(ToString(rung)));
  KVCAST_TRY(PublishReport report,
             node.Publish(task.chain.blocks().first(pages.block_count()), pages,
                          {.deadline = task.deadline,
                           .on_progress =
                               [&](const PublishReport& so_far) {
                                 const PutProgress far = PutProgress::Of(so_far, durability);
                                 progress.Update(far.done * task.block_bytes(),
                                                 far.all * task.block_bytes());
                               },
                           .durability = durability,
                           .rung = rung,
                           .generation = task.generation}));
  if (!report.fault) {
    progress.Done();
  }
  return report;
}

// At one rung after the other, up to the first that fails.
Result<std::vector<PutReport>> Publish(const CacheTask& task, const KvFile& file, size_t blocks,
                                       Durability durability) {
  const std::vector<LayerMemory> memory = MemoryOf(file, blocks * task.shape.tokens());
  const std::vector<LayerShape> layers(file.layers().begin(), file.layers().end());
  KVCAST_TRY(const PagedCache cache,
             BlocksInARow(BlockShape(layers, task.shape.tokens()), task.values, memory));
  const auto pages_of = SliceOf(file).IsWhole() ? PromptPages::Of : PromptPages::OfSlice;
  KVCAST_TRY(const PromptPages pages,
             pages_of(cache, PagesInARow(blocks), task.shape.tokens(), blocks, task.slice));
  KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
  std::vector<PutReport> reports;
  for (const Rung rung : PublishedRungs(task)) {
    KVCAST_TRY(PublishReport report, PublishAt(rung, *node, task, pages, durability));
    reports.push_back({rung, std::move(report)});
    if (reports.back().published.fault) {
      break;
    }
  }
  return reports;
}

std::string_view MeaningOf(Durability reached) {
  switch (reached) {
    case Durability::kMemory:
      return "memory: gone when the node stops, or needs the room";
    case Durability::kDisk:
      return "disk: survives the node's death and a loss of power";
    case Durability::kBucket:
      return "bucket: survives the loss of the node";
  }
  return "";
}

Json PutJson(const CacheTask& task, const std::vector<PutReport>& reports, double seconds) {
  Json rungs = Json::array();
  size_t skipped = 0;
  size_t sent = 0;
  uint64_t bytes = 0;
  std::optional<Durability> reached = reports.front().published.reached;
  for (const auto& [rung, published] : reports) {
    rungs.push_back({{"rung", std::string(ToString(rung))},
                     {"skipped", published.skipped},
                     {"sent", published.sent},
                     {"bytes", published.bytes}});
    skipped += published.skipped;
    sent += published.sent;
    bytes += published.bytes;
    reached = std::min(reached, published.reached);
  }
  return Json{{"node", task.node()},
              {"model", task.kind.scope().Field()},
              {"blocks", reports.front().published.blocks},
              {"skipped", skipped},
              {"sent", sent},
              {"bytes", bytes},
              {"durability", reached ? Json(std::string(ToString(*reached))) : Json()},
              {"rungs", rungs},
              {"seconds", seconds}};
}

void Print(const CacheFlags& flags, const CacheTask& task, const KvFile& file,
           const std::vector<PutReport>& reports, double seconds) {
  if (flags.json) {
    fmt::print("{}", JsonText(PutJson(task, reports, seconds)));
    return;
  }
  task.Print(flags);
  fmt::print("cache    {}: {} tokens in {}\n", flags.file, Grouped(file.tokens()),
             ToString(file.type()));
  for (const auto& [rung, published] : reports) {
    fmt::print("rung     {}: {} blocks, {} held by the node already, {} sent: {}\n", ToString(rung),
               published.blocks, published.skipped, published.sent, HumanBytes(published.bytes));
  }
  fmt::print("took     {:.2f} s; the node lists all of it\n", seconds);
  if (const std::optional<Durability> reached = reports.back().published.reached) {
    fmt::print("durable  {}\n", MeaningOf(*reached));
  }
}

Result<void> RunPut(const CacheFlags& flags, Durability durability) {
  KVCAST_TRY(const MappedFile mapped, MappedFile::Open(flags.file));
  const Result<KvFile> file = KvFile::Parse(mapped.span());
  if (!file.ok()) {
    return Error(file.error()).In(flags.file);
  }
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  Result<void> fits = file->CheckValues();
  if (fits.ok()) {
    fits = CheckSliceAsked(*file, task.slice);
  }
  if (fits.ok()) {
    fits = CheckFits(*file, task.model);
  }
  if (fits.ok()) {
    fits = CheckRungs(*file, task);
  }
  const Result<size_t> blocks =
      BlocksIn(*file, task, {task.prompt, flags.inputs.inputs, flags.tenant.salt});
  if (!fits.ok() || !blocks.ok()) {
    return Error(fits.ok() ? blocks.error() : fits.error()).In(flags.file);
  }
  const Instant start = Now();
  KVCAST_TRY(const std::vector<PutReport> reports, Publish(task, *file, *blocks, durability));
  const double seconds = std::chrono::duration<double>(Now() - start).count();
  if (const auto& [rung, report] = reports.back(); report.fault) {
    return Error(ErrorCode::kMachine,
                 report.fault == PublishFault::kNotKept
                     ? report.reason + " Give it more memory (kvcast serve --ram), or share less."
                 : report.fault == PublishFault::kNotDurable
                     ? report.reason
                     : fmt::format("Published only {} of {} blocks as {}: {}",
                                   report.skipped + report.listed, report.blocks, ToString(rung),
                                   report.reason))
        .In("node " + task.node());
  }
  Print(flags, task, *file, reports, seconds);
  return {};
}

}  // namespace

void AddPutCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "put",
      "Publish the KV cache of a prompt, from a file, to a node\n\n"
      "PROMPT has the token ids of the prompt, CACHE its KV as a safetensors file, as 'kvcast "
      "inspect' describes it. A file that says of which prompt, images and salt it is must be of "
      "these, and one whose values came at a rung that changes them is published at no truer one. "
      "The node gets every whole block that it does not hold yet at the "
      "rung; from then "
      "on any engine with this model finds them, for every prompt that begins with the same "
      "tokens. It is done when the node's catalog lists them, and with --durability disk or bucket "
      "when the node has acknowledged that they are there too.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast put prompt.tokens cache.safetensors --model DIR --node HOST:PORT#FINGERPRINT\n"
      "kvcast put prompt.tokens cache.safetensors --model DIR --node node7.example:4433\n"
      "kvcast put prompt.tokens cache.safetensors --model DIR --node node7.example:4433 "
      "--durability disk\n"
      "kvcast put prompt.tokens cache.safetensors --model DIR --node node7.example:4433 --heads "
      "0-3 --generation 00112233445566778899aabbccddeeff\n"
      "kvcast put prompt.tokens cache.safetensors --model DIR --node node7.example:4433 --rung "
      "Int8");
  const auto flags = std::make_shared<CacheFlags>();
  command->add_option("PROMPT", flags->prompt, "A file of token ids; - is stdin")->required();
  command->add_option("CACHE", flags->file, "The prompt's KV cache in a safetensors file")
      ->required();
  CacheFlags::AddTo(*command, *flags,
                    "How to encode it; several if said several times. 'kvcast rungs' compares them "
                    "(default: BF16-lossless or FP16-lossless, which change no bit, and KTC-medium "
                    "if there is a calibration)",
                    "Under which generation to publish, drawn by one of several who publish "
                    "slices of the same cache (default: drawn anew for each rung)");
  const auto durability = std::make_shared<std::string>("memory");
  command
      ->add_option("--durability", *durability,
                   "What the blocks are to reach before it is done. Blocks that the node holds "
                   "already are left out where it says that they have reached it")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"memory", "disk", "bucket"}))
      ->capture_default_str();
  command->callback([flags, durability, exit_status] {
    const Result<void> result = RunPut(*flags, *DurabilityOf(*durability));
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
