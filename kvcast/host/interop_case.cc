#include "kvcast/host/interop_case.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <variant>

#include "kvcast/host/moq_words.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;

// How long the runner's specification gives each step.
constexpr Duration kSetupPatience = milliseconds(2000);
constexpr Duration kAnswerPatience = milliseconds(2000);
constexpr Duration kAnnounceSubscribePatience = milliseconds(3000);
constexpr Duration kBeforeAnnouncePatience = milliseconds(3500);
constexpr Duration kPublisherHeadStart = milliseconds(500);
// Between looks at the other of two connections.
constexpr Duration kLook = milliseconds(5);

TrackNamespace TestNamespace() { return *TrackNamespace::Of({"moq-test", "interop"}); }
TrackName TestTrack() { return *TrackName::Of(TestNamespace(), "test-track"); }
TrackName AbsentTrack() {
  return *TrackName::Of(*TrackNamespace::Of({"nonexistent", "namespace"}), "test-track");
}

// What came of a request.
struct Reply {
  enum class Kind : uint8_t { kAccepted, kRefused, kNone, kBroken };
  Kind kind = Kind::kNone;
  std::string text;
};

// One run of one case: its connections, and what is noted on the way.
class CaseRun {
 public:
  CaseRun(EventLoop& loop, const RelayConnection::Options& target) : loop_(loop), target_(target) {}

  // Null, with a note, if no session comes about. `role` is empty where there is only one.
  std::unique_ptr<RelayConnection> Connect(const std::string& role, Instant deadline) {
    auto connection = RelayConnection::Open(loop_, target_, deadline);
    if (!connection.ok()) {
      Note("expected", "SETUP");
      Note("received", "no session");
      Note("message", (role.empty() ? "" : role + ": ") + connection.error().ToString());
      return nullptr;
    }
    Note(role.empty() ? "connection_id" : role + "_connection_id", (*connection)->connection_id());
    return *std::move(connection);
  }

  // Waits for the reply; the publisher, if there is one, answers those who subscribe meanwhile.
  static Reply Await(RelayConnection& asker, moqt::RequestId request, Instant deadline,
                     RelayConnection* publisher = nullptr) {
    while (true) {
      const bool last = Now() >= deadline;
      const Instant until = publisher == nullptr ? deadline : std::min(deadline, Now() + kLook);
      const Result<std::optional<moqt::Event>> event = asker.Next(until);
      if (!event.ok()) {
        return {Reply::Kind::kBroken, event.error().ToString()};
      }
      if (*event) {
        if (std::optional<Reply> reply = ReplyOf(**event, request)) {
          return *std::move(reply);
        }
        continue;
      }
      if (last) {
        return {Reply::Kind::kNone, "timeout"};
      }
      if (publisher != nullptr) {
        ServeSubscribers(*publisher);
      }
    }
  }

  static void ServeSubscribers(RelayConnection& publisher) {
    while (true) {
      const Result<std::optional<moqt::Event>> event = publisher.Next(Now());
      if (!event.ok() || !*event) {
        return;
      }
      if (const auto* asked = std::get_if<moqt::SubscribeReceived>(&**event)) {
        if (asked->track == TestTrack()) {
          (void)publisher.session().AcceptSubscribe(asked->request, {}, {}).ok();
        } else {
          moqt::RequestError error;
          error.code = moqt::RequestCode::kDoesNotExist;
          (void)publisher.session().RefuseRequest(asked->request, error).ok();
        }
      }
    }
  }

  // Publishes the test namespace; whether the relay takes it.
  std::optional<moqt::RequestId> Announce(RelayConnection& connection, Instant deadline) {
    const auto request = connection.session().PublishNamespace(TestNamespace(), {});
    const Reply reply = request.ok() ? Await(connection, *request, deadline)
                                     : Reply{Reply::Kind::kBroken, request.error().ToString()};
    return Expect(reply, Reply::Kind::kAccepted, "REQUEST_OK to PUBLISH_NAMESPACE")
               ? std::optional(*request)
               : std::nullopt;
  }

  bool Expect(const Reply& reply, Reply::Kind wanted, const std::string& name) {
    if (reply.kind == wanted) {
      return true;
    }
    Note("expected", name);
    Note("received", reply.kind == Reply::Kind::kAccepted  ? "REQUEST_OK or SUBSCRIBE_OK"
                     : reply.kind == Reply::Kind::kRefused ? "REQUEST_ERROR"
                     : reply.kind == Reply::Kind::kNone    ? "timeout"
                                                           : "the end of the session");
    if (!reply.text.empty()) {
      Note("message", reply.text);
    }
    return false;
  }

  // The case is done: it passed if the sessions end well.
  InteropFinding Pass(std::initializer_list<RelayConnection*> connections) {
    bool well = true;
    for (RelayConnection* const connection : connections) {
      // What the relay may have said against the last command, if it was quick.
      const Result<std::optional<moqt::Event>> event = connection->Next(Now() + kLook);
      if (!event.ok()) {
        Note("message", event.error().ToString());
      }
      well = connection->Close() && event.ok() && well;
    }
    if (!well) {
      Note("expected", "an end without error");
    }
    finding_.passed = well;
    return finding_;
  }
  InteropFinding Fail() { return finding_; }
  void Note(const std::string& key, const std::string& value) {
    finding_.notes.emplace_back(key, value);
  }

 private:
  static std::optional<Reply> ReplyOf(const moqt::Event& event, moqt::RequestId request) {
    if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event);
        accepted != nullptr && accepted->request == request) {
      return Reply{Reply::Kind::kAccepted, ""};
    }
    if (const auto* refused = std::get_if<moqt::RequestRefused>(&event);
        refused != nullptr && refused->request == request) {
      return Reply{Reply::Kind::kRefused, Refusal("the request", refused->error)};
    }
    if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event);
        cancelled != nullptr && cancelled->request == request) {
      return Reply{Reply::Kind::kBroken, Cancellation("the request", *cancelled)};
    }
    return std::nullopt;
  }

  EventLoop& loop_;
  const RelayConnection::Options& target_;
  InteropFinding finding_;
};

InteropFinding SetupOnly(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const auto connection = run.Connect("", Now() + kSetupPatience);
  return connection ? run.Pass({connection.get()}) : run.Fail();
}

InteropFinding AnnounceOnly(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const auto connection = run.Connect("", Now() + kSetupPatience);
  if (!connection || !run.Announce(*connection, Now() + kAnswerPatience)) {
    return run.Fail();
  }
  return run.Pass({connection.get()});
}

InteropFinding PublishNamespaceDone(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const auto connection = run.Connect("", Now() + kSetupPatience);
  if (!connection) {
    return run.Fail();
  }
  const Instant deadline = Now() + kAnswerPatience;
  const std::optional<moqt::RequestId> request = run.Announce(*connection, deadline);
  if (!request) {
    return run.Fail();
  }
  connection->session().Cancel(*request, moqt::ResetCode::kCancelled);
  if (const auto delivered = connection->AwaitDelivery(deadline); !delivered.ok()) {
    run.Note("message", delivered.error().ToString());
    return run.Fail();
  }
  return run.Pass({connection.get()});
}

InteropFinding SubscribeError(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const auto connection = run.Connect("", Now() + kSetupPatience);
  if (!connection) {
    return run.Fail();
  }
  const auto request = connection->session().Subscribe(AbsentTrack(), {});
  const Reply reply = request.ok() ? CaseRun::Await(*connection, *request, Now() + kAnswerPatience)
                                   : Reply{Reply::Kind::kBroken, request.error().ToString()};
  if (!run.Expect(reply, Reply::Kind::kRefused, "REQUEST_ERROR to SUBSCRIBE")) {
    return run.Fail();
  }
  return run.Pass({connection.get()});
}

InteropFinding AnnounceSubscribe(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const Instant deadline = Now() + kAnnounceSubscribePatience;
  const auto publisher = run.Connect("publisher", deadline);
  if (!publisher || !run.Announce(*publisher, deadline)) {
    return run.Fail();
  }
  const auto subscriber = run.Connect("subscriber", deadline);
  if (!subscriber) {
    return run.Fail();
  }
  const auto request = subscriber->session().Subscribe(TestTrack(), {});
  const Reply reply = request.ok()
                          ? CaseRun::Await(*subscriber, *request, deadline, publisher.get())
                          : Reply{Reply::Kind::kBroken, request.error().ToString()};
  if (!run.Expect(reply, Reply::Kind::kAccepted, "SUBSCRIBE_OK")) {
    return run.Fail();
  }
  return run.Pass({subscriber.get(), publisher.get()});
}

InteropFinding SubscribeBeforeAnnounce(EventLoop& loop, const RelayConnection::Options& target) {
  CaseRun run(loop, target);
  const Instant deadline = Now() + kBeforeAnnouncePatience;
  const auto subscriber = run.Connect("subscriber", deadline);
  if (!subscriber) {
    return run.Fail();
  }
  const auto request = subscriber->session().Subscribe(TestTrack(), {});
  if (!request.ok()) {
    return run.Fail();
  }
  Reply reply = CaseRun::Await(*subscriber, *request, Now() + kPublisherHeadStart);
  const auto publisher = run.Connect("publisher", deadline);
  if (!publisher || !run.Announce(*publisher, deadline)) {
    return run.Fail();
  }
  if (reply.kind == Reply::Kind::kNone) {
    reply = CaseRun::Await(*subscriber, *request, deadline, publisher.get());
  }
  // Both are in order: the relay waits for the publisher, or says that there is none.
  if (reply.kind != Reply::Kind::kRefused &&
      !run.Expect(reply, Reply::Kind::kAccepted, "SUBSCRIBE_OK or REQUEST_ERROR")) {
    return run.Fail();
  }
  return run.Pass({subscriber.get(), publisher.get()});
}

constexpr std::array kCases = {
    InteropCase{"setup-only", &SetupOnly},
    InteropCase{"announce-only", &AnnounceOnly},
    InteropCase{"publish-namespace-done", &PublishNamespaceDone},
    InteropCase{"subscribe-error", &SubscribeError},
    InteropCase{"announce-subscribe", &AnnounceSubscribe},
    InteropCase{"subscribe-before-announce", &SubscribeBeforeAnnounce},
};

}  // namespace

std::span<const InteropCase> InteropCases() { return kCases; }

}  // namespace kvcast
