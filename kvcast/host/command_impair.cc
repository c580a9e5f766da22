#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/number_range.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/impairment_proxy.h"
#include "kvcast/io/signal_watch.h"

namespace kvcast {
namespace {

struct ImpairOptions {
  std::string listen = "127.0.0.1:0";
  std::string to;
  std::string direction = "both";
  uint64_t seed = 1;
  double delay_ms = 0;
  double loss_percent = 0;
  double duplicate_percent = 0;
  double reorder_percent = 0;
  double reorder_ms = 5;
  double corrupt_percent = 0;
  double rate_mbit = 0;
  std::string queue = "1MiB";
  uint64_t mtu = 0;
  double blackout_after_s = 0;
  double blackout_s = 0;
  double blackout_every_s = 0;
  double report_every_s = 0;
  bool json = false;
};

Duration FromSeconds(double seconds) {
  return Duration(static_cast<int64_t>(std::llround(seconds * 1e9)));
}

bool IsItself(const SocketAddress& listen, const SocketAddress& server) {
  const bool everywhere =
      SocketAddress::HostOf(listen.ToString()) == SocketAddress::HostOf(listen.Any().ToString());
  return listen.port() == server.port() &&
         (listen == server || (everywhere && server.is_loopback()));
}

Result<ImpairmentProxy::Options> Read(const ImpairOptions& asked) {
  const Result<uint64_t> queue = ParseBytes(asked.queue);
  if (!queue.ok()) {
    throw CLI::ValidationError("--queue", queue.error().message());
  }
  ImpairedLink::Options link;
  link.seed = asked.seed;
  link.delay = FromSeconds(asked.delay_ms / 1e3);
  link.loss = asked.loss_percent / 100;
  link.duplication = asked.duplicate_percent / 100;
  link.reordering = asked.reorder_percent / 100;
  link.reorder_delay = FromSeconds(asked.reorder_ms / 1e3);
  link.corruption = asked.corrupt_percent / 100;
  link.bits_per_second = static_cast<uint64_t>(asked.rate_mbit * 1e6);
  link.queue_bytes = *queue;
  link.datagram_bytes_max = asked.mtu == 0 ? SIZE_MAX : asked.mtu;
  link.blackout_start = FromSeconds(asked.blackout_after_s);
  link.blackout_length = FromSeconds(asked.blackout_s);
  link.blackout_period = FromSeconds(asked.blackout_every_s);
  ImpairmentProxy::Options options;
  KVCAST_TRY(options.listen, SocketAddress::Resolve(asked.listen));
  KVCAST_TRY(options.server, SocketAddress::Resolve(asked.to));
  if (IsItself(options.listen, options.server)) {
    return Error(ErrorCode::kInvalid,
                 "That is where it listens itself: datagrams would go round for ever.")
        .In("--to");
  }
  if (asked.direction != "back") {
    options.there = link;
  }
  if (asked.direction != "there") {
    options.back = link;
    ++options.back.seed;  // Or both ways would lose the same datagrams.
  }
  return options;
}

void PrintCounts(const char* way, const ImpairedLink::Counts& counts) {
  fmt::print(
      "  {}  {} datagrams ({}): {} lost, {} in blackouts, {} beyond the queue, {} too large, {} "
      "twice, {} held back, {} with a bit turned over\n",
      way, counts.datagrams, HumanBytes(counts.bytes), counts.lost, counts.blacked_out,
      counts.overflowed, counts.too_large, counts.duplicated, counts.held_back, counts.corrupted);
}

Json JsonOf(const ImpairedLink::Counts& counts) {
  return {{"datagrams", counts.datagrams},
          {"bytes", counts.bytes},
          {"lost", counts.lost},
          {"blacked_out", counts.blacked_out},
          {"overflowed", counts.overflowed},
          {"too_large", counts.too_large},
          {"duplicated", counts.duplicated},
          {"held_back", counts.held_back},
          {"corrupted", counts.corrupted}};
}

// What it has done up to now. In JSON a line for each, for who follows it.
void PrintReport(const ImpairmentProxy& proxy, bool json) {
  if (json) {
    fmt::print("{}\n", Json{{"there", JsonOf(proxy.there())},
                            {"back", JsonOf(proxy.back())},
                            {"unintended_losses", proxy.unintended_losses()}}
                           .dump());
  } else {
    PrintCounts("there ", proxy.there());
    PrintCounts("back  ", proxy.back());
    fmt::print("  {} more were lost because this machine was too slow, or too much was under way\n",
               proxy.unintended_losses());
  }
  (void)std::fflush(stdout);
}

void PrintStart(const SocketAddress& server, const SocketAddress& local, bool json) {
  if (json) {
    fmt::print("{}\n", Json{{"to", server.ToString()}, {"listen", local.ToString()}}.dump());
  } else {
    fmt::print("A bad network to {}. Ctrl-C ends it and prints what it did.\n  listen  {}\n",
               server.ToString(), local.ToString());
  }
  (void)std::fflush(stdout);
}

int RunImpair(const ImpairOptions& asked) {
  const auto options = Read(asked);
  if (!options.ok()) {
    return Failed(options.error());
  }
  auto loop = EventLoop::Make();
  if (!loop.ok()) {
    return Failed(loop.error());
  }
  bool asked_to_stop = false;
  const auto signals = SignalWatch::Make(**loop, [&] { asked_to_stop = true; });
  if (!signals.ok()) {
    return Failed(signals.error());
  }
  const auto proxy = ImpairmentProxy::Start(**loop, *options);
  if (!proxy.ok()) {
    return Failed(proxy.error());
  }
  PrintStart(options->server, (*proxy)->local(), asked.json);
  const Duration pause =
      asked.report_every_s > 0 ? FromSeconds(asked.report_every_s) : std::chrono::hours(1);
  Instant report = Now() + pause;
  while (!asked_to_stop) {
    (*loop)->RunOnce(std::max(report - Now(), Duration::zero()));
    if (Now() >= report) {
      report = Now() + pause;
      if (asked.report_every_s > 0) {
        PrintReport(**proxy, asked.json);
      }
    }
  }
  PrintReport(**proxy, asked.json);
  return kExitOk;
}

void AddChance(CLI::App& command, const char* name, double& value, const char* what) {
  command.add_option(name, value, what)
      ->type_name("PERCENT")
      ->check(NumberRange(0, 100))
      ->capture_default_str();
}

void AddTime(CLI::App& command, const char* name, double& value, const char* unit,
             const char* what) {
  command.add_option(name, value, what)
      ->type_name(unit)
      ->check(NumberRange(0, 1e6))
      ->capture_default_str();
}

}  // namespace

void AddImpairCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "impair",
      "Put a bad network before a node: delay, loss, reordering, a slow link\n\n"
      "Takes UDP datagrams and passes them on to a server late, twice, out of order, damaged or "
      "not "
      "at all, and the answers likewise: to see how kvcast, or anything else over UDP, behaves on "
      "a network that is not as good as the one at hand. A client takes the address that is "
      "printed instead "
      "of the server's, with the same #FINGERPRINT.\n\n"
      "Which datagrams are lost follows from the seed. The rate counts what datagrams carry, "
      "without headers, and is shared by all clients.");
  command->group(kMachineCommands);
  command->footer(
      "kvcast impair --to 127.0.0.1:4433 --delay-ms 25 --loss-percent 1\n"
      "kvcast impair --to 127.0.0.1:4433 --listen 127.0.0.1:5000 --rate-mbit 400 --queue 4MiB\n"
      "kvcast impair --to 127.0.0.1:4433 --blackout-after-s 5 --blackout-s 2");
  const auto options = std::make_shared<ImpairOptions>();
  command->add_option("--to", options->to, "Where the server listens")
      ->type_name("HOST:PORT")
      ->required();
  command->add_option("--listen", options->listen, "Where clients send to; port 0 takes a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command->add_option("--direction", options->direction, "Which way is bad: both, there or back")
      ->type_name("WAY")
      ->check(CLI::IsMember({"both", "there", "back"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Another seed, other datagrams")
      ->type_name("N")
      ->capture_default_str();
  AddTime(*command, "--delay-ms", options->delay_ms, "MS", "How long each datagram takes, one way");
  AddChance(*command, "--loss-percent", options->loss_percent, "How many are lost");
  AddChance(*command, "--duplicate-percent", options->duplicate_percent, "How many arrive twice");
  AddChance(*command, "--reorder-percent", options->reorder_percent,
            "How many are held back, so that others overtake them");
  AddTime(*command, "--reorder-ms", options->reorder_ms, "MS", "For how long they are held back");
  AddChance(*command, "--corrupt-percent", options->corrupt_percent,
            "How many arrive with one bit turned over");
  AddTime(*command, "--rate-mbit", options->rate_mbit, "MBIT/S",
          "How much passes; 0 is everything");
  command->add_option("--queue", options->queue, "How much waits where the rate is exceeded")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--mtu", options->mtu, "Larger datagrams are lost; 0 lets all pass")
      ->type_name("BYTES")
      ->capture_default_str();
  AddTime(*command, "--blackout-after-s", options->blackout_after_s, "S",
          "When all is lost, counted from the first datagram");
  AddTime(*command, "--blackout-s", options->blackout_s, "S", "For how long");
  AddTime(*command, "--blackout-every-s", options->blackout_every_s, "S",
          "And again this much later, and so on; 0 is once");
  AddTime(*command, "--report-every-s", options->report_every_s, "S",
          "Print what it did up to now so often as well; 0 is only at the end");
  command->add_flag("--json", options->json,
                    "Print where it listens, and what it did, as a line of JSON each");
  command->callback([options, exit_status] { *exit_status = RunImpair(*options); });
}

}  // namespace kvcast
