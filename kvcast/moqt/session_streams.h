#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/peer_control.h"
#include "kvcast/moqt/request.h"
#include "kvcast/moqt/request_stream.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/transport.h"
#include "kvcast/moqt/uni_stream.h"

namespace kvcast::moqt {

// The streams of one session, as it thinks of them, see Shape: tells them apart, has those wait
// that cannot be read yet, and forgets those that are over. Calls are as TransportUser says.
class SessionStreams {
 public:
  explicit SessionStreams(SessionState& state) : state_(&state), control_(state) {}

  void OnStreamData(StreamId stream, std::span<const std::byte> bytes, bool fin);
  void OnStreamReset(StreamId stream, uint64_t code);
  void OnStopSending(StreamId stream, uint64_t code);
  void OnBytesSent(StreamId stream, uint64_t bytes);
  void OnDelivered(StreamId stream);
  void OnDatagramsGone(RequestId request, uint64_t count);
  void OnDatagram(std::span<const std::byte> bytes);
  void OnConnectionClosed(uint64_t code, std::string_view reason);
  void OnStreamsAllowed(uint64_t bidi_total) { state_->bidi_allowed = bidi_total; }
  std::optional<TransportAction> NextAction();

  // A control message of the peer's that came on no stream of ours: a shape has it.
  void OnControlFrame(const std::string& frame);
  // One of ours, on a control stream that the first one opens.
  void SendControl(Bytes message);

  // A request of ours was sent: what comes back on its stream is for it.
  void Await(const Request& request);
  // After every input and command: resumes streams that waited, ends those whose request is over.
  void Settle();
  // Forgets a request that is over, and of which nothing waits to be taken.
  void EraseRequest(const Request& request);
  // Gives up on what has waited too long for its track, and when that is due.
  void DropLongWaiting();
  std::optional<Instant> deadline() const;

  // What nobody takes keeps the peer from sending anything else. If that lasts, and somebody waits
  // for other things, the request is ended that has most of it.
  void OnNoRoom();
  void MakeRoom();

  void GiveUpReceived(size_t bytes);

  // Closes the session if there is a fault; false if so.
  bool Check(const Decoded<void>& done);
  void Close(SessionCode code, const std::string& reason);
  bool closed() const { return closed_; }

 private:
  struct WaitingDatagram {
    ObjectDatagram datagram;
    Instant since;
  };

  void OnUniData(StreamId stream, std::span<const std::byte> bytes, bool fin);
  void OnBidiData(StreamId stream, std::span<const std::byte> bytes, bool fin);
  // False if its track is not known yet.
  bool Hand(ObjectDatagram& datagram);
  // Reads what streams have left unread, as far as what was read is taken. False: nothing was.
  bool ReadOn();
  void HandDatagrams();
  void ResumeStreams(const WaitingStreams::Cause& cause);
  void EndRequests();
  void GiveUpUntaken(Request& request);
  std::optional<Instant> room_due() const;
  void ForgetUni(std::map<StreamId, UniStream>::iterator stream);
  void ForgetBidi(std::map<StreamId, RequestStream>::iterator stream);

  SessionState* state_;
  PeerControl control_;
  std::optional<StreamId> our_control_;
  std::map<StreamId, UniStream> unis_;
  std::map<StreamId, RequestStream> bidis_;
  std::vector<WaitingDatagram> waiting_datagrams_;  // In the order they came.
  std::optional<Instant> no_room_since_;            // As long as
  uint64_t times_cleared_ = 0;                      // the credit book still says this.
  bool was_set_up_ = false;
  bool closed_ = false;
};

}  // namespace kvcast::moqt
