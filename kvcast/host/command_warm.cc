#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/cache_task.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/host/relay_connection.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/kv/rung.h"

namespace kvcast {
namespace {

// Below everybody who waits for a first token: nobody waits for this.
constexpr uint8_t kLastPriority = 255;

// Has a node fetch what it does not have at hand, and lets go of what comes.
class Warming {
 public:
  Warming(RelayConnection& relay, uint64_t bytes_expected, Instant deadline)
      : relay_(relay), bytes_expected_(bytes_expected), deadline_(deadline) {}

  // Whether all of it came.
  Result<bool> Fetch(const LoadRun& run) {
    moqt::Parameters parameters;
    parameters.subscriber_priority = kLastPriority;
    KVCAST_TRY(request_, relay_.session().Fetch(
                             run.track, LocationRange::Groups(run.first_group, run.last_group()),
                             parameters));
    whole_ = true;
    for (std::optional<moqt::FetchEnd> end; !end;) {
      while (const std::optional<moqt::Received> item = relay_.session().Take(request_)) {
        On(*item, &end);
      }
      if (end) {
        return whole_ && end->complete;
      }
      KVCAST_TRY(const std::optional<moqt::Event> event, relay_.Next(deadline_));
      if (!event) {
        relay_.session().Cancel(request_, moqt::ResetCode::kCancelled);
        return Error(ErrorCode::kMachine,
                     relay_.interrupted() ? "Interrupted."
                                          : "The node took too long. --timeout gives it longer.");
      }
      if (IsOver(*event)) {
        return false;
      }
    }
    return false;
  }
  uint64_t bytes() const { return bytes_; }
  void Done() { progress_.Done(); }

 private:
  void On(const moqt::Received& item, std::optional<moqt::FetchEnd>* end) {
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&item)) {
      bytes_ += object->object.payload.size();
      progress_.Update(bytes_, bytes_expected_);
    } else if (const auto* gap = std::get_if<moqt::RangeEnd>(&item)) {
      whole_ = whole_ && !gap->unknown;
    } else if (const auto* over = std::get_if<moqt::FetchEnd>(&item)) {
      *end = *over;
    }
  }
  bool IsOver(const moqt::Event& event) const {
    if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
      return refused->request == request_;
    }
    const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event);
    return cancelled != nullptr && cancelled->request == request_;
  }

  RelayConnection& relay_;
  const uint64_t bytes_expected_;
  const Instant deadline_;
  Progress progress_{"Warming"};
  moqt::RequestId request_ = 0;
  uint64_t bytes_ = 0;
  bool whole_ = true;
};

// What is fetched: each block at the best rung that there is, or at each of those that were said.
std::vector<LoadRun> RunsToWarm(const CacheTask& task, NodeConnection& node) {
  if (task.rungs.empty()) {
    return node.Find(task.chain.blocks(), 0, RungsByQuality(), task.generation).BestRuns();
  }
  std::vector<LoadRun> runs;
  for (const Rung rung : task.rungs) {
    const CacheMatch match =
        node.Find(task.chain.blocks(), 0, std::span(&rung, 1), task.generation);
    for (LoadRun& run : match.BestRuns()) {
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

struct WarmReport {
  size_t runs = 0;
  size_t blocks = 0;   // Counted once for each rung.
  size_t missing = 0;  // Of those, that did not come.
  uint64_t bytes = 0;
  Duration took{};
};

Result<WarmReport> Warm(const CacheTask& task) {
  std::vector<LoadRun> runs;
  {
    KVCAST_TRY(const std::unique_ptr<NodeConnection> node, task.Connect());
    runs = RunsToWarm(task, *node);
  }
  WarmReport report;
  uint64_t bytes_expected = 0;
  for (const LoadRun& run : runs) {
    report.blocks += run.block_count;
    bytes_expected += run.bytes;
  }
  const Instant begun = Now();
  KVCAST_TRY(const std::unique_ptr<EventLoop> loop, EventLoop::Make());
  const RelayConnection::Options options = RelayConnection::OptionsOf(task.addresses.front());
  KVCAST_TRY(const std::unique_ptr<RelayConnection> relay,
             RelayConnection::Open(*loop, options, task.deadline));
  relay->ServeOnly([](const moqt::Event&) { return false; });
  KVCAST_TRY_VOID(relay->WatchSignals());
  Warming warming(*relay, bytes_expected, task.deadline);
  for (const LoadRun& run : runs) {
    KVCAST_TRY(const bool whole, warming.Fetch(run));
    report.missing += whole ? 0 : run.block_count;
    ++report.runs;
  }
  warming.Done();
  report.bytes = warming.bytes();
  report.took = Now() - begun;
  return report;
}

// 0: all that was found came.
Result<int> RunWarm(const CacheFlags& flags) {
  KVCAST_TRY(const CacheTask task, CacheTask::Prepare(flags));
  KVCAST_TRY(const WarmReport report, Warm(task));
  const double seconds = std::chrono::duration<double>(report.took).count();
  if (flags.json) {
    fmt::print("{}", JsonText(Json{{"node", task.node()},
                                   {"model", task.kind.scope().Field()},
                                   {"blocks", report.blocks},
                                   {"missing", report.missing},
                                   {"bytes", report.bytes},
                                   {"seconds", seconds}}));
  } else {
    task.Print(flags);
    fmt::print("warmed   {} of {} blocks: {} in {} ({})\n", report.blocks - report.missing,
               report.blocks, HumanBytes(report.bytes), HumanDuration(report.took),
               HumanRate(seconds > 0 ? static_cast<double>(report.bytes) / seconds : 0));
    if (report.missing > 0) {
      PrintProblem(fmt::format(
          "{} blocks that are listed did not come whole: they have gone since, or those who hold "
          "them are out of reach. /misses.json of the node's admin page says why.",
          report.missing));
    }
  }
  return report.blocks > 0 && report.missing == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void AddWarmCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "warm",
      "Have a node bring a prompt's KV cache near, before an engine asks for it\n\n"
      "Finds the longest beginning of the prompt that the node, or one behind it, holds, and "
      "fetches it through the node, which keeps what passes: from its upstreams, its disks and "
      "its buckets into memory. What comes here is let go. Everybody else who loads from the node "
      "goes first.\n\n"
      "Exit status: 0 if blocks were found and all of them came, 1 otherwise.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast warm prompt.tokens --model DIR --node edge.example:4433\n"
      "kvcast warm prompt.tokens --model DIR --node edge.example:4433 --rung KTC-medium --json");
  const auto flags = std::make_shared<CacheFlags>();
  command->add_option("PROMPT", flags->prompt, "A file of token ids; - is stdin")->required();
  CacheFlags::AddTo(*command, *flags,
                    "A rung to bring; several if said several times (default: for each block "
                    "the best that there is)",
                    "Only what was published under this generation", CacheFlags::Nodes::kOne);
  command->callback([flags, exit_status] {
    const Result<int> result = RunWarm(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
