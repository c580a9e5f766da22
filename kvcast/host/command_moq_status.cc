#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/moq_words.h"

namespace kvcast {
namespace {

struct StatusFlags {
  MoqFlags moq;
  std::string track;
};

void PrintStatusText(const std::string& relay, const TrackName& track,
                     const moqt::RequestAccepted& status, const std::string& implementation) {
  fmt::print("relay       {}{}\n", relay,
             implementation.empty() ? "" : " (" + implementation + ")");
  fmt::print("track       {}\n", track.Render());
  const moqt::Parameters& parameters = status.parameters;
  fmt::print("largest     {}\n", parameters.largest_object ? parameters.largest_object->ToString()
                                                           : "none: nothing was published yet");
  if (parameters.expires_ms) {
    fmt::print("expires     in {} ms\n", *parameters.expires_ms);
  }
  const std::string properties = TextOf(status.properties);
  fmt::print("properties  {}\n", properties.empty() ? "none" : properties);
  if (const std::optional<Properties> inner = status.properties.Immutable()) {
    fmt::print("immutable   {}\n", TextOf(*inner));
  }
}

void PrintStatusJson(const std::string& relay, const TrackName& track,
                     const moqt::RequestAccepted& status, const std::string& implementation) {
  Json json{{"relay", relay},          {"implementation", implementation},
            {"track", track.Render()}, {"largest", nullptr},
            {"expires_ms", nullptr},   {"properties", JsonOf(status.properties)}};
  if (const auto& largest = status.parameters.largest_object) {
    json["largest"] = {{"group", largest->group}, {"object", largest->object}};
  }
  if (status.parameters.expires_ms) {
    json["expires_ms"] = *status.parameters.expires_ms;
  }
  fmt::print("{}", JsonText(json));
}

Result<void> RunStatus(const StatusFlags& flags) {
  KVCAST_TRY(const TrackName track, ParseTrackArgument(flags.track));
  KVCAST_TRY(const RelayUri uri, RelayUri::Parse(flags.moq.relay));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  KVCAST_TRY(const moqt::RequestId request, run.relay->session().AskTrackStatus(track, {}));
  KVCAST_TRY(const moqt::Event answer,
             run.relay->Answer(request, "TRACK_STATUS of " + track.Render(), flags.moq.Deadline()));
  const auto* status = std::get_if<moqt::RequestAccepted>(&answer);
  const std::string implementation =
      Printable(run.relay->relay_setup().implementation.value_or(""));
  (flags.moq.json ? PrintStatusJson : PrintStatusText)(uri.ToString(), track, *status,
                                                       implementation);
  return {};
}

}  // namespace

void AddMoqStatusCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command =
      moq.add_subcommand("status", "Ask how far a track is, without subscribing (TRACK_STATUS)");
  command->group("Commands");
  command->footer("kvcast moq status moqt://relay.example:4433 demo-clock--now");
  const auto flags = std::make_shared<StatusFlags>();
  MoqFlags::AddTo(*command, flags->moq);
  command->add_option("TRACK", flags->track, "The track, such as demo-clock--now")->required();
  command->callback([flags, exit_status] {
    const Result<void> result = RunStatus(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
