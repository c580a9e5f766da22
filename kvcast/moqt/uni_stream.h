#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/partial_bytes.h"
#include "kvcast/moqt/peer_control.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/moqt/unread_bytes.h"
#include "kvcast/moqt/waiting_bytes.h"

namespace kvcast::moqt {

// A one-way stream of the peer's: its type says what it brings. Objects go to the request that they
// are for; a stream whose track is not known yet waits for it, without credit. One whose objects
// nobody takes is read no further than to the end of the object that has begun.
class UniStream {
 public:
  UniStream(StreamId stream, SessionState& state, PeerControl& control)
      : stream_(stream),
        state_(&state),
        control_(&control),
        waiting_(stream, state),
        partial_(state),
        kind_(Untold{OpeningReader(state.codec)}) {}

  Decoded<void> OnData(std::span<const std::byte> bytes, bool fin);
  Decoded<void> OnReset(uint64_t code);
  // What it waits for may have come.
  Decoded<void> Resume();
  // What came before may have been taken. REQUIRES: CreditBook::Resume() has named it.
  Decoded<void> ReadOn();
  // Nobody wants what it brings.
  void Refuse(uint64_t code);

  bool waiting() const { return waiting_.waiting(); }
  // The peer sends no more on it, and all that it sent was read.
  bool over() const { return over_ && !waiting() && unread_.empty(); }

 private:
  struct Untold {
    OpeningReader opening;
  };
  struct Control {
    FrameReader frames;
  };
  struct Subgroup {
    SubgroupHeader header;
    std::unique_ptr<SubgroupReader> reader;
    std::optional<uint64_t> last{};  // The last object that came.
    std::optional<Instant> since{};  // When the first byte of the next one came.
  };
  struct FetchData {
    RequestId request;
    std::unique_ptr<FetchReader> reader;  // Once the request is known.
  };
  struct Discarded {};  // Padding, or what nobody wants.

  Decoded<void> Run(std::span<const std::byte> bytes);
  Decoded<void> Read(std::span<const std::byte>& bytes);
  Decoded<void> ReadOpening(Untold& untold, std::span<const std::byte>& bytes);
  Decoded<void> ReadControl(Control& control, std::span<const std::byte>& bytes);
  Decoded<void> ReadSubgroup(Subgroup& subgroup, std::span<const std::byte>& bytes);
  Decoded<void> ReadFetch(FetchData& fetch, std::span<const std::byte>& bytes);
  Decoded<bool> FindTrack(const Subgroup& subgroup, std::span<const std::byte>& bytes);
  Decoded<bool> FindFetch(FetchData& fetch, std::span<const std::byte>& bytes);
  // False if the stream has to stop here, as nobody takes what came before.
  bool MayReadObject(bool between_objects, std::span<const std::byte>& bytes);
  Decoded<void> OnFin();
  size_t held_bytes() const;
  uint64_t missing_bytes() const;
  SubgroupEnd EndOf(const Subgroup& subgroup, bool complete) const;
  // Tells the request that the stream is over.
  void EndData(bool complete, uint64_t code);
  void Wait(std::span<const std::byte>& bytes);
  class Request* request() const;

  StreamId stream_;
  SessionState* state_;
  PeerControl* control_;
  WaitingBytes waiting_;
  UnreadBytes unread_;
  PartialBytes partial_;
  std::variant<Untold, Control, Subgroup, FetchData, Discarded> kind_;
  std::optional<RequestId> request_;
  bool fin_ = false;
  bool over_ = false;
};

}  // namespace kvcast::moqt
