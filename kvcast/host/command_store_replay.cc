#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/request_trace.h"
#include "kvcast/io/progress.h"
#include "kvcast/store/replay.h"
#include "kvcast/store/replay_oracle.h"

namespace kvcast {
namespace {

constexpr const char* kOracle = "oracle";

struct ReplayOptions {
  std::string trace;
  std::vector<double> capacity_percents = {1, 2, 5, 10, 20};
  std::vector<std::string> policies = {"lru", "s3fifo", "default"};
  std::string admission = "all";
  bool json = false;
};

double Percent(size_t part, size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// Shows how far all replays of the command have come, together: in bytes of the trace, once for
// each.
class ReplayProgress {
 public:
  ReplayProgress(const RequestTrace& trace, size_t replays)
      : request_bytes_(static_cast<double>(trace.text_bytes) /
                       static_cast<double>(trace.requests.size())),
        bytes_(trace.text_bytes * replays),
        progress_("Replaying") {}

  void Served(size_t requests) {
    served_ += requests;
    if (served_ - shown_ >= 256) {
      shown_ = served_;
      progress_.Update(static_cast<uint64_t>(request_bytes_ * static_cast<double>(served_)),
                       bytes_);
    }
  }
  void Done() { progress_.Done(); }

 private:
  double request_bytes_;
  uint64_t bytes_;
  size_t served_ = 0;
  size_t shown_ = 0;
  Progress progress_;
};

Result<double> HitPercent(const RequestTrace& trace, const ReplayOptions& options,
                          const std::string& policy, double capacity_percent,
                          ReplayProgress& progress) {
  const double room = static_cast<double>(trace.distinct_count) * capacity_percent / 100;
  const size_t blocks_max = std::max<size_t>(1, static_cast<size_t>(room));
  if (policy == kOracle) {
    const size_t hits = OracleHits(trace.requests, blocks_max);
    progress.Served(trace.requests.size());
    return Percent(hits, trace.block_count);
  }
  const EvictionLimits limits = Replay::LimitsFor(blocks_max);
  KVCAST_TRY(std::unique_ptr<Eviction> eviction, MakeEviction(policy, limits));
  KVCAST_TRY(std::unique_ptr<Admission> admission, MakeAdmission(options.admission, limits));
  Replay replay(std::move(eviction), std::move(admission), blocks_max);
  size_t hits = 0;
  for (const std::vector<uint64_t>& request : trace.requests) {
    hits += replay.Serve(request);
    progress.Served(1);
  }
  return Percent(hits, trace.block_count);
}

using Hits = std::vector<std::vector<double>>;  // For each policy, by capacity.

void PrintTable(const RequestTrace& trace, const ReplayOptions& options, const Hits& hits) {
  fmt::print("trace    {}: {} requests for {} blocks, {} of them distinct\n", options.trace,
             Grouped(trace.requests.size()), Grouped(trace.block_count),
             Grouped(trace.distinct_count));
  fmt::print("         {:.1f} % were asked for before: nobody can hit more\n\n",
             Percent(trace.block_count - trace.distinct_count, trace.block_count));
  fmt::print("Blocks hit, in percent, with room for so many of the distinct blocks:\n\n{:<8}",
             "policy");
  for (const double percent : options.capacity_percents) {
    fmt::print("{:>8}", fmt::format("{:g} %", percent));
  }
  fmt::print("\n");
  for (size_t policy = 0; policy < hits.size(); ++policy) {
    fmt::print("{:<8}", options.policies[policy]);
    for (const double hit : hits[policy]) {
      fmt::print("{:>8.2f}", hit);
    }
    fmt::print("\n");
  }
}

void PrintJson(const ReplayOptions& options, const Hits& hits) {
  Json json = Json::array();
  for (size_t policy = 0; policy < hits.size(); ++policy) {
    for (size_t i = 0; i < hits[policy].size(); ++i) {
      json.push_back({{"policy", options.policies[policy]},
                      {"capacity_percent", options.capacity_percents[i]},
                      {"hit_percent", std::round(hits[policy][i] * 1000) / 1000}});
    }
  }
  fmt::print("{}", JsonText(json));
}

Result<void> RunReplay(const ReplayOptions& options) {
  KVCAST_TRY(const RequestTrace trace, ReadRequestTrace(options.trace));
  ReplayProgress progress(trace, options.policies.size() * options.capacity_percents.size());
  Hits hits;
  for (const std::string& policy : options.policies) {
    std::vector<double>& row = hits.emplace_back();
    for (const double percent : options.capacity_percents) {
      KVCAST_TRY(const double hit, HitPercent(trace, options, policy, percent, progress));
      row.push_back(hit);
    }
  }
  progress.Done();
  if (options.json) {
    PrintJson(options, hits);
  } else {
    PrintTable(trace, options, hits);
  }
  return {};
}

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names;
  for (const std::string_view name : EvictionNames()) {
    names.emplace_back(name);
  }
  names.emplace_back(kOracle);
  return names;
}

}  // namespace

void AddStoreReplayCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "replay",
      "Try eviction policies on a trace of requests\n\n"
      "Tells how many blocks a store would have had when they were asked for, by policy and by "
      "room. A request hits its leading blocks that are there, since a prefix is useless without "
      "its beginning; then all of its blocks are put, the last first.\n\n"
      "A trace has a line for each request, in the order of their time: a JSON object whose "
      "\"hash_ids\" name the blocks of the prompt, by integers or strings; a name stands for the "
      "block and all before it. Mooncake's published traces are such files. Other members are not "
      "looked at.\n\n"
      "Policies are lru, lfu, s3fifo, and default, which is kvcast's own: it learns from the trace "
      "as it goes, and knows nothing beforehand. oracle knows the future, and shows what is left "
      "to gain.");
  command->footer(
      "kvcast store replay trace.jsonl\n"
      "kvcast store replay trace.jsonl --capacity-percent 0.5,50 --policy default,oracle\n"
      "kvcast store replay trace.jsonl --policy lru --admission second --json");
  const auto options = std::make_shared<ReplayOptions>();
  command->add_option("TRACE", options->trace, "The file of requests; - is stdin")->required();
  command
      ->add_option("--capacity-percent", options->capacity_percents,
                   "Room, in percent of the distinct blocks (default: 1,2,5,10,20)")
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 100.0))
      ->type_name("N,...");
  command
      ->add_option("--policy", options->policies, "Which to compare (default: lru,s3fifo,default)")
      ->delimiter(',')
      ->check(CLI::IsMember(PolicyNames()))
      ->type_name("NAME,...");
  command
      ->add_option("--admission", options->admission,
                   "What comes in: all, or second, which is what has been asked for before "
                   "(default: all); not asked by oracle")
      ->check(CLI::IsMember({"all", "second"}))
      ->type_name("NAME");
  command->add_flag("--json", options->json, "Print a list of results as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunReplay(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
