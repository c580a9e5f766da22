#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kvcast/host/shard_parcel.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/moqt/transport.h"

namespace kvcast {

class RemotePart;

// Those of a shard's connections, by guest and the shard that has its session.
using RemoteParts = std::map<std::pair<uint64_t, size_t>, RemotePart*>;

// Stands on a connection for the session that another shard has for it: passes on what happens, and
// does what comes back.
//
// What has been sent is told a good part at a time, as long as the session has plenty waiting here:
// each time costs a wake-up of the other loop, and it would find nothing to do.
class RemotePart final : public moqt::TransportUser {
 public:
  // It is among the parts for as long as it lives. `poke` has the connection ask it.
  RemotePart(EventLoop& loop, RemoteParts& parts, size_t shard, uint64_t guest,
             LoopBridge<ShardParcel>& bridge, ShardParcel::Came came, std::function<void()> poke);
  ~RemotePart() override;
  RemotePart(const RemotePart&) = delete;
  RemotePart& operator=(const RemotePart&) = delete;

  // What the session wants done.
  void Take(moqt::TransportAction action);
  void SetMayOpenMore(bool may) { may_open_more_ = may; }

  bool MayOpenMore() const override { return may_open_more_; }
  void OnStreamsUsedUp() override { Send(ShardParcel::UsedUp{}); }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    Send(ShardParcel::Data{stream, Bytes::Copy(bytes), fin});
  }
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override {
    Send(ShardParcel::Reset{stream, code});
  }
  void OnStopSending(moqt::StreamId stream, uint64_t code) override {
    Send(ShardParcel::Stopped{stream, code});
  }
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override;
  void OnDelivered(moqt::StreamId stream) override { Send(ShardParcel::Delivered{stream}); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    Send(ShardParcel::DatagramsGone{request, count});
  }
  void OnDatagram(std::span<const std::byte> bytes) override {
    Send(ShardParcel::Datagram{Bytes::Copy(bytes)});
  }
  void OnStreamsAllowed(uint64_t bidi_total) override { Send(ShardParcel::Allowed{bidi_total}); }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    Send(ShardParcel::Closed{code, std::string(reason)});
  }
  std::optional<moqt::TransportAction> NextAction() override;

 private:
  template <typename What>
  void Send(What what) {
    TellSent();
    bridge_->Send({guest_, std::move(what)});
  }
  // What was sent and has not been told.
  void TellSent();
  void SendSent(moqt::StreamId stream, uint64_t bytes);
  void NoteGone(moqt::StreamId stream, uint64_t bytes);

  RemoteParts* parts_;
  size_t shard_;
  uint64_t guest_;
  LoopBridge<ShardParcel>* bridge_;
  std::function<void()> poke_;
  std::deque<moqt::TransportAction> actions_;
  std::unordered_map<moqt::StreamId, uint64_t> unsent_;  // What the session has handed over,
  uint64_t unsent_bytes_ = 0;                            // of all streams.
  std::unordered_map<moqt::StreamId, uint64_t> untold_;  // What of it was sent.
  uint64_t untold_bytes_ = 0;
  LoopTimer tell_;
  bool may_open_more_ = true;
};

}  // namespace kvcast
