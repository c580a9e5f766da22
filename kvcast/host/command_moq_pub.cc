#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/host/number_range.h"
#include "kvcast/host/object_output.h"
#include "kvcast/host/payload_source.h"
#include "kvcast/host/track_writer.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/moqt/wanted_range.h"

namespace kvcast {
namespace {

constexpr Duration kInputLook = std::chrono::milliseconds(20);  // At standard input.
constexpr uint64_t kObjectBytesMax = 64 * 1024 * 1024;
constexpr double kSecondsMax = 1e9;  // Longer than anybody waits, and still a Duration.

struct PubFlags {
  MoqFlags moq;
  std::string track;
  std::vector<std::string> files;
  std::string size;
  uint64_t count = 10;
  double rate = 0;
  TrackWriter::Layout layout;
  uint32_t priority = 256;  // Not said.
  std::string announce = "publish";
  uint32_t wait_s = 10;
  uint32_t stay_s = 0;
};

// One track, from its announcement to its end.
class Publisher {
 public:
  Publisher(const PubFlags& flags, RelayConnection& relay, PayloadSource source)
      : flags_(flags), relay_(relay), source_(std::move(source)) {
    relay_.ServeOnly([](const moqt::Event& event) {
      return std::holds_alternative<moqt::SubscribeReceived>(event);
    });
  }

  Result<void> Announce(const TrackName& track) {
    if (flags_.announce == "namespace") {
      return AnnounceNamespace(track);
    }
    what_ = "PUBLISH of " + track.Render();
    KVCAST_TRY(request_, relay_.session().Publish(track, {}, {}));
    subscribed_ = true;
    KVCAST_TRY(const moqt::Event answer, relay_.Answer(request_, what_, flags_.moq.Deadline()));
    const moqt::Parameters& parameters = std::get_if<moqt::RequestAccepted>(&answer)->parameters;
    wanted_ = parameters.forward.value_or(true);
    range_ = moqt::WantedBy(parameters.filter, std::nullopt);
    return {};
  }

  Result<void> Send() {
    TrackWriter::Layout layout = flags_.layout;
    layout.count = source_.count();
    if (flags_.priority < 256) {
      layout.priority = static_cast<uint8_t>(flags_.priority);
    }
    KVCAST_TRY_VOID(AwaitInterest());
    Progress progress("Publishing");
    start_ = Now();
    TrackWriter writer(relay_.session(), request_, layout);
    while (!relay_.interrupted()) {
      KVCAST_TRY_VOID(AwaitTurn());
      if (relay_.interrupted()) {
        break;
      }
      KVCAST_TRY(std::optional<Bytes> payload, source_.Next());
      if (!payload) {
        break;
      }
      bytes_ += payload->size();
      static_cast<void>(relay_.session());  // It is commanded.
      KVCAST_TRY_VOID(SendObject(writer, *payload));
      objects_ = writer.sent();
      unwanted_ = writer.unwanted();
      progress.Update(bytes_, 0);
    }
    largest_ = writer.largest();
    if (Result<void> ended = writer.EndGroup(); !ended.ok()) {
      KVCAST_TRY_VOID(UnlessSubscriberLeft(ended.error()));
    }
    return Finish(progress);
  }

  void Report(const std::string& track) const {
    const double seconds = std::chrono::duration<double>(delivered_ - start_).count();
    if (flags_.moq.json) {
      fmt::print("{}", JsonText(Json{{"track", track},
                                     {"objects", objects_},
                                     {"bytes", bytes_},
                                     {"seconds", seconds},
                                     {"unwanted", unwanted_},
                                     {"interrupted", relay_.interrupted()}}));
      return;
    }
    fmt::print("published {}: {} object{}, {}{}\n", track, objects_, objects_ == 1 ? "" : "s",
               Pace(bytes_, seconds),
               unwanted_ == 0 ? ""
                              : fmt::format("; {} of them outside of what was asked for, and not "
                                            "sent",
                                            unwanted_));
  }

 private:
  // Publishes the namespace alone, and waits to be asked for the track.
  Result<void> AnnounceNamespace(const TrackName& track) {
    what_ = "PUBLISH_NAMESPACE of " + track.space().Render();
    KVCAST_TRY(space_, relay_.session().PublishNamespace(track.space(), {}));
    KVCAST_TRY_VOID(relay_.Answer(space_, what_, flags_.moq.Deadline()));
    if (!flags_.moq.json) {
      fmt::print(stderr, "{} is announced; waiting for a subscriber.\n", track.space().Render());
    }
    announced_ = track;
    const Instant deadline = Now() + std::chrono::seconds(flags_.wait_s);
    while (!subscribed_) {
      KVCAST_TRY(const std::optional<moqt::Event> event, relay_.Next(deadline));
      if (!event) {
        return Error(ErrorCode::kNotFound,
                     relay_.interrupted() ? "Interrupted before anybody had subscribed."
                                          : fmt::format("Nobody has subscribed within {} s; --wait "
                                                        "says how long to wait.",
                                                        flags_.wait_s));
      }
      KVCAST_TRY_VOID(Handle(event));
    }
    return {};
  }

  // One after the other, as many as come: of one track a peer has one subscription at a time. Who
  // comes later gets what is still to come.
  void OnSubscribe(const moqt::SubscribeReceived& asked) {
    if (!announced_ || *announced_ != asked.track) {
      Refuse(asked.request, moqt::RequestCode::kDoesNotExist);
      return;
    }
    const LocationRange wanted = moqt::WantedBy(asked.parameters.filter, largest_);
    if (wanted.empty() || wanted.last.group < next_group_) {
      Refuse(asked.request, moqt::RequestCode::kInvalidRange);
      return;
    }
    moqt::Parameters parameters;
    parameters.largest_object = largest_;
    if (relay_.session().AcceptSubscribe(asked.request, parameters, {}).ok()) {
      what_ = "the subscription to " + announced_->Render();
      request_ = asked.request;
      range_ = wanted;
      subscribed_ = true;
      wanted_ = asked.parameters.forward.value_or(true);
    }
  }

  Result<void> SendObject(TrackWriter& writer, const Bytes& payload) {
    while (true) {
      if (writer.request() != request_) {
        writer.Continue(request_);
      }
      if (range_) {
        writer.Want(*std::exchange(range_, std::nullopt));
        EndIfPast(writer);
      }
      if (wanted_) {
        const uint64_t before = writer.sent();
        const Result<void> sent = writer.Send(payload);
        largest_ = writer.largest();
        next_group_ = writer.next().group;
        if (sent.ok()) {
          EndIfPast(writer);
          return {};
        }
        KVCAST_TRY_VOID(UnlessSubscriberLeft(sent.error()));
        if (writer.sent() > before) {
          return {};  // Only the end of its group came too late.
        }
      }
      KVCAST_TRY_VOID(AwaitInterest());
      if (relay_.interrupted()) {
        return {};
      }
    }
  }

  // The subscription has all that it asked for. Whoever asks next gets the rest of the track, if
  // it is there to be asked for; one that was offered is not asked for again.
  void EndIfPast(const TrackWriter& writer) {
    if (subscribed_ && writer.is_past_range()) {
      (void)relay_.session()
          .EndTrack(request_, moqt::DoneCode::kSubscriptionEnded, "All of the range has been sent.")
          .ok();
      subscribed_ = false;
      wanted_ = !announced_;
    }
  }

  // A command came too late. That is no failure if only the subscriber has left.
  Result<void> UnlessSubscriberLeft(const Error& error) {
    const moqt::RequestId before = request_;
    const Error why = WhyNot(error);
    if (subscribed_ && request_ == before) {
      return why;
    }
    return {};
  }

  // Whoever asks for what is not here is told so, and does not wait.
  void Refuse(moqt::RequestId request, moqt::RequestCode code) {
    moqt::RequestError error;
    error.code = code;
    (void)relay_.session().RefuseRequest(request, error).ok();
  }

  // A relay may have no use for the objects before somebody subscribes.
  Result<void> AwaitInterest() {
    if (!wanted_) {
      fmt::print(stderr, "The relay has no subscriber {}; waiting for one.\n",
                 objects_ == 0 ? "yet" : "now");
    }
    const Instant deadline = Now() + std::chrono::seconds(flags_.wait_s);
    while (!wanted_ && !relay_.interrupted()) {
      KVCAST_TRY(const std::optional<moqt::Event> event, relay_.Next(deadline));
      if (!event && !relay_.interrupted()) {
        const char* const why =
            subscribed_ ? ", and the relay wants no objects before (FORWARD is 0)" : "";
        return Error(ErrorCode::kNotFound,
                     fmt::format("Nobody has subscribed within {} s{}. --wait says how long.",
                                 flags_.wait_s, why));
      }
      KVCAST_TRY_VOID(Handle(event));
    }
    return {};
  }

  // Until the next object is due, there is room for it, somebody wants it, and it can be read.
  Result<void> AwaitTurn() {
    const std::chrono::duration<double> after(
        flags_.rate > 0 ? std::min(static_cast<double>(objects_) / flags_.rate, kSecondsMax) : 0);
    const Instant due = start_ + std::chrono::duration_cast<Duration>(after);
    Instant moved = Now();
    while (!relay_.interrupted()) {
      if (!wanted_) {
        KVCAST_TRY_VOID(source_.Ready());
        if (source_.over()) {
          return {};  // There is nothing left that anybody could want.
        }
        KVCAST_TRY_VOID(AwaitInterest());
      }
      const bool room =
          relay_.session().queued_bytes(request_) < relay_.session().limits().send_queue_high_bytes;
      if (room && Now() >= due) {
        KVCAST_TRY(const bool ready, source_.Ready());
        if (ready) {
          return {};
        }
      }
      const size_t before = relay_.session().queued_bytes(request_);
      const Instant until = !room         ? moved + std::chrono::seconds(flags_.moq.timeout_s)
                            : Now() < due ? due
                                          : Now() + kInputLook;
      KVCAST_TRY(const std::optional<moqt::Event> event, relay_.Next(until));
      KVCAST_TRY_VOID(Handle(event));
      if (relay_.session().queued_bytes(request_) < before) {
        moved = Now();
      } else if (!room && !event && !relay_.interrupted()) {
        return Error(ErrorCode::kMachine,
                     fmt::format("The relay has taken nothing for {} s.", flags_.moq.timeout_s));
      }
    }
    return {};
  }

  Result<void> Finish(Progress& progress) {
    KVCAST_TRY_VOID(Deliver());
    delivered_ = Now();
    progress.Done();
    KVCAST_TRY_VOID(HandleUntil(Now() + std::chrono::seconds(flags_.stay_s)));
    if (!subscribed_) {
      return {};
    }
    if (Result<void> ended = relay_.session().EndTrack(request_, moqt::DoneCode::kTrackEnded, "");
        !ended.ok()) {
      KVCAST_TRY_VOID(UnlessSubscriberLeft(ended.error()));
    }
    KVCAST_TRY_VOID(Deliver());
    // Nothing waits any more, but perhaps because the relay has given it up.
    const Result<void> told = HandleUntil(Now());
    return relay_.session().closed() ? Result<void>() : told;
  }

  // A command came too late, because the relay has given up just now: the event says why.
  Error WhyNot(const Error& error) {
    const Result<void> told = HandleUntil(Now());
    return told.ok() ? error : told.error();
  }

  Result<void> HandleUntil(Instant until) {
    std::optional<moqt::Event> event;
    do {
      KVCAST_TRY(event, relay_.Next(until));
      KVCAST_TRY_VOID(Handle(event));
    } while (event);
    return {};
  }

  // For as long as anything is still moving.
  Result<void> Deliver() {
    size_t before = relay_.session().queued_bytes();
    while (true) {
      KVCAST_TRY(const bool delivered, relay_.AwaitDelivery(flags_.moq.Deadline()));
      const size_t after = relay_.session().queued_bytes();
      if (delivered || relay_.interrupted()) {
        return {};
      }
      if (after >= before) {
        return Error(ErrorCode::kMachine,
                     fmt::format("The relay has not acknowledged everything within {} s.",
                                 flags_.moq.timeout_s));
      }
      before = after;
    }
  }

  void OnUpdate(const moqt::UpdateReceived& update) {
    moqt::Parameters answer;
    if (update.request == request_) {
      answer.largest_object = largest_;
      wanted_ = update.parameters.forward.value_or(wanted_);
      if (update.parameters.filter) {
        range_ = moqt::WantedBy(update.parameters.filter, largest_);
      }
    }
    (void)relay_.session().AcceptUpdate(update.request, answer).ok();
  }

  Result<void> Handle(const std::optional<moqt::Event>& event) {
    if (!event) {
      return {};
    }
    if (const auto* update = std::get_if<moqt::UpdateReceived>(&*event)) {
      OnUpdate(*update);
    } else if (const auto* asked = std::get_if<moqt::SubscribeReceived>(&*event)) {
      OnSubscribe(*asked);
    } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&*event)) {
      if (cancelled->request == space_ || (!announced_ && subscribed_)) {
        return Error(ErrorCode::kMachine, Cancellation(what_, *cancelled));
      }
      if (cancelled->request == request_ && subscribed_) {
        subscribed_ = wanted_ = false;
      }
    }
    return {};
  }

  const PubFlags& flags_;
  RelayConnection& relay_;
  PayloadSource source_;
  std::string what_;
  std::optional<TrackName> announced_;  // Where its namespace is, and it waits to be asked for.
  moqt::RequestId space_ = 0;
  moqt::RequestId request_ = 0;         // The subscription that there is,
  bool subscribed_ = false;             // if there is one,
  bool wanted_ = true;                  // and wants objects now.
  std::optional<LocationRange> range_;  // What it has last asked for, if that is new.
  std::optional<Location> largest_;
  uint64_t next_group_ = flags_.layout.first_group;  // Of which there is more to write.
  Instant start_{};
  Instant delivered_{};
  uint64_t objects_ = 0;
  uint64_t unwanted_ = 0;  // Of them.
  uint64_t bytes_ = 0;
};

// Where it is known how many groups it will be, there must be numbers for them.
Result<void> CheckGroups(const TrackWriter::Layout& layout, std::optional<uint64_t> objects) {
  if (layout.group_objects == 0 || objects.value_or(0) == 0) {
    return {};
  }
  const uint64_t last = (*objects - 1) / layout.group_objects;
  if (last > std::numeric_limits<uint64_t>::max() - layout.first_group) {
    return Error(ErrorCode::kInvalid, "The last groups would have no number.").In("--first-group");
  }
  return {};
}

Result<void> RunPub(const PubFlags& flags) {
  KVCAST_TRY(const TrackName track, ParseTrackArgument(flags.track));
  PayloadSource::Options source{flags.files, std::nullopt, flags.count};
  if (!flags.size.empty()) {
    KVCAST_TRY(const uint64_t size, ParseBytes(flags.size));
    if (size == 0 || size > kObjectBytesMax) {
      return Error(ErrorCode::kInvalid, "An object has from 1 byte to 64 MiB.").In("--size");
    }
    source.size = size;
  }
  KVCAST_TRY(PayloadSource payloads, PayloadSource::Open(std::move(source)));
  KVCAST_TRY_VOID(CheckGroups(flags.layout, payloads.count()));
  KVCAST_TRY(const MoqRun run, flags.moq.Connect());
  Publisher publisher(flags, *run.relay, std::move(payloads));
  KVCAST_TRY_VOID(publisher.Announce(track));
  KVCAST_TRY_VOID(publisher.Send());
  publisher.Report(track.Render());
  return {};
}

void AddLayout(CLI::App& command, PubFlags& flags) {
  command
      .add_option("--size", flags.size,
                  "Bytes of an object: of those made up (default: 1024), or to cut files into")
      ->type_name("SIZE");
  command.add_option("--count", flags.count, "How many objects to make up")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--rate", flags.rate, "Objects a second (default: as fast as they are taken)")
      ->type_name("N")
      ->check(NumberRange(1e-6, 1e9));
  command
      .add_option("--group-objects", flags.layout.group_objects,
                  "Objects in a group (default: all in one)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--first-group", flags.layout.first_group, "Number of the first group")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--subgroups", flags.layout.subgroups,
                  "Streams that the objects of a group go to in turn")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1000}))
      ->capture_default_str();
  command.add_option("--priority", flags.priority, "The publisher's priority, 0 is most urgent")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{0}, uint32_t{255}));
}

}  // namespace

void AddMoqPubCommand(CLI::App& moq, int* exit_status) {
  CLI::App* const command = moq.add_subcommand(
      "pub",
      "Publish a track: files, standard input, or payloads that are made up\n\n"
      "Announces the track by PUBLISH, or its namespace by PUBLISH_NAMESPACE, sends its objects as "
      "fast as the relay takes them or at "
      "--rate, waits until the relay has acknowledged them all, and ends the track. A file is one "
      "object, unless --size cuts it; of standard input, whatever arrives together is one. Without "
      "either, payloads are made up: always the same ones for the same --size.");
  command->group("Commands");
  command->footer(
      "kvcast moq pub moqt://relay.example:4433 demo-files--all a.bin b.bin\n"
      "kvcast moq pub moqt://relay.example:4433 demo-test--load --size 64KiB --count 1000 "
      "--group-objects 100\n"
      "date | kvcast moq pub moqt://relay.example:4433 demo-clock--now -");
  const auto flags = std::make_shared<PubFlags>();
  MoqFlags::AddTo(*command, flags->moq);
  command->add_option("TRACK", flags->track, "The track, such as demo-clock--now")->required();
  command->add_option("FILE", flags->files, "What to publish; - is standard input")
      ->expected(1, 100'000);
  AddLayout(*command, *flags);
  command
      ->add_option("--announce", flags->announce,
                   "publish offers the track (PUBLISH); namespace offers its namespace "
                   "(PUBLISH_NAMESPACE), waits until somebody subscribes to the track, and for the "
                   "next one when that one leaves")
      ->type_name("HOW")
      ->check(CLI::IsMember({"publish", "namespace"}))
      ->capture_default_str();
  command
      ->add_option("--wait", flags->wait_s,
                   "How many seconds to wait for a subscriber, where the relay asks for that")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--stay", flags->stay_s,
                   "Stay so many seconds after the last object, before the track is ended")
      ->type_name("N")
      ->capture_default_str();
  command->callback([flags, exit_status] {
    const Result<void> result = RunPub(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
