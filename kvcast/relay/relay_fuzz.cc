// Two peers that send a node anything, on any stream, in any order, with resets between. Whatever
// comes: the node goes on, keeps within its bytes, and neither peer's sessions hold more than
// theirs.
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/relay/relay.h"

using kvcast::AsBytes;
using kvcast::Instant;
using kvcast::Metrics;
using kvcast::moqt::IsUni;
using kvcast::moqt::OpenerOf;
using kvcast::moqt::Role;
using kvcast::moqt::SendDatagram;
using kvcast::moqt::Session;
using kvcast::moqt::StreamId;
using kvcast::relay::PeerId;
using kvcast::relay::Relay;

namespace {

constexpr size_t kRamBytes = 40'000;

// What peers say when they behave, for the fuzzer to build on. '?' is the next request's id. Tracks
// are named ("s", "m", "p", "g") "t", so that they can be listed; aliases are 7.
constexpr std::string_view kName("\x04\x01s\x01m\x01p\x01g\x01t", 11);
const std::string kPhrases[] = {
    std::string("\x1d\x00\x0e?", 4) + std::string(kName) + std::string("\x07\x00", 2),  // PUBLISH.
    std::string("\x03\x00\x0d?", 4) + std::string(kName) + std::string(1, '\0'),  // SUBSCRIBE.
    std::string("\x0d\x00\x0d?", 4) + std::string(kName) + std::string(1, '\0'),  // TRACK_STATUS.
    std::string("\x16\x00\x12?\x01", 5) + std::string(kName) +
        std::string("\x00\x00\x03\x00\x00", 5),    // FETCH of groups 0 to 3.
    std::string("\x51\x00\x05?\x01\x01s\x00", 8),  // SUBSCRIBE_TRACKS.
    std::string("\x07\x00\x01\x00", 4),            // REQUEST_OK.
    std::string("\x05\x00\x03\x00\x00\x00", 6),    // REQUEST_ERROR.
    std::string("\x0b\x00\x03\x02\x01\x00", 6),    // PUBLISH_DONE, one stream.
    std::string("\x19\x07\x00\x80", 4),            // A subgroup that ends group 0,
    std::string("\x19\x07\x01\x80", 4),            // and group 1.
    // The first object, with a key of 32 bytes.
    std::string("\x00\x27\x0b\x25\xb8\x01\x20", 7) + std::string(34, 'k') + std::string("\x01x", 2),
    std::string("\x00\x00\x01y", 4),     // One object more,
    std::string("\x00\x00\x00\x03", 4),  // the end of the group,
    std::string("\x00\x00\x00\x04", 4),  // or of the track.
};

kvcast::moqt::Limits SmallSession() {
  kvcast::moqt::Limits limits;
  limits.object_bytes_max = 4096;
  limits.requests_max = 16;
  limits.send_queue_high_bytes = 100;
  limits.send_queue_low_bytes = 10;
  return limits;
}

Relay::Options SmallRelay() {
  Relay::Options options;
  options.ram_bytes = kRamBytes;
  options.limits.fetch_queue_bytes = 1000;
  options.limits.peer_queue_bytes = 3000;
  options.limits.subscription_queue_bytes = 500;
  options.limits.published_max = 2;
  options.limits.prefix_tracks_max = 3;
  options.limits.epoch_bytes_min = 200;
  return options;
}

// A server's session, and a client made of bytes.
class Peer {
 public:
  explicit Peer(Relay& relay)
      : session_(Role::kServer, {}, SmallSession(), Instant()), id_(relay.Join(session_)) {
    session_.OnStreamData(2, AsBytes(std::string_view("\xaf\x00\x00\x00", 4)), false);
  }

  PeerId id() const { return id_; }
  Session& session() { return session_; }

  void Act(kvcast::FuzzInput& input) {
    const uint8_t what = input.Byte();
    const StreamId stream = StreamOf(input.Byte());
    if (what < 150) {
      Say(stream, kPhrases[what % std::size(kPhrases)]);
    } else if (what < 190) {
      Deliver(stream, input.Bytes(input.Byte() % 64), what % 2 == 1);
    } else if (what < 205) {
      if (over_.insert(stream).second) {
        session_.OnStreamReset(stream, 1);
      }
    } else if (what < 215) {
      session_.OnStopSending(stream, 1);
    } else {
      session_.OnBytesSent(stream, input.Byte());
    }
  }
  void Drain() {
    while (const auto action = session_.NextAction()) {
      if (const auto* datagram = std::get_if<SendDatagram>(&*action)) {
        session_.OnDatagramsGone(datagram->order.request, 1);
      }
    }
    KVCAST_CHECK(session_.untaken_bytes() == 0);  // A node takes at once.
    KVCAST_CHECK(session_.queued_bytes() < 3000 + 2 * 4096 + 1'000'000);
  }

 private:
  void Say(StreamId stream, std::string phrase) {
    for (char& c : phrase) {
      if (c == '?') {
        c = static_cast<char>(next_id_);
        next_id_ = (next_id_ + 2) % 64;
      }
    }
    Deliver(stream, AsBytes(phrase), false);
  }
  void Deliver(StreamId stream, std::span<const std::byte> bytes, bool fin) {
    if (!over_.contains(stream)) {
      if (fin) {
        over_.insert(stream);
      }
      session_.OnStreamData(stream, bytes, fin);
    }
  }
  // A stream of the client's, or its half of one of ours.
  static StreamId StreamOf(uint8_t which) {
    const StreamId id = 4 + which % 60;
    return IsUni(id) && OpenerOf(id) == Role::kServer ? id ^ 1 : id;
  }

  Session session_;
  PeerId id_;
  uint8_t next_id_ = 0;
  std::set<StreamId> over_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Metrics metrics;
  Relay relay(SmallRelay(), metrics);
  std::array<std::unique_ptr<Peer>, 2> peers{std::make_unique<Peer>(relay),
                                             std::make_unique<Peer>(relay)};
  // Longer inputs only repeat themselves, and take longer.
  kvcast::FuzzInput input(data, std::min<size_t>(size, 512));
  Instant now;
  while (!input.done()) {
    const uint8_t which = input.Byte();
    std::unique_ptr<Peer>& peer = peers[which % 2];
    if (which == 255) {  // It leaves, and another comes.
      relay.Leave(peer->id());
      peer = std::make_unique<Peer>(relay);
    }
    peer->Act(input);
    relay.OnInput(peer->id(), now);
    if (which % 16 == 15) {
      now += std::chrono::seconds(1);
      relay.OnTimeout(now);
    }
    for (const std::unique_ptr<Peer>& each : peers) {
      each->Drain();
    }
    KVCAST_CHECK(relay.stored_bytes() <= kRamBytes);
  }
  for (const std::unique_ptr<Peer>& each : peers) {
    relay.Leave(each->id());
  }
  return 0;
}
