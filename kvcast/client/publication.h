#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/client/ack_follower.h"
#include "kvcast/client/block_supply.h"
#include "kvcast/client/durable_check.h"
#include "kvcast/client/node_holdings.h"
#include "kvcast/client/track_kind.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// Why not every block of a publication is held by the node.
enum class PublishFault : uint8_t {
  kRefused,       // The node would not have it.
  kNodeLost,      // The session to the node ended.
  kPatienceOver,  // Nothing moved for too long.
  kCancelled,     // The caller gave up.
  kNotKept,       // The node listed every block and has dropped some again.
  kNotDurable,    // The node could not make it as durable as was asked.
};

std::string_view ToString(PublishFault fault);

// How far a publication has come, and how it ended.
struct PublishReport {
  size_t blocks = 0;   // Of the prompt.
  size_t skipped = 0;  // The node held them already.
  size_t sent = 0;     // Handed to the session as a whole.
  size_t listed = 0;   // Of those sent: the node's catalog has listed them, at some time.
  size_t durable = 0;  // Of those sent: acknowledged as durable as was asked, or more so.
  // The least that an acknowledgement has named of any block. Absent: nobody has asked, so nobody
  // has said; a node that has a disk may have put it there all the same.
  std::optional<Durability> reached;
  uint64_t bytes = 0;  // Of payload handed to the session.
  std::optional<PublishFault> fault;
  std::string reason;  // A sentence for a person; empty if there is no fault.

  // Of one that found no node.
  static PublishReport NodeLost(size_t blocks, const std::string& why);

  friend bool operator==(const PublishReport&, const PublishReport&) = default;
};

// One act of publishing under way: offers a track, sends the blocks that the node does not hold,
// and is done when the node's catalog lists them all.
//
// Blocks may still be being computed when it begins: each is sent once it is ready. The track is
// offered with the first of them, and ends with the last, or when no more are to come. A block that
// somebody else has published meanwhile is left out.
//
// Blocks are encoded by jobs, a bounded number of bytes ahead of what is sent, and sent in their
// order as the session has room: no more than its high mark and that bound wait, however long the
// prompt is. The node is asked first: one that refuses costs no encoding, and nobody waits for a
// publication. What the node's filter leaves out is not sent, nor anything while it wants nothing.
//
// Reads the engine's memory until over(), on whatever thread; destroying it, or Cancel(), ends that
// at once, but for jobs that are being run: it waits for those.
class Publication {
 public:
  struct Offer {
    TrackKind kind;
    Generation generation{};
    std::vector<BlockHash> blocks;        // Of the whole prompt.
    std::unique_ptr<BlockSupply> supply;  // With all of them.
    // What the blocks are to reach. Where that is more than memory, a block that the node holds is
    // left out only if the node says that it is as durable.
    Durability durability = Durability::kMemory;
    Instant deadline = Instant::max();  // It is over by then, started or not.
    size_t ready = SIZE_MAX;            // Blocks that can be read from the beginning.
  };

  // `patience` is how long it waits for the node to do anything. REQUIRES: as many blocks as the
  // supply has. Session, holdings and acks must outlive it.
  Publication(moqt::Session& session, const NodeHoldings& held, AckFollower& acks, Offer offer,
              Duration patience);
  ~Publication();
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

  // Once it is known what the node holds: decides what to send, and asks.
  void Start(Instant now);
  bool started() const { return state_ != State::kNew; }
  // The first so many blocks can be read now, and are sent. Only ever more.
  void Ready(size_t blocks, Instant now);
  // No more than those that are ready will be: the rest is not published.
  void Close(Instant now);

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const { return request_ == request; }
  void OnEvent(const moqt::Event& event, Instant now);
  // After every input: bytes may have left, jobs may be done, and node and index may say something
  // else than before.
  void Look(Instant now);
  void OnNodeLost(const std::string& reason);
  void OnTimeout(Instant now);
  void Cancel();

  bool over() const { return state_ == State::kOver; }
  // Absent once it is over.
  std::optional<Instant> deadline() const;
  const PublishReport& report() const { return report_; }
  // What became of each block; final once it is over.
  enum class Standing : uint8_t { kOpen, kWasHeld, kStands, kGone };
  std::vector<Standing> Standings() const;

 private:
  enum class State : uint8_t {
    kNew,
    kChecking,
    kDecided,
    kPreparing,
    kAsking,
    kSending,
    kSent,
    kOver
  };

  bool asks_durability() const { return offer_.durability != Durability::kMemory; }
  // The node has done all that it was given to do: what is missing is blocks to send.
  bool IsWaitingForBlocks() const;
  // By the node that it is published to.
  bool IsHeld(size_t block) const { return held_->Has(offer_.kind, offer_.blocks[block]); }
  // Asks how durable what the node holds is, before it is decided what to send.
  void Check(Instant now);
  void Decide();
  void LeaveOutHeld();
  // Once it is known how blocks are coded, which may take jobs.
  void Ask();
  void AskNode();
  void FollowAcks();
  void TakeAcks(Instant now);
  void OnAck(const AckRecord& record);
  void LeaveAcks();
  void Reach(Durability level);
  // What the node wants of the track now, and whether it wants it now.
  void Want(const moqt::Parameters& parameters);
  // The first token of the first object that it wants of a block; absent if it wants none.
  std::optional<uint32_t> FirstWanted(size_t block) const;
  void Send(Instant now);
  // The next block was published by somebody else while it was computed here.
  bool IsNextHeld() const;
  // False if the session would not take more, not now, or not at all; or if it is being made.
  bool SendObject();
  // So that what is sent next is made by then.
  void LookAhead();
  bool OpenBlock();
  void End();
  void BeOver();
  void Finish();
  void Fail(PublishFault fault, std::string reason);

  moqt::Session* session_;
  const NodeHoldings* held_;
  AckFollower* acks_;
  const Offer offer_;
  const TrackName track_;
  const Duration patience_;

  State state_ = State::kNew;
  bool decided_ = false;  // What to send.
  size_t ready_ = 0;      // Blocks that can be read,
  size_t end_ = 0;        // and those that there will be.
  std::optional<moqt::RequestId> request_;
  std::optional<DurableCheck> check_;          // Of what the node holds,
  std::map<size_t, Durability> durable_held_;  // and what came of it.
  // Where it is told what of this track is durable, and how much of that was looked at.
  std::optional<TrackName> ack_track_;
  size_t acks_seen_ = 0;
  std::set<size_t> reached_;         // Blocks that are as durable as they are to be.
  std::vector<size_t> missing_;      // Blocks to be sent.
  size_t next_ = 0;                  // Of them.
  std::vector<size_t> sent_;         // Of them, those that were as a whole.
  LocationRange wanted_;             // By the node,
  bool forward_ = true;              // if it wants anything now.
  std::optional<Location> largest_;  // That was sent.
  bool block_open_ = false;          // The next one is being sent.
  bool making_ = false;              // What is to be sent next is being encoded.
  moqt::StreamId subgroup_ = 0;
  uint32_t first_token_ = 0;  // Of it, on its stream.
  uint32_t next_token_ = 0;
  Instant last_progress_;
  size_t queued_bytes_ = 0;  // That waited to be sent when last looked at.
  std::set<size_t> gone_;    // Blocks that the node had dropped again at the end.
  PublishReport report_;
};

}  // namespace kvcast
