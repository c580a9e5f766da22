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

  // A relay may know only one of the two requests: the other's refusal is told, and no more.
  Result<void> Run(const TrackNamespace& prefix) {
    moqt::Parameters named_only;
    named_only.forward = false;
    Result<void> tracks =
        Ask(relay_.session().SubscribeTracks(prefix, named_only), "SUBSCRIBE_TRACKS", prefix);
    Result<void> spaces =
        Ask(relay_.session().SubscribeNamespace(prefix, {}), "SUBSCRIBE_NAMESPACE", prefix);
    if (!tracks.ok() && !spaces.ok()) {
      return tracks;
    }
    for (const Result<void>* const one : {&tracks, &spaces}) {
      if (!one->ok()) {
        PrintProblem(one->error().ToString());
      }
    }
    return Follow();
  }

  size_t tracks() const { return seen_.size(); }
  size_t namespaces() const { return spaces_.size(); }

 private:
  Result<void> Ask(const Result<moqt::RequestId>& request, const std::string& name,
                   const TrackNamespace& prefix) {
    if (!request.ok()) {
      return request.error();
    }
    const std::string what = name + " of \"" + prefix.Render() + "\"";
    KVCAST_TRY_VOID(relay_.Answer(*request, what, flags_.moq.Deadline()));
    asked_.insert(*request);
    return {};
  }

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
        // It was only to be named: nothing of it shall flow, now or later.
        moqt::RequestError no;
        no.code = moqt::RequestCode::kUninterested;
        (void)relay_.session().RefuseRequest(published->request, no).ok();
      } else if (const auto* blocked = std::get_if<moqt::PublishBlockedReceived>(&*event)) {
        Print(blocked->track, std::nullopt, nullptr);
      } else if (const auto* space = std::get_if<moqt::NamespaceReceived>(&*event)) {
        Print(space->space);
      } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&*event);
                 cancelled != nullptr && asked_.contains(cancelled->request)) {
        return Error(ErrorCode::kMachine, Cancellation("the listing", *cancelled));
      }
      quiet = Now() + kQuiet;
    }
  }

  void Print(const TrackNamespace& space) {
    if (!spaces_.insert(space).second) {
      return;
    }
    if (flags_.moq.json) {
      fmt::print("{}\n", Json{{"type", "namespace"}, {"namespace", space.Render()}}.dump());
    } else {
      fmt::print("{}  (namespace)\n", space.Render());
    }
    (void)std::fflush(stdout);
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
    (void)std::fflush(stdout);
  }

  const LsFlags& flags_;
  RelayConnection& relay_;
  std::set<moqt::RequestId> asked_;
  std::set<TrackName> seen_;
  std::set<TrackNamespace> spaces_;
};

Result<void> RunLs(const LsFlags& flags) {
  KVCAST_TRY(const TrackNamespace prefix, ParseNamespaceArgument(flags.prefix));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  run.relay->ServeOnly([](const moqt::Event& event) {
    return std::holds_alternative<moqt::PublishReceived>(event);
  });
  Listing listing(flags, *run.relay);
  KVCAST_TRY_VOID(listing.Run(prefix));
  if (!flags.moq.json) {
    fmt::print(stderr, "{} track{}, {} namespace{}\n", listing.tracks(),
               listing.tracks() == 1 ? "" : "s", listing.namespaces(),
               listing.namespaces() == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

void AddMoqLsCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command = moq.add_subcommand(
      "ls",
      "List the tracks and namespaces below a namespace that are being published\n\n"
      "Asks by SUBSCRIBE_TRACKS, and declines every track that the relay then offers; and by "
      "SUBSCRIBE_NAMESPACE, for namespaces that were announced alone. A relay does "
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
