// A peer that sends anything on any stream, in any order, with resets and refusals between, to a
// session whose user answers, takes, sends and cancels at will. Whatever comes:
//
//   nothing is held beyond the limits and what was granted, credit never exceeds what arrived,
//   streams end once, and a closed session says so once and does nothing more.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/moqt/session.h"

using namespace kvcast::moqt;  // NOLINT
using kvcast::Instant;
using kvcast::LocationRange;
using kvcast::Object;
using kvcast::TrackName;

namespace {

Limits SmallLimits() {
  Limits limits;
  limits.object_bytes_max = 4096;
  limits.properties_bytes_max = 256;
  limits.stream_queue_bytes = 2048;
  limits.session_queue_bytes = 8192;
  limits.early_bytes = 512;
  limits.requests_max = 8;
  limits.send_queue_high_bytes = 100;
  limits.send_queue_low_bytes = 10;
  return limits;
}

// What a peer says when it behaves, for the fuzzer to build on: guessing SETUP takes too long.
// Request ids and the parity of a fetch's are patched in.
constexpr std::string_view kPhrases[] = {
    std::string_view("\xaf\x00\x00\x00", 4),                                 // SETUP.
    std::string_view("\x1d\x00\x06?\x00\x01t\x07\x00", 9),                   // PUBLISH, alias 7.
    std::string_view("\x03\x00\x05?\x00\x01u\x00", 8),                       // SUBSCRIBE.
    std::string_view("\x16\x00\x0a?\x01\x00\x01v\x00\x00\x03\x00\x00", 13),  // FETCH.
    std::string_view("\x0d\x00\x05?\x00\x01w\x00", 8),                       // TRACK_STATUS.
    std::string_view("\x51\x00\x05?\x01\x01n\x00", 8),                       // SUBSCRIBE_TRACKS.
    std::string_view("\x02\x00\x06?\x01\x34\x01\x01n", 9),           // UPDATE of its prefix.
    std::string_view("\x0f\x00\x05\x01\x01n\x01t", 8),               // PUBLISH_BLOCKED.
    std::string_view("\x04\x00\x02\x09\x00", 5),                     // SUBSCRIBE_OK, alias 9.
    std::string_view("\x07\x00\x01\x00", 4),                         // REQUEST_OK.
    std::string_view("\x18\x00\x04\x00\x09\x00\x00", 7),             // FETCH_OK.
    std::string_view("\x05\x00\x03\x00\x00\x00", 6),                 // REQUEST_ERROR.
    std::string_view("\x0b\x00\x03\x02\x01\x00", 6),                 // PUBLISH_DONE, one stream.
    std::string_view("\x10\x07\x00\x00\x00\x01x", 7),                // A subgroup of alias 7.
    std::string_view("\x11\x09\x00\x00\x00\x02\x02\x05\x02yz", 11),  // Of alias 9.
    std::string_view("\x05!\x1c\x00\x00\x80\x01z", 8),               // The fetch of ours.
    std::string_view("\x00\x01q", 3),                                // One object more.
};

class World {
 public:
  World(Role role, kvcast::FuzzInput input)
      : role_(role), input_(input), session_(role, {}, SmallLimits(), Instant()) {}

  void Run() {
    // Tracks are named by one byte: "a" to "d" in the empty namespace.
    (void)session_.Publish(*TrackName::Of({}, "a"), {}, {}).ok();
    (void)session_.Subscribe(*TrackName::Of({}, "b"), {}).ok();
    (void)session_.Fetch(*TrackName::Of({}, "c"), LocationRange::Groups(0, 9), {}).ok();
    (void)session_.AskTrackStatus(*TrackName::Of({}, "d"), {}).ok();
    (void)session_.SubscribeTracks({}, {}).ok();
    Drain();
    while (!input_.done()) {
      Act(input_.Byte());
      Drain();
    }
    session_.Close(SessionCode::kNoError, "");
    Drain();
    KVCAST_CHECK(closes_ == 1 && closed_events_ == 1);
  }

 private:
  void Act(uint8_t what) {
    const uint8_t which = input_.Byte();
    if (what < 90) {
      Say(StreamOf(which), what);
    } else if (what < 128) {
      Deliver(StreamOf(which), what % 2 == 1);
    } else if (what < 140) {
      Reset(StreamOf(which));
    } else if (what < 150) {
      session_.OnStopSending(which % 64, 1);
    } else if (what < 165) {
      session_.OnBytesSent(which % 64, input_.Byte());
    } else if (what < 170) {
      session_.OnDelivered(which % 64);
    } else {
      Command(what, which % 24);
    }
  }

  void Say(StreamId stream, uint8_t which) {
    if (over_.contains(stream)) {
      return;
    }
    std::string phrase(kPhrases[which % std::size(kPhrases)]);
    for (char& c : phrase) {
      if (c == '?') {  // The peer's next request.
        c = static_cast<char>(next_peer_id_);
        next_peer_id_ += 2;
      } else if (c == '!') {  // Our fetch, the third request we made.
        c = role_ == Role::kClient ? 4 : 5;
      }
    }
    arrived_[stream] += phrase.size();
    arrived_all_ += phrase.size();
    session_.OnStreamData(stream, kvcast::AsBytes(phrase), false);
  }

  // A stream of the peer's, or the peer's half of one of ours.
  StreamId StreamOf(uint8_t which) const {
    const StreamId id = which % 64;
    const bool peers = OpenerOf(id) != role_;
    return IsUni(id) && !peers ? id ^ 1 : id;
  }

  void Deliver(StreamId stream, bool fin) {
    if (over_.contains(stream)) {
      return;
    }
    if (fin) {
      over_.insert(stream);
    }
    const auto bytes = input_.Bytes(input_.Byte());
    arrived_[stream] += bytes.size();
    arrived_all_ += bytes.size();
    session_.OnStreamData(stream, bytes, fin);
  }

  void Reset(StreamId stream) {
    if (over_.insert(stream).second) {
      session_.OnStreamReset(stream, 1);
    }
  }

  void Command(uint8_t what, RequestId request) {
    Object object;
    object.location = {input_.Byte() % 4u, input_.Byte() % 4u};
    switch (what % 16) {
      case 0:
        return (void)session_.AcceptPublish(request, {}).ok();
      case 1:
        return (void)session_.AcceptSubscribe(request, {}, {}).ok();
      case 2:
        return (void)session_.AcceptFetch(request, {}).ok();
      case 3:
        return (void)session_.AnswerTrackStatus(request, {}, {}).ok();
      case 4:
        return (void)session_.RefuseRequest(request, {}).ok();
      case 5:
        return session_.Cancel(request, ResetCode::kCancelled);
      case 6:
        return (void)session_.SendFetched(request, object).ok();
      case 7:
        return (void)session_.SendFetched(request, RangeEnd{object.location, true}).ok();
      case 8:
        return (void)session_.EndFetch(request).ok();
      case 9:
        return SendGroup(request, object);
      case 10:
        return (void)session_.EndTrack(request, DoneCode::kTrackEnded, "").ok();
      case 11:
        return (void)session_.ResetFetch(request, ResetCode::kInternalError).ok();
      case 12:
        return (void)session_.SendGoAway("", 0).ok();
      case 13:
        return (void)session_.AcceptSubscribeTracks(request, {}).ok();
      default:
        while (session_.Take(request)) {
        }
    }
  }

  void SendGroup(RequestId request, const Object& object) {
    SubgroupHeader header;
    header.group = object.location.group;
    const auto subgroup = session_.OpenSubgroup(request, header);
    if (subgroup.ok()) {
      (void)session_.SendObject(request, *subgroup, object).ok();
      if (object.location.object != 3) {
        (void)session_.EndSubgroup(request, *subgroup).ok();
      }
    }
  }

  void Drain() {
    while (const auto action = session_.NextAction()) {
      KVCAST_CHECK(closes_ == 0);
      std::visit([this](const auto& any) { On(any); }, *action);
    }
    while (const auto event = session_.NextEvent()) {
      KVCAST_CHECK(closed_events_ == 0);
      closed_events_ += std::holds_alternative<SessionClosed>(*event) ? 1 : 0;
    }
    // Beyond the limit only what a single piece of input could bring.
    KVCAST_CHECK(session_.untaken_bytes() <= 8192 + 255 * 512);
  }

  void On(const OpenStream& open) {
    KVCAST_CHECK(OpenerOf(open.stream) == role_ && opened_.insert(open.stream).second);
  }
  void On(const SendBytes& send) {
    KVCAST_CHECK(!ended_.contains(send.stream) && MayWrite(send.stream));
    if (send.fin) {
      ended_.insert(send.stream);
    }
  }
  // A stream may be reset after its end: what was not sent yet is not sent any more.
  void On(const ResetStream& reset) {
    KVCAST_CHECK(MayWrite(reset.stream) && resets_.insert(reset.stream).second);
    ended_.insert(reset.stream);
  }
  void On(const StopSending& stop) { KVCAST_CHECK(stops_.insert(stop.stream).second); }
  void On(const StreamCredit& credit) {
    KVCAST_CHECK((credited_[credit.stream] += credit.bytes) <= arrived_[credit.stream]);
  }
  void On(const ConnectionCredit& credit) {
    KVCAST_CHECK((credited_all_ += credit.bytes) <= arrived_all_);
  }
  void On(const SendDatagram& datagram) { session_.OnDatagramsGone(datagram.order.request, 1); }
  void On(const ReorderStream& reorder) { KVCAST_CHECK(MayWrite(reorder.stream)); }
  void On(const CloseConnection&) { ++closes_; }

  bool MayWrite(StreamId stream) const {
    return OpenerOf(stream) == role_ ? opened_.contains(stream) : !IsUni(stream);
  }

  Role role_;
  kvcast::FuzzInput input_;
  Session session_;
  RequestId next_peer_id_ = role_ == Role::kClient ? 1 : 0;
  std::set<StreamId> over_;
  std::set<StreamId> opened_;
  std::set<StreamId> ended_;
  std::set<StreamId> resets_;
  std::set<StreamId> stops_;
  std::map<StreamId, uint64_t> arrived_;
  std::map<StreamId, uint64_t> credited_;
  uint64_t arrived_all_ = 0;
  uint64_t credited_all_ = 0;
  int closes_ = 0;
  int closed_events_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Longer inputs only repeat themselves, and take longer.
  kvcast::FuzzInput input(data, std::min<size_t>(size, 512));
  const uint8_t first = input.Byte();
  World(first % 2 == 0 ? Role::kClient : Role::kServer, input).Run();
  return 0;
}
