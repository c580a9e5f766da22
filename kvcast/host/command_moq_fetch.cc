#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "kvcast/host/command.h"
#include "kvcast/host/location_argument.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/host/object_output.h"

namespace kvcast {
namespace {

struct FetchFlags {
  MoqFlags moq;
  std::string track;
  std::string range = "0-";
  std::string output;
  bool descending = false;
};

// Takes what has come, as far as it can be written; whether the fetch's stream is over, and how.
Result<std::optional<moqt::FetchEnd>> TakeAll(RelayConnection& relay, moqt::RequestId request,
                                              ObjectOutput& output) {
  while (!output.blocked()) {
    std::optional<moqt::Received> received = relay.session().Take(request);
    if (!received) {
      break;
    }
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*received)) {
      KVCAST_TRY_VOID(output.Write(object->object));
    } else if (const auto* gap = std::get_if<moqt::RangeEnd>(&*received)) {
      output.WriteGap(gap->last, gap->unknown);
    } else if (const auto* end = std::get_if<moqt::FetchEnd>(&*received)) {
      return std::optional(*end);
    }
  }
  return std::optional<moqt::FetchEnd>();
}

// All has come, and who reads it takes their time; meanwhile the session goes on.
Result<void> WriteRest(RelayConnection& relay, ObjectOutput& output) {
  while (output.blocked() && !relay.interrupted()) {
    if (!relay.Next(Now() + ObjectOutput::kLook).ok()) {
      std::this_thread::sleep_for(ObjectOutput::kLook);  // It is over, and nothing depends on it.
    }
    KVCAST_TRY_VOID(output.Continue());
  }
  return {};
}

// Until the stream is over. Absent if it is whole; otherwise why it is not.
Result<std::optional<std::string>> Follow(const FetchFlags& flags, RelayConnection& relay,
                                          moqt::RequestId request, ObjectOutput& output) {
  std::optional<std::string> cancellation;
  while (true) {
    KVCAST_TRY_VOID(output.Continue());
    KVCAST_TRY(const std::optional<moqt::FetchEnd> end, TakeAll(relay, request, output));
    if (end) {
      KVCAST_TRY_VOID(WriteRest(relay, output));
      return end->complete ? std::optional<std::string>()
                           : "the relay reset the stream, " + WordOfReset(end->code);
    }
    if (cancellation && !output.blocked()) {
      return cancellation;
    }
    const bool blocked = output.blocked();
    KVCAST_TRY(const std::optional<moqt::Event> event,
               relay.Next(blocked ? Now() + ObjectOutput::kLook : flags.moq.Deadline()));
    if (!event && (!blocked || relay.interrupted())) {
      return std::optional<std::string>(
          relay.interrupted() ? "interrupted"
                              : fmt::format("nothing came for {} s", flags.moq.timeout_s));
    }
    const auto* cancelled = event ? std::get_if<moqt::RequestCancelled>(&*event) : nullptr;
    if (cancelled != nullptr) {
      cancellation = Cancellation("the fetch", *cancelled);
    }
  }
}

Result<void> RunFetch(const FetchFlags& flags) {
  KVCAST_TRY(const TrackName track, ParseTrackArgument(flags.track));
  KVCAST_TRY(const LocationRange range, ParseLocationRange(flags.range));
  KVCAST_TRY(ObjectOutput output, ObjectOutput::Open({flags.output, flags.moq.json}));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  moqt::Parameters parameters;
  parameters.group_order =
      flags.descending ? moqt::GroupOrder::kDescending : moqt::GroupOrder::kAscending;
  KVCAST_TRY(const moqt::RequestId request, run.relay->session().Fetch(track, range, parameters));
  KVCAST_TRY(const moqt::Event answer,
             run.relay->Answer(request, "FETCH of " + track.Render(), flags.moq.Deadline()));
  if (const auto* accepted = std::get_if<moqt::FetchAccepted>(&answer); !flags.moq.json) {
    const Location last = accepted->answer.last;
    fmt::print(stderr, "fetching {} up to {}{}\n", track.Render(),
               last.object == LocationRange::kWholeGroup
                   ? fmt::format("the end of group {}", last.group)
                   : last.ToString(),
               accepted->answer.end_of_track ? ", the end of the track" : "");
  }
  Result<std::optional<std::string>> trouble = Follow(flags, *run.relay, request, output);
  if (!trouble.ok()) {
    output.Finish(false, "");
    return std::move(trouble).error();
  }
  output.Finish(!*trouble, trouble->value_or(""));
  if (*trouble) {
    return Error(ErrorCode::kMachine, "Not everything came: " + **trouble + ".");
  }
  return {};
}

}  // namespace

void AddMoqFetchCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command = moq.add_subcommand(
      "fetch",
      "Fetch a range of a track that has been published\n\n"
      "Prints a line for every object, as 'kvcast moq sub' does, and for every range that the "
      "relay says does not exist or is unknown to it.\n\n"
      "Exit status: 0 if the relay's answer came to its end; 1 if it was refused or broke off.");
  command->group("Commands");
  command->footer(
      "kvcast moq fetch moqt://relay.example:4433 demo-clock--now\n"
      "kvcast moq fetch moqt://relay.example:4433 demo-clock--now 3/0-5/7 --json\n"
      "kvcast moq fetch moqt://relay.example:4433 demo-files--all 0 --output - > all");
  const auto flags = std::make_shared<FetchFlags>();
  MoqFlags::AddTo(*command, flags->moq);
  command->add_option("TRACK", flags->track, "The track, such as demo-clock--now")->required();
  command
      ->add_option("RANGE", flags->range,
                   "Groups (3, 3-5, 3-) or objects (3/2, 3/2-5/7), both ends included")
      ->default_str("0-, which is everything");
  command
      ->add_option("--output", flags->output,
                   "Write payloads as GROUP-OBJECT into this folder; - writes them to stdout, "
                   "one after the other")
      ->type_name("DIR");
  command->add_flag("--descending", flags->descending, "The newest group first");
  command->callback([flags, exit_status] {
    const Result<void> result = RunFetch(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
