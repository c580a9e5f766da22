#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "kvcast/base/hex.h"
#include "kvcast/host/command.h"
#include "kvcast/host/location_argument.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/host/object_output.h"

namespace kvcast {
namespace {

struct SubFlags {
  MoqFlags moq;
  std::string track;
  std::string output;
  std::string from = "largest";
  uint64_t count = 0;
  uint32_t rendezvous_s = 0;
};

Result<moqt::SubscriptionFilter> FilterOf(const std::string& from) {
  using Type = moqt::SubscriptionFilter::Type;
  if (from == "largest") {
    return moqt::SubscriptionFilter{Type::kLargestObject, {}, 0};
  }
  if (from == "next-group") {
    return moqt::SubscriptionFilter{Type::kNextGroupStart, {}, 0};
  }
  KVCAST_TRY(const Location start, ParseLocation(from));
  return moqt::SubscriptionFilter{Type::kAbsoluteStart, start, 0};
}

// One subscription, from the relay's acceptance to its end.
class Subscriber {
 public:
  Subscriber(const SubFlags& flags, RelayConnection& relay, ObjectOutput& output)
      : flags_(flags), relay_(relay), output_(output) {}

  Result<void> Run(const TrackName& track) {
    KVCAST_TRY_VOID(Subscribe(track));
    Result<void> followed = Follow();
    if (!followed.ok()) {
      output_.Finish(false, "");
      return followed;
    }
    output_.Finish(complete_, reason_);
    if (!complete_ && done_ && !enough() && !relay_.interrupted()) {
      return Error(ErrorCode::kMachine, "Not everything came: " + reason_ + ".");
    }
    if (flags_.count > 0 && output_.objects() < flags_.count) {
      return Error(ErrorCode::kNotFound, fmt::format("Only {} of {} objects came: {}.",
                                                     output_.objects(), flags_.count, reason_));
    }
    if (output_.objects() == 0 && !complete_ && !relay_.interrupted()) {
      return Error(ErrorCode::kNotFound, "No object came: " + reason_ + ".");
    }
    return {};
  }

 private:
  Result<void> Subscribe(const TrackName& track) {
    moqt::Parameters parameters;
    KVCAST_TRY(parameters.filter, FilterOf(flags_.from));
    parameters.forward = true;
    if (flags_.rendezvous_s > 0) {
      parameters.rendezvous_timeout_ms = uint64_t{flags_.rendezvous_s} * 1000;
    }
    KVCAST_TRY(request_, relay_.session().Subscribe(track, parameters));
    const Instant deadline = flags_.moq.Deadline() + std::chrono::seconds(flags_.rendezvous_s);
    KVCAST_TRY(const moqt::Event answer,
               relay_.Answer(request_, "SUBSCRIBE of " + track.Render(), deadline));
    if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&answer); !flags_.moq.json) {
      const auto& largest = accepted->parameters.largest_object;
      fmt::print(stderr, "subscribed to {}; largest object so far: {}\n", track.Render(),
                 largest ? largest->ToString() : "none");
    }
    return {};
  }

  bool enough() const { return flags_.count > 0 && output_.objects() >= flags_.count; }

  Result<void> Follow() {
    while (true) {
      KVCAST_TRY_VOID(output_.Continue());
      KVCAST_TRY_VOID(TakeAll());
      const bool blocked = output_.blocked();
      if ((over_ || enough()) && !blocked) {
        break;
      }
      if (cancellation_ && !blocked) {
        return Error(ErrorCode::kMachine, *cancellation_);
      }
      // How long the publisher's streams may take once it is done, the session knows.
      KVCAST_TRY(const std::optional<moqt::Event> event,
                 relay_.Next(blocked ? Now() + ObjectOutput::kLook : flags_.moq.Deadline()));
      if (!event && (!blocked || relay_.interrupted())) {
        reason_ = relay_.interrupted() ? "interrupted"
                                       : fmt::format("nothing came for {} s", flags_.moq.timeout_s);
        return {};
      }
      if (event) {
        KVCAST_TRY_VOID(std::visit([this](const auto& what) { return On(what); }, *event));
      }
    }
    complete_ = enough() || (whole_ && broken_ == 0);
    if (enough()) {
      reason_ = "that is as many as were wanted";
    } else if (broken_ > 0) {
      reason_ += fmt::format(", and {} subgroup{} of it {} broken off", broken_,
                             broken_ == 1 ? "" : "s", broken_ == 1 ? "was" : "were");
    }
    return {};
  }

  // As far as it can be written.
  Result<void> TakeAll() {
    while (!over_ && !enough() && !output_.blocked()) {
      std::optional<moqt::Received> received = relay_.session().Take(request_);
      if (!received) {
        break;
      }
      if (const auto* object = std::get_if<moqt::ReceivedObject>(&*received)) {
        KVCAST_TRY_VOID(output_.Write(object->object));
      } else if (const auto* subgroup = std::get_if<moqt::SubgroupEnd>(&*received)) {
        if (!subgroup->complete) {
          ++broken_;
          output_.WriteBroken(subgroup->group, subgroup->subgroup);
        }
      } else if (const auto* end = std::get_if<moqt::TrackEnd>(&*received)) {
        done_ = true;  // The event of it may not have been looked at yet.
        over_ = true;
        whole_ = end->complete && (end->done.code == moqt::DoneCode::kTrackEnded ||
                                   end->done.code == moqt::DoneCode::kSubscriptionEnded);
        reason_ = "the publisher is done, " + WordOf(end->done.code) +
                  (end->complete ? "" : ", and not all of its streams came");
      }
    }
    return {};
  }

  template <typename T>
  Result<void> On(const T&) {
    return {};
  }
  Result<void> On(const moqt::PublishDoneReceived&) {
    done_ = true;
    return {};
  }
  // What had come by then is written nevertheless.
  Result<void> On(const moqt::RequestCancelled& event) {
    if (event.request == request_) {
      cancellation_ = Cancellation("the subscription", event);
    }
    return {};
  }
  Result<void> On(const moqt::GoAwayReceived& event) {
    PrintProblem(fmt::format(
        "The relay says that it is leaving{}.",
        event.message.uri.empty() ? "" : " for \"" + Printable(event.message.uri, 200) + "\""));
    return {};
  }

  const SubFlags& flags_;
  RelayConnection& relay_;
  ObjectOutput& output_;
  moqt::RequestId request_ = 0;
  bool done_ = false;   // The publisher has said so;
  bool over_ = false;   // and everything has come.
  bool whole_ = false;  // That was an end of the track, and not of its publisher.
  bool complete_ = false;
  uint64_t broken_ = 0;  // Subgroups that did not end well.
  std::string reason_;
  std::optional<std::string> cancellation_;
};

Result<void> RunSub(const SubFlags& flags) {
  KVCAST_TRY(const TrackName track, ParseTrackArgument(flags.track));
  KVCAST_TRY_VOID(FilterOf(flags.from));
  KVCAST_TRY(ObjectOutput output, ObjectOutput::Open({flags.output, flags.moq.json}));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  return Subscriber(flags, *run.relay, output).Run(track);
}

}  // namespace

void AddMoqSubCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command = moq.add_subcommand(
      "sub",
      "Subscribe to a track, and show what comes\n\n"
      "Prints a line for every object: where it stands, its bytes, and the beginning of their "
      "SHA-256. A subscription begins with what is published next; 'kvcast moq fetch' gets what "
      "was before. It ends when the publisher does, after --count objects, after silence, or by "
      "Ctrl-C.\n\n"
      "Exit status: 0 if the track ended or as many objects came as were wanted; 1 if fewer came, "
      "none at all, or not everything that the publisher sent.");
  command->group("Commands");
  command->footer(
      "kvcast moq sub moqt://relay.example:4433 demo-clock--now\n"
      "kvcast moq sub moqt://relay.example:4433 demo-clock--now --count 10 --json\n"
      "kvcast moq sub moqt://relay.example:4433 demo-files--all --output received --rendezvous 60");
  const auto flags = std::make_shared<SubFlags>();
  MoqFlags::AddTo(*command, flags->moq);
  command->add_option("TRACK", flags->track, "The track, such as demo-clock--now")->required();
  command
      ->add_option("--from", flags->from,
                   "Where to begin: largest, next-group, or a location GROUP/OBJECT")
      ->type_name("WHERE")
      ->capture_default_str();
  command->add_option("--count", flags->count, "Stop after so many objects")->type_name("N");
  command
      ->add_option("--output", flags->output,
                   "Write payloads as GROUP-OBJECT into this folder; - writes them to stdout, "
                   "one after the other")
      ->type_name("DIR");
  command
      ->add_option("--rendezvous", flags->rendezvous_s,
                   "If nobody publishes the track yet, ask the relay to wait so many seconds")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{0}, uint32_t{86'400}));
  command->callback([flags, exit_status] {
    const Result<void> result = RunSub(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
