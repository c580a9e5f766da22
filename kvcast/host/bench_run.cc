#include "kvcast/host/bench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kvcast/base/random.h"
#include "kvcast/codec/codec.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/cpu_time.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/thread_team.h"

namespace kvcast {
namespace {

constexpr Duration kEnginePatience = std::chrono::seconds(15);
constexpr Duration kBenchLook = std::chrono::milliseconds(100);
// How long what is under way when the time is over may take.
constexpr Duration kGrace = std::chrono::seconds(10);
constexpr uint64_t kVocabulary = 128'000;
// What a lossy rung gives is some tenths off at most; the values of another block are 1.4 off.
constexpr double kErrorMax = 0.9;

double BenchSeconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Counts what the thread does as measuring, for as long as it lives.
class Overhead {
 public:
  explicit Overhead(Counter& counter) : counter_(&counter), begun_(ThreadCpuTime()) {}
  ~Overhead() { counter_->Add(static_cast<uint64_t>((ThreadCpuTime() - begun_).count())); }
  Overhead(const Overhead&) = delete;
  Overhead& operator=(const Overhead&) = delete;

 private:
  Counter* counter_;
  Duration begun_;
};

std::string PublishTrouble(const PublishReport& report, Duration took) {
  switch (*report.fault) {
    case PublishFault::kNotKept:
      return "a publication: " + report.reason + " More memory (--ram) holds more.";
    case PublishFault::kCancelled:
      return fmt::format(
          "a publication was cut off after {}: {} blocks, {} held before, {} sent, {} listed",
          HumanDuration(took), report.blocks, report.skipped, report.sent, report.listed);
    default:
      return "a publication: " + report.reason;
  }
}

}  // namespace

BenchRun::BenchRun(const BenchPlan& plan)
    : plan_(plan), desk_(*plan.trace, plan.readers, plan.readers + plan.publishers) {}

Result<std::unique_ptr<BenchRun>> BenchRun::Connect(const BenchPlan& plan) {
  std::unique_ptr<BenchRun> run(new BenchRun(plan));
  for (size_t i = 0; i < plan.readers + plan.publishers; ++i) {
    const bool reads = i < plan.readers;
    KVCAST_TRY(Engine engine, run->MakeEngine(reads));
    (reads ? run->readers_ : run->publishers_).push_back(std::move(engine));
  }
  return run;
}

Result<BenchRun::Engine> BenchRun::MakeEngine(bool reads) const {
  const BenchModel& model = plan_.pool->model();
  KVCAST_TRY(BlockNamer namer,
             BlockNamer::Of(plan_.key, model.model.description.Fingerprint(), plan_.salt));
  KVCAST_TRY(std::unique_ptr<NodeConnection> node,
             NodeConnection::Open(plan_.address, CacheKind(plan_.scope, plan_.rungs.front()),
                                  kEnginePatience, plan_.ladder));
  std::unique_ptr<BenchRoom> room;
  if (reads) {
    KVCAST_TRY(room, BenchRoom::Make(*plan_.pool, plan_.prompt_blocks_max));
  }
  return Engine{std::move(node), std::move(namer), std::move(room)};
}

BenchFigures BenchRun::Run(EventLoop& loop, const std::function<bool()>& interrupted,
                           const std::function<Duration()>& node_cpu) {
  const Duration node_before = node_cpu ? node_cpu() : Duration::zero();
  const Duration process_before = ProcessCpuTime();
  const Instant begun = Now();
  {
    ThreadTeam team;
    for (Engine& engine : readers_) {
      team.Start([this, &engine] { Read(engine); });
    }
    for (Engine& engine : publishers_) {
      team.Start([this, &engine] { Publish(engine); });
    }
    Watch(loop, team, interrupted);
  }
  // What was cut off in the end moved nothing any more, and must not make the rest look slow.
  const Duration took = last_end_.value_or(Now()) - begun;
  const Duration process = ProcessCpuTime() - process_before;
  const Duration node = node_cpu ? node_cpu() - node_before : Duration::zero();
  BenchFigures figures = tally_.Figures(plan_.rungs, plan_.pool->model().block_bytes());
  figures.seconds = BenchSeconds(took);
  const Duration overhead(static_cast<int64_t>(tally_.overhead_cpu_ns.value()));
  figures.client_cpu_s = BenchSeconds(std::max(process - node - overhead, Duration::zero()));
  if (node_cpu) {
    figures.node_cpu_s = BenchSeconds(node);
  }
  figures.trouble = trouble_;
  return figures;
}

void BenchRun::Watch(EventLoop& loop, const ThreadTeam& team,
                     const std::function<bool()>& interrupted) {
  const size_t block_bytes = plan_.pool->model().block_bytes();
  const Instant begun = Now();
  Progress progress("Measuring " + tally_.Figures(plan_.rungs, block_bytes).Label());
  while (team.working() > 0) {
    loop.RunOnce(kBenchLook);
    const Duration passed = Now() - begun;
    if (interrupted() || passed >= plan_.time) {
      interrupted_ = interrupted();
      desk_.Close();
    }
    if (interrupted_ || passed >= plan_.time + kGrace) {
      stop_.request_stop();
    }
    // It is bounded by time: how many bytes that comes to follows from those so far.
    const uint64_t bytes =
        (tally_.blocks_loaded.value() + tally_.blocks_published.value()) * block_bytes;
    const double share = std::min(BenchSeconds(passed) / BenchSeconds(plan_.time), 1.0);
    progress.Update(bytes, static_cast<uint64_t>(static_cast<double>(bytes) / share));
  }
  progress.Done();
}

std::vector<BlockHash> BenchRun::Names(Engine& engine, const std::vector<uint64_t>& blocks) {
  const Overhead overhead(tally_.overhead_cpu_ns);
  const uint32_t tokens = plan_.pool->model().shape.tokens();
  std::vector<Token> prompt(tokens);
  std::vector<BlockHash> names;
  for (const uint64_t block : blocks) {
    for (uint32_t i = 0; i < tokens; ++i) {
      prompt[i] = static_cast<Token>(Scatter(block * tokens + i) % kVocabulary);
    }
    const BlockHash& before = names.empty() ? engine.namer.root() : names.back();
    names.push_back(engine.namer.OfTokens(before, names.size() + 1, prompt));
  }
  return names;
}

void BenchRun::Read(Engine& engine) {
  while (const std::optional<BenchDesk::Request> request = desk_.NextToRead()) {
    const std::vector<uint64_t>& blocks = plan_.trace->requests[request->number];
    const std::vector<BlockHash> names = Names(engine, blocks);
    const Instant asked = Now();
    const CacheMatch match = engine.node->Find(names, 0, plan_.rungs);
    tally_.find_s.Observe(BenchSeconds(Now() - asked));
    tally_.blocks_found.Add(match.block_count());
    if (!match.empty()) {
      Load(engine, match, names, blocks);
    } else if (const std::optional<std::string> lost = engine.node->lost()) {
      Fail(Error(ErrorCode::kMachine, "The connection is lost: " + *lost));
    }
    tally_.blocks_asked.Add(blocks.size());
    tally_.blocks_seen.Add(request->seen_blocks);
    tally_.requests.Add();
    desk_.HaveRead(*request);
  }
}

void BenchRun::Load(Engine& engine, const CacheMatch& match, std::span<const BlockHash> names,
                    const std::vector<uint64_t>& blocks) {
  const size_t found = match.block_count();
  {
    const Overhead overhead(tally_.overhead_cpu_ns);
    engine.room->Spoil(found);
  }
  const Result<PromptPages> pages = engine.room->Pages(found);
  KVCAST_CHECK(pages.ok());
  NodeConnection::LoadCall call;
  call.stop = stop_.get_token();
  const Instant begun = Now();
  if (plan_.deadline) {
    call.deadline = begun + *plan_.deadline;
  }
  const Result<LoadReport> report = engine.node->Load(match, names, *pages, call);
  const double seconds = BenchSeconds(Now() - begun);
  if (!report.ok()) {
    Fail(report.error());
    return;
  }
  tally_.blocks_loaded.Add(report->loaded());
  tally_.load_wire_bytes.Add(report->bytes);
  tally_.load_s.Observe(seconds);
  const size_t bytes = report->loaded() * plan_.pool->model().block_bytes();
  if (bytes > 0 && seconds > 0) {
    tally_.load_bytes_per_s.Observe(static_cast<double>(bytes) / seconds);
  }
  Check(*engine.room, *report, blocks);
  if (report->complete()) {
    Finished();
    return;
  }
  const size_t missing = found - report->loaded();
  const BlockOutcome why = report->outcomes[report->loaded()];
  if (why == BlockOutcome::kCancelled && interrupted_) {
    return;
  }
  (why == BlockOutcome::kTooLate ? tally_.blocks_late : tally_.blocks_failed).Add(missing);
  if (why == BlockOutcome::kNodeLost) {
    Fail(Error(ErrorCode::kMachine, report->reason));
  } else if (why == BlockOutcome::kCancelled) {
    Note(fmt::format("a load was cut off after {:.3f} s: {} of {} blocks had come", seconds,
                     report->loaded(), found));
  } else if (why != BlockOutcome::kTooLate) {
    Note("a load: " + report->reason);
  }
}

void BenchRun::Check(const BenchRoom& room, const LoadReport& report,
                     const std::vector<uint64_t>& blocks) {
  const Overhead overhead(tally_.overhead_cpu_ns);
  for (const LoadRun& run : report.runs) {
    const size_t end = std::min(run.end_block(), report.loaded());
    for (size_t i = run.first_block; i < end; ++i) {
      bool right = true;
      if (ExactTypeOf(run.rung)) {
        right = room.IsExactly(i, blocks[i]);
      } else {
        const double error = room.ErrorOf(i, blocks[i]);
        tally_.errors.Observe(error);
        right = error <= kErrorMax;
      }
      tally_.loaded_at[static_cast<size_t>(run.rung)].Add();
      if (!right) {
        tally_.blocks_wrong.Add();
        Note(fmt::format("block {} of a prompt, loaded as {}, is not what was published", i,
                         ToString(run.rung)));
      }
    }
  }
}

void BenchRun::Publish(Engine& engine) {
  while (const std::optional<BenchDesk::Request> request = desk_.NextToPublish()) {
    const std::vector<uint64_t>& blocks = plan_.trace->requests[request->number];
    const std::vector<BlockHash> names = Names(engine, blocks);
    for (const Rung rung : plan_.rungs) {
      if (!blocks.empty() && !stop_.stop_requested()) {
        PublishAt(engine, rung, names, blocks);
      }
    }
    if (plan_.readers == 0) {
      tally_.requests.Add();
    }
  }
}

void BenchRun::PublishAt(Engine& engine, Rung rung, std::span<const BlockHash> names,
                         const std::vector<uint64_t>& blocks) {
  const Result<PromptPages> pages = plan_.pool->Pages(blocks);
  KVCAST_CHECK(pages.ok());
  NodeConnection::PublishCall call;
  call.stop = stop_.get_token();
  call.rung = rung;
  const Instant begun = Now();
  const Result<PublishReport> report = engine.node->Publish(names, *pages, call);
  if (!report.ok()) {
    Fail(report.error());
    return;
  }
  const Duration took = Now() - begun;
  tally_.publish_s.Observe(BenchSeconds(took));
  tally_.blocks_held.Add(report->skipped);
  tally_.blocks_published.Add(report->sent);
  tally_.publish_wire_bytes.Add(report->bytes);
  if (!report->fault) {
    Finished();
  } else if (*report->fault == PublishFault::kNodeLost ||
             (*report->fault == PublishFault::kRefused && tally_.blocks_published.value() == 0)) {
    // One that has taken something may be short of room; another one wants nothing of ours.
    Fail(Error(ErrorCode::kMachine, report->reason));
  } else if (*report->fault != PublishFault::kCancelled || !interrupted_) {
    tally_.publishes_failed.Add();
    Note(PublishTrouble(*report, took));
  }
}

void BenchRun::Finished() {
  const std::lock_guard lock(mutex_);
  last_end_ = Now();
}

void BenchRun::Note(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) {
    trouble_ = trouble;
  }
}

void BenchRun::Fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = std::move(error).In("node " + plan_.address.host_and_port);
    }
  }
  desk_.Close();
  stop_.request_stop();
}

}  // namespace kvcast
