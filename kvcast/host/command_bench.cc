#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/base/check.h"
#include "kvcast/codec/bands.h"
#include "kvcast/host/bench_flags.h"
#include "kvcast/host/bench_node.h"
#include "kvcast/host/bench_report.h"
#include "kvcast/host/bench_run.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/memory_probe.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/signal_watch.h"

namespace kvcast {
namespace {

// Enough that no processor has them at hand.
constexpr size_t kPoolBytes = size_t{128} << 20;

// What all measurements have in common.
struct Bench {
  BenchModel model;
  RequestTrace trace;
  std::vector<std::vector<Rung>> measurements;
  std::unique_ptr<BenchPool> pool;
  BenchPlan plan;
  uint64_t ram_bytes = 0;  // 0: the node is somebody else's.
};

Digest RandomDigest() {
  Digest digest;
  FillRandom(digest.bytes);
  return digest;
}

// Said before anything is done about it: the kernel would only say it by killing us.
Result<void> CheckMemory(const BenchFlags& flags, const BenchModel& model, size_t prompt_blocks,
                         uint64_t ram_bytes) {
  KVCAST_TRY(const MemoryFacts memory, ProbeMemory());
  const uint64_t free =
      std::min(memory.available_bytes, memory.cgroup_bytes_max.value_or(UINT64_MAX));
  const uint64_t pages = flags.readers * prompt_blocks * model.block_bytes();
  if (pages + ram_bytes + 2 * kPoolBytes <= free) {
    return {};
  }
  return Error(ErrorCode::kTooLarge,
               fmt::format("This takes {} for the pages of {} readers with prompts of up to {} "
                           "blocks{}, and {} are free. Ask for fewer --readers, a smaller "
                           "--prompt-tokens-max, {}or the shape of a smaller --model.",
                           HumanBytes(pages), flags.readers, prompt_blocks,
                           ram_bytes > 0 ? ", and " + HumanBytes(ram_bytes) + " for the node" : "",
                           HumanBytes(free), ram_bytes > 0 ? "less --ram, " : ""));
}

size_t LongestOf(const RequestTrace& trace) {
  size_t longest = 1;
  for (const std::vector<uint64_t>& request : trace.requests) {
    longest = std::max(longest, request.size());
  }
  return longest;
}

// Constants of rungs that need some are made of the pool's own values.
Result<Ladder> LadderFor(const BenchPool& pool,
                         const std::vector<std::vector<Rung>>& measurements) {
  const Ladder plain(pool.model().halves);
  bool constants = false;
  bool bands = false;
  for (const std::vector<Rung>& rungs : measurements) {
    for (const Rung rung : rungs) {
      constants = constants || !plain.Publishes(rung);
      bands = bands || BandRungIndex(rung);
    }
  }
  if (!constants) {
    return plain;
  }
  KVCAST_TRY(std::shared_ptr<const Calibration> calibration, pool.Calibrate(bands));
  return Ladder(pool.model().halves, std::move(calibration));
}

Result<std::unique_ptr<Bench>> Prepare(const BenchFlags& flags) {
  KVCAST_TRY(const NamingKey key, flags.tenant.Key());
  KVCAST_TRY(BenchModel model, BenchModel::Of(flags.model, flags.block_tokens, RandomDigest()));
  KVCAST_TRY(auto measurements, flags.Measurements(model.halves));
  KVCAST_TRY(const ModelScope scope, flags.tenant.ScopeOf(model.model));
  NodeAddress address;
  uint64_t ram_bytes = 0;
  if (flags.has_node()) {
    KVCAST_TRY(address, flags.node.Address());
  } else {
    KVCAST_TRY(ram_bytes, flags.RamBytes());
  }
  KVCAST_TRY(RequestTrace trace, flags.Requests());
  const size_t longest = LongestOf(trace);
  KVCAST_TRY_VOID(CheckMemory(flags, model, longest, ram_bytes));
  const Ladder ladder(model.halves);
  auto bench = std::make_unique<Bench>(
      Bench{std::move(model), std::move(trace), std::move(measurements), nullptr,
            BenchPlan{.address = std::move(address), .scope = scope, .key = key, .ladder = ladder},
            ram_bytes});
  KVCAST_TRY(bench->pool, BenchPool::Make(bench->model, kPoolBytes, flags.mix.seed));
  KVCAST_TRY(bench->plan.ladder, LadderFor(*bench->pool, bench->measurements));
  bench->plan.pool = bench->pool.get();
  bench->plan.trace = &bench->trace;
  bench->plan.prompt_blocks_max = longest;
  bench->plan.publishers = flags.publishers;
  bench->plan.readers = flags.readers;
  bench->plan.time =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.seconds));
  bench->plan.deadline = flags.deadline();
  bench->plan.salt = flags.tenant.salt;
  return bench;
}

BenchReport ReportOf(const BenchFlags& flags, const Bench& bench) {
  BenchReport report;
  report.model = &bench.model;
  report.node = bench.plan.address.host_and_port;
  report.ram_bytes = bench.ram_bytes;
  report.scope = bench.plan.scope.Field();
  report.trace = flags.trace;
  report.sharing = SharingOf(bench.trace);
  report.publishers = flags.publishers;
  report.readers = flags.readers;
  report.seconds = flags.seconds;
  if (flags.deadline_ms > 0) {
    report.deadline_ms = flags.deadline_ms;
  }
  return report;
}

// One measurement, with a new node if none was named.
Result<void> Measure(const Bench& bench, const std::vector<Rung>& rungs, EventLoop& loop,
                     const std::function<bool()>& interrupted, BenchReport& report) {
  BenchPlan plan = bench.plan;
  plan.rungs = rungs;
  std::unique_ptr<BenchNode> own;
  std::function<Duration()> node_cpu;
  if (bench.ram_bytes > 0) {
    KVCAST_TRY(own, BenchNode::Start(bench.ram_bytes));
    plan.address = own->address();
    report.node = plan.address.host_and_port;
    node_cpu = [&own] { return own->CpuTime(); };
  }
  KVCAST_TRY(const std::unique_ptr<BenchRun> run, BenchRun::Connect(plan));
  report.figures.push_back(run->Run(loop, interrupted, node_cpu));
  return run->failure() ? Result<void>(*run->failure()) : Result<void>();
}

Result<int> RunBench(const BenchFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<Bench> bench, Prepare(flags));
  BenchReport report = ReportOf(flags, *bench);
  if (!flags.json) {
    fmt::print("{}", report.Opening());
    (void)std::fflush(stdout);
  }
  KVCAST_TRY(const std::unique_ptr<EventLoop> loop, EventLoop::Make());
  KVCAST_TRY(const std::unique_ptr<SignalWatch> signals,
             SignalWatch::Make(*loop, [&] { report.interrupted = true; }));
  Result<void> measured;
  for (const std::vector<Rung>& rungs : bench->measurements) {
    measured = Measure(
        *bench, rungs, *loop, [&] { return report.interrupted; }, report);
    if (!measured.ok() || report.interrupted) {
      break;
    }
  }
  // What was measured before something failed is worth as much as before.
  if (flags.json) {
    fmt::print("{}", JsonText(report.ToJson()));
  } else {
    fmt::print("{}", report.Table());
  }
  KVCAST_TRY_VOID(std::move(measured));
  const bool wrong = std::ranges::any_of(
      report.figures, [](const BenchFigures& figures) { return figures.blocks_wrong > 0; });
  if (wrong) {
    PrintProblem(
        "Blocks came that are not what was published, which must never be: please report it, "
        "with this output and that of 'kvcast doctor --json'.");
  }
  return wrong ? kExitFailed : kExitOk;
}

}  // namespace

void AddBenchCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "bench",
      "Measure what kvcast would do for you: throughput, latency, hits, CPU\n\n"
      "Engines without a model publish made-up KV of a real model's shape to a node and load it "
      "from there, as engines do: a reader looks for a prompt's beginning and loads what there is, "
      "then a publisher publishes the rest. Every block that was loaded is compared with what was "
      "published. Prompts share their beginnings as those of a production trace do, or are those "
      "of a trace of yours (--trace).\n\n"
      "Without --node it starts a node in this process, for each rung a new one. On a node of "
      "yours, everything is published under a model's name that nobody else has, which is printed; "
      "it is evicted as any other, or sooner by 'kvcast forget'.\n\n"
      "KV is that of pages, wire is what travels. Values are made up, so that sizes at rungs other "
      "than BF16, FP16 and Int8 are for orientation: 'kvcast rungs' tells them of a cache of "
      "yours. CPU is the time of all processors for a GB of KV that was published or loaded; that "
      "of engines leaves out making prompts and comparing blocks.\n\n"
      "Ctrl-C ends it early, with the figures up to then. Exit status: 0 if all that was loaded "
      "was right; 1 if the node could not be used, or a block was wrong.");
  command->group(kMachineCommands);
  command->footer(
      "kvcast bench\n"
      "kvcast bench --model DeepSeek-V3 --readers 4 --seconds 20\n"
      "kvcast bench --node node7.example:4433 --rung BF16 --rung KTC-medium\n"
      "kvcast bench --node node7.example:4433 --trace trace.jsonl --model Qwen2.5-7B\n"
      "kvcast bench --rung BF16 --rung Int8 --rung Int4 --together --deadline 100 --json");
  const auto flags = std::make_shared<BenchFlags>();
  BenchFlags::AddTo(*command, *flags);
  command->callback([flags, exit_status] {
    const Result<int> result = RunBench(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
