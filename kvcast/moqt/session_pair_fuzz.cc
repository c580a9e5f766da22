// Two sessions back to back, each with a user who asks, answers, sends, takes and cancels as the
// input says, over a connection that hands over pieces in any order. Somebody in between may change
// bytes. Whatever happens:
//
//   nothing is held beyond the limits, a closed session says so once and does nothing more;
//   as long as nobody changes bytes, no session ends, and what is taken was sent.
#include <map>
#include <set>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"

using namespace kvcast::moqt;  // NOLINT
using kvcast::FuzzInput;
using kvcast::Instant;
using kvcast::LocationRange;
using kvcast::Object;
using kvcast::TrackName;

namespace {

// Longer inputs only repeat themselves, and take longer.
constexpr size_t kBytesMax = 400;

Limits SmallLimits() {
  Limits limits;
  limits.object_bytes_max = 300;
  limits.properties_bytes_max = 64;
  limits.stream_queue_bytes = 256;
  limits.session_queue_bytes = 1024;
  limits.early_bytes = 512;
  limits.requests_max = 8;
  limits.send_queue_high_bytes = 200;
  limits.send_queue_low_bytes = 20;
  return limits;
}

// Stands before a session, and changes what comes in.
class Tamperer final : public TransportUser {
 public:
  Tamperer(Session& session, bool& tampered) : session_(&session), tampered_(&tampered) {}

  // The next piece has a byte changed, at `at` from its start on.
  void Change(uint8_t at, uint8_t by) {
    at_ = at;
    by_ = by;
  }

  void OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    if (by_ == 0 || bytes.empty()) {
      session_->OnStreamData(stream, bytes, fin);
      return;
    }
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    changed[at_ % changed.size()] ^= std::byte(std::exchange(by_, 0));
    *tampered_ = true;
    session_->OnStreamData(stream, changed, fin);
  }
  void OnStreamReset(StreamId stream, uint64_t code) override {
    session_->OnStreamReset(stream, code);
  }
  void OnStopSending(StreamId stream, uint64_t code) override {
    session_->OnStopSending(stream, code);
  }
  void OnBytesSent(StreamId stream, uint64_t bytes) override {
    session_->OnBytesSent(stream, bytes);
  }
  void OnDelivered(StreamId stream) override { session_->OnDelivered(stream); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    session_->OnDatagramsGone(request, count);
  }
  void OnDatagram(std::span<const std::byte> bytes) override { session_->OnDatagram(bytes); }
  void OnStreamsAllowed(uint64_t bidi_total) override { session_->OnStreamsAllowed(bidi_total); }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    session_->OnConnectionClosed(code, reason);
  }
  std::optional<TransportAction> NextAction() override { return session_->NextAction(); }

 private:
  Session* session_;
  bool* tampered_;
  uint8_t at_ = 0;
  uint8_t by_ = 0;
};

struct Side {
  Side(Role role, bool& tampered)
      : session(role, {}, SmallLimits(), Instant()), tamperer(session, tampered) {}

  Session session;
  Tamperer tamperer;
  std::map<RequestId, std::set<StreamId>> subgroups;  // Open ones of ours.
  int closed_events = 0;
};

class Pair {
 public:
  explicit Pair(FuzzInput input)
      : input_(input),
        sides_{{Role::kClient, tampered_}, {Role::kServer, tampered_}},
        connection_(OptionsOf(input_), sides_[0].tamperer, sides_[1].tamperer) {}

  void Run() {
    while (!input_.done()) {
      const uint8_t what = input_.Byte();
      Side& side = sides_[what % 2];
      if (what < 100) {
        for (int steps = what / 8; steps >= 0 && connection_.Step(); --steps) {
        }
      } else {
        Act(side, what);
      }
      Settle();
    }
    for (int steps = 0; steps < 300 && connection_.Step(); ++steps) {
    }
    Settle();
  }

 private:
  static MemoryConnection::Options OptionsOf(FuzzInput& input) {
    MemoryConnection::Options options;
    options.seed = input.Byte();
    options.cut_max = 1 + input.Byte();
    options.stream_window = 64 + input.Byte();
    options.connection_window = 256 + 16 * uint64_t{input.Byte()};
    return options;
  }

  void Act(Side& side, uint8_t what) {
    Session& session = side.session;
    const RequestId request = input_.Byte() % 16;
    const TrackName track = *TrackName::Of({}, std::string(1, static_cast<char>('a' + request)));
    switch (what / 2 % 24) {
      case 0:
        return (void)session.Publish(track, {}, {}).ok();
      case 1:
        return (void)session.Subscribe(track, {}).ok();
      case 2:
        return (void)session.Fetch(track, LocationRange::Groups(0, 9), {}).ok();
      case 3:
        return (void)session.AskTrackStatus(track, {}).ok();
      case 4:
        return (void)session.SubscribeTracks({}, {}).ok();
      case 5:
        return (void)session.AcceptPublish(request, {}).ok();
      case 6:
        return (void)session.AcceptSubscribe(request, {}, {}).ok();
      case 7:
        return (void)session.AcceptFetch(request, FetchOk{false, {9, 9}, {}, {}}).ok();
      case 8:
        return (void)session.AnswerTrackStatus(request, {}, {}).ok();
      case 9:
        return (void)session.AcceptSubscribeTracks(request, {}).ok();
      case 10:
        return (void)session.RefuseRequest(request, {}).ok();
      case 11:
        return session.Cancel(request, ResetCode::kCancelled);
      case 12:
        return (void)session.EndTrack(request, DoneCode::kTrackEnded, "").ok();
      case 13:
        return (void)(input_.Byte() % 2 == 0 ? session.EndFetch(request)
                                             : session.ResetFetch(request, ResetCode::kCancelled))
            .ok();
      case 14:
        return (void)session.SendFetched(request, NextObject(0)).ok();
      case 15:
      case 16:
        return SendSubgroup(side, request);
      case 17:
        side.tamperer.Change(input_.Byte(), input_.Byte());
        return;
      case 18:
        return Change(session, request);
      case 19:
        return ActOnNamespaces(session, request);
      case 20:
        return (void)session
            .FetchJoining(request, kvcast::moqt::Fetch::Type::kRelativeJoining, 1, {})
            .ok();
      case 21:
        return (void)session.SendDatagramObject(request, NextDatagram(), false).ok();
      default:
        while (session.Take(request)) {
        }
    }
  }

  // Updates, and what becomes of them.
  void Change(Session& session, RequestId request) {
    Parameters change;
    change.subscriber_priority = 9;
    change.forward = input_.Byte() % 4 != 0;
    switch (input_.Byte() % 5) {
      case 0:
        return (void)session.Update(request, change).ok();
      case 1:
        return (void)session.Update(request, {}).ok();
      case 2:
        return (void)session.RefuseUpdate(request, {}).ok();
      case 3:
        return (void)session.SendGoAway(request, "", 0).ok();
      default:
        return (void)session.AcceptUpdate(request, {}).ok();
    }
  }

  void ActOnNamespaces(Session& session, RequestId request) {
    const auto space = *kvcast::TrackNamespace::Of({"n"});
    const auto below = *kvcast::TrackNamespace::Of({"n", "m"});
    switch (input_.Byte() % 6) {
      case 0:
        return (void)session.PublishNamespace(space, {}).ok();
      case 1:
        return (void)session.SubscribeNamespace(space, {}).ok();
      case 2:
        return (void)session.AcceptPublishNamespace(request, {}).ok();
      case 3:
        return (void)session.AcceptSubscribeNamespace(request, {}).ok();
      case 4:
        return (void)session.AnnounceNamespace(request, below).ok();
      default:
        return (void)session.WithdrawNamespace(request, below).ok();
    }
  }

  Object NextDatagram() {
    Object object = NextObject(1);
    object.forwarding = kvcast::Forwarding::kDatagram;
    return object;
  }

  Object NextObject(uint64_t group) {
    Object object;
    object.location = {group, input_.Byte() % 8u};
    object.payload = kvcast::Bytes::Of(std::string(input_.Byte(), 'p'));
    return object;
  }

  void SendSubgroup(Side& side, RequestId request) {
    std::set<StreamId>& open = side.subgroups[request];
    const uint8_t what = input_.Byte();
    if (open.empty() || what < 50) {
      SubgroupHeader header;
      header.end_of_group = what % 2 == 0;
      if (const auto stream = side.session.OpenSubgroup(request, header); stream.ok()) {
        open.insert(*stream);
      }
      return;
    }
    const StreamId stream = *open.begin();
    if (what < 180) {
      (void)side.session.SendObject(request, stream, NextObject(0)).ok();
      return;
    }
    open.erase(stream);
    if (what < 230) {
      (void)side.session.EndSubgroup(request, stream).ok();
    } else {
      (void)side.session.ResetSubgroup(request, stream, ResetCode::kDeliveryTimeout).ok();
    }
  }

  void Settle() {
    for (Side& side : sides_) {
      while (const std::optional<Event> event = side.session.NextEvent()) {
        KVCAST_CHECK(side.closed_events == 0);
        side.closed_events += std::holds_alternative<SessionClosed>(*event) ? 1 : 0;
      }
      KVCAST_CHECK(side.session.closed() == (side.closed_events == 1));
      KVCAST_CHECK(tampered_ || !side.session.closed());
      KVCAST_CHECK(side.session.untaken_bytes() <= 1024 + 16 * 1024);
    }
  }

  FuzzInput input_;
  bool tampered_ = false;
  Side sides_[2];
  MemoryConnection connection_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Pair(FuzzInput(data, std::min(size, kBytesMax))).Run();
  return 0;
}
