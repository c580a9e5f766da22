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

// One fetch. Its objects and the relay's answer come in any order, so neither is waited for alone:
// who takes nothing stops the stream, and perhaps the answer that stands behind it.
class Fetcher {
 public:
  Fetcher(const FetchFlags& flags, RelayConnection& relay, ObjectOutput& output)
      : flags_(flags), relay_(relay), output_(output) {}

  Result<void> Run(const TrackName& track, const LocationRange& range) {
    track_ = track.Render();
    moqt::Parameters parameters;
    parameters.group_order =
        flags_.descending ? moqt::GroupOrder::kDescending : moqt::GroupOrder::kAscending;
    KVCAST_TRY(request_, relay_.session().Fetch(track, range, parameters));
    Result<std::optional<std::string>> trouble = Follow();
    if (!trouble.ok()) {
      if (answered_ || output_.objects() > 0) {
        output_.Finish(false, "");
      }
      return std::move(trouble).error();
    }
    output_.Finish(!*trouble, trouble->value_or(""));
    if (*trouble) {
      return Error(ErrorCode::kMachine, "Not everything came: " + **trouble + ".");
    }
    return {};
  }

 private:
  // Until the stream is over and the relay has answered. Absent if it is whole; otherwise why it is
  // not.
  Result<std::optional<std::string>> Follow() {
    while (true) {
      KVCAST_TRY_VOID(output_.Continue());
      KVCAST_TRY_VOID(TakeAll());
      if (end_ && answered_) {
        KVCAST_TRY_VOID(WriteRest());
        return end_->complete ? std::optional<std::string>()
                              : "the relay reset the stream, " + WordOfReset(end_->code);
      }
      const bool blocked = output_.blocked();
      if (cancellation_ && !blocked) {
        return cancellation_;
      }
      KVCAST_TRY(const std::optional<moqt::Event> event,
                 relay_.Next(blocked ? Now() + ObjectOutput::kLook : flags_.moq.Deadline()));
      if (event) {
        KVCAST_TRY_VOID(std::visit([this](const auto& what) { return On(what); }, *event));
      } else if (!blocked || relay_.interrupted()) {
        return Silence();
      }
    }
  }

  // As far as it can be written.
  Result<void> TakeAll() {
    while (!output_.blocked()) {
      std::optional<moqt::Received> received = relay_.session().Take(request_);
      if (!received) {
        break;
      }
      if (const auto* object = std::get_if<moqt::ReceivedObject>(&*received)) {
        KVCAST_TRY_VOID(output_.Write(object->object));
      } else if (const auto* gap = std::get_if<moqt::RangeEnd>(&*received)) {
        output_.WriteGap(gap->last, gap->unknown);
      } else if (const auto* end = std::get_if<moqt::FetchEnd>(&*received)) {
        end_ = *end;
      }
    }
    return {};
  }

  // All has come, and who reads it takes their time; meanwhile the session goes on.
  Result<void> WriteRest() {
    while (output_.blocked() && !relay_.interrupted()) {
      if (!relay_.Next(Now() + ObjectOutput::kLook).ok()) {
        std::this_thread::sleep_for(ObjectOutput::kLook);  // It is over, and nothing depends on it.
      }
      KVCAST_TRY_VOID(output_.Continue());
    }
    return {};
  }

  // Nothing comes any more: what that means.
  Result<std::optional<std::string>> Silence() const {
    if (!answered_) {
      return Error(ErrorCode::kMachine,
                   relay_.interrupted()
                       ? "Interrupted before the relay had answered " + what() + "."
                       : NoAnswer(what(), std::chrono::seconds(flags_.moq.timeout_s)));
    }
    return std::optional<std::string>(
        relay_.interrupted() ? "interrupted"
                             : fmt::format("nothing came for {} s", flags_.moq.timeout_s));
  }

  template <typename T>
  Result<void> On(const T&) {
    return {};
  }
  Result<void> On(const moqt::FetchAccepted& accepted) {
    answered_ = true;
    if (!flags_.moq.json) {
      const Location last = accepted.answer.last;
      fmt::print(stderr, "fetching {} up to {}{}\n", track_,
                 last.object == LocationRange::kWholeGroup
                     ? fmt::format("the end of group {}", last.group)
                     : last.ToString(),
                 accepted.answer.end_of_track ? ", the end of the track" : "");
    }
    return {};
  }
  Result<void> On(const moqt::RequestRefused& refused) {
    return refused.request == request_ ? Error(ErrorCode::kNotFound, Refusal(what(), refused.error))
                                       : Result<void>();
  }
  // What had come by then is written nevertheless.
  Result<void> On(const moqt::RequestCancelled& cancelled) {
    if (cancelled.request == request_) {
      cancellation_ = Cancellation("the fetch", cancelled);
    }
    return {};
  }

  std::string what() const { return "FETCH of " + track_; }

  const FetchFlags& flags_;
  RelayConnection& relay_;
  ObjectOutput& output_;
  std::string track_;
  moqt::RequestId request_ = 0;
  bool answered_ = false;              // By FETCH_OK.
  std::optional<moqt::FetchEnd> end_;  // Of the stream.
  std::optional<std::string> cancellation_;
};

Result<void> RunFetch(const FetchFlags& flags) {
  KVCAST_TRY(const TrackName track, ParseTrackArgument(flags.track));
  KVCAST_TRY(const LocationRange range, ParseLocationRange(flags.range));
  KVCAST_TRY(ObjectOutput output, ObjectOutput::Open({flags.output, flags.moq.json}));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  return Fetcher(flags, *run.relay, output).Run(track, range);
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
