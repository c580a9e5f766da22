#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/frame.h"

namespace kvcast::moqt {

// A request of the peer's that concerns every session on its connection, since it names a prefix
// and no track: each answers, and the peer hears one answer.
//
// It is accepted if all accept it, and refused if one does not, when the others are told that it
// was cancelled. Of what they tell later, a namespace is told once however many know it, and
// withdrawn when the last one does.
class SharedRequest {
 public:
  SharedRequest(const Codec& codec, MessageKind kind, size_t parts, size_t home);

  // What the peer sent on the request's stream, its first message included.
  void OnInput(std::span<const std::byte> bytes);
  // What a session sends in answer, or that it gives its half of the stream up.
  void OnSend(size_t part, const Bytes& bytes, bool fin);
  void OnReset(size_t part, uint64_t code);
  // So many of the bytes that were to be sent have been.
  void OnBytesSent(uint64_t bytes);

  struct Send {
    Bytes bytes;
    bool fin;
  };
  struct Reset {
    uint64_t code;
  };
  // What the session has sent waits no longer.
  struct Sent {
    size_t part;
    uint64_t bytes;
  };
  // The session is to take it for cancelled.
  struct Cancel {
    size_t part;
  };
  using Step = std::variant<Send, Reset, Sent, Cancel>;
  // Until there is none, after every input.
  std::optional<Step> Next();
  // Whether the session was told that it is over, and hears no more of it.
  bool cancelled(size_t part) const { return parts_.at(part).cancelled; }

 private:
  struct Part {
    explicit Part(const Codec& codec) : frames(codec) {}
    FrameReader frames;
    std::deque<std::string> waiting;  // Messages that others have to answer first.
    bool fin = false;
    bool refused = false;
    bool cancelled = false;
  };

  MessagePlace place() const { return {Role::kServer, false, kind_, answered_}; }
  bool IsAnswer(const std::string& frame) const;
  bool IsRefusal(const std::string& frame) const;
  void Settle();
  bool PassNotices();
  bool PassAnswer();
  // False: the peer knows it already, or is not to hear of it yet.
  bool IsNews(size_t part, const std::string& frame);
  void Emit(size_t part, const std::string& frame, bool fin);
  void Swallow(size_t part, const std::string& frame);
  void End(size_t by);

  const Codec* codec_;
  MessageKind kind_;
  size_t home_;
  std::vector<Part> parts_;
  FrameReader input_;
  bool begun_ = false;        // The peer's first message has been read.
  std::deque<bool> updates_;  // Of those that wait for an answer, whether they move it.
  bool answered_ = false;     // The request itself.
  bool over_ = false;
  std::map<TrackNamespace, std::set<size_t>> told_;  // And who knows it.
  std::deque<Sent> owed_;                            // Whose bytes the next ones are.
  std::deque<Step> steps_;
};

}  // namespace kvcast::moqt
