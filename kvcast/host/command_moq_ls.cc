#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/moq_words.h"

namespace kvcast {
namespace {

struct LsFlags {
  MoqFlags moq;
  std::string prefix;
  bool follow = false;
};

// After the last line, how long another may take: relays do not say when they have told all.
constexpr Duration kQuiet = std::chrono::seconds(1);

class Listing {
 public:
  Listing(const LsFlags& flags, RelayConnection& relay) : flags_(flags), relay_(relay) {}

  Result<void> Run(const TrackNamespace& prefix) {
    KVCAST_TRY(request_, relay_.session().SubscribeTracks(prefix, {}));
    const std::string what = "SUBSCRIBE_TRACKS of \"" + prefix.Render() + "\"";
    KVCAST_TRY(const moqt::Event answer, relay_.Answer(request_, what, flags_.moq.Deadline()));
    static_cast<void>(answer);
    return Follow();
  }

  size_t tracks() const { return seen_.size(); }

 private:
  Result<void> Follow() {
    const Instant end = flags_.moq.Deadline();
    Instant quiet = Now() + kQuiet;
    while (true) {
      const Instant until = flags_.follow ? Now() + std::chrono::hours(1) : std::min(quiet, end);
      KVCAST_TRY(const std::optional<moqt::Event> event, relay_.Next(until));
      if (!event) {
        if (flags_.follow && !relay_.interrupted()) {
          continue;
        }
        return {};
      }
      if (const auto* published = std::get_if<moqt::PublishReceived>(&*event)) {
        Print(published->track, published->parameters.largest_object, &published->properties);
        // It was only to be named: nothing of it shall flow.
        moqt::RequestError no;
        no.code = moqt::RequestCode::kUninterested;
        (void)relay_.session().RefuseRequest(published->request, no).ok();
      } else if (const auto* blocked = std::get_if<moqt::PublishBlockedReceived>(&*event)) {
        Print(blocked->track, std::nullopt, nullptr);
      } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&*event);
                 cancelled != nullptr && cancelled->request == request_) {
        return Error(ErrorCode::kMachine, Cancellation("the listing", *cancelled));
      }
      quiet = Now() + kQuiet;
    }
  }

  void Print(const TrackName& track, std::optional<Location> largest,
             const Properties* properties) {
    if (!seen_.insert(track).second) {
      return;
    }
    if (flags_.moq.json) {
      Json line{{"type", "track"}, {"track", track.Render()}, {"largest", nullptr}};
      if (largest) {
        line["largest"] = {{"group", largest->group}, {"object", largest->object}};
      }
      if (properties != nullptr) {
        line["properties"] = JsonOf(*properties);
      }
      fmt::print("{}\n", line.dump());
    } else {
      fmt::print("{}  largest {}{}\n", track.Render(), largest ? largest->ToString() : "unknown",
                 properties == nullptr || properties->empty() ? "" : "  " + TextOf(*properties));
    }
    std::fflush(stdout);
  }

  const LsFlags& flags_;
  RelayConnection& relay_;
  moqt::RequestId request_ = 0;
  std::set<TrackName> seen_;
};

Result<void> RunLs(const LsFlags& flags) {
  KVCAST_TRY(const TrackNamespace prefix, ParseNamespaceArgument(flags.prefix));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  Listing listing(flags, *run.relay);
  KVCAST_TRY_VOID(listing.Run(prefix));
  if (!flags.moq.json) {
    fmt::print(stderr, "{} track{}\n", listing.tracks(), listing.tracks() == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

void AddMoqLsCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command = moq.add_subcommand(
      "ls",
      "List the tracks below a namespace that are being published\n\n"
      "Asks by SUBSCRIBE_TRACKS, and declines every track that the relay then offers. A relay does "
      "not say when it has told everything: the list ends when nothing new has come for a second, "
      "or with --follow by Ctrl-C.");
  command->group("Commands");
  command->footer(
      "kvcast moq ls moqt://relay.example:4433 demo\n"
      "kvcast moq ls moqt://relay.example:4433 demo-clock --follow --json");
  const auto flags = std::make_shared<LsFlags>();
  MoqFlags::AddTo(*command, flags->moq);
  command->add_option("PREFIX", flags->prefix, "A namespace, or its first fields, such as demo")
      ->default_str("everything");
  command->add_flag("--follow", flags->follow, "Go on, and list what is published from now on");
  command->callback([flags, exit_status] {
    const Result<void> result = RunLs(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
