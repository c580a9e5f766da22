#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/outbox.h"
#include "kvcast/moqt/received_bytes.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// Decides when the peer may send more, and what of it is read.
//
// A stream gets its credit back as its bytes arrive, until objects that nobody takes have piled up
// behind it; then it stops, and no other stream does. When all that waits in the session passes its
// own limit, the streams of every request stop that has something untaken, and no stream may be
// begun in place of one that is over. Others go on, and so does the connection: what controls the
// session never waits for what is not taken. Nor does what is taken, short of a last limit, see
// full(), and of the streams that the peer may begin: when these are used up, the session ends the
// request that has most untaken.
//
// What streams bring nevertheless, by the credit they have, stays unread: as objects, small ones
// would take many times the memory. And of objects that have begun, only those that are nearest to
// their end get more when there are too many, so that they end and make room for others.
class CreditBook {
 public:
  // `received` counts what waits, and says whether there is room for more, beside these limits.
  CreditBook(const Limits& limits, Outbox& outbox, ReceivedBytes& received)
      : limits_(&limits), outbox_(&outbox), received_(&received) {}

  // A stream of the peer's has begun.
  void Open(StreamId stream) { accounts_[stream].open = true; }
  // The stream brings what this request wants, whose user stops it by not taking.
  void Attach(StreamId stream, RequestId request);
  // Bytes came on a stream.
  void Arrived(StreamId stream, size_t bytes);
  // The stream must wait, whatever arrives: its track is not known yet.
  void Hold(StreamId stream);
  void Release(StreamId stream);
  // The stream is over: the peer sends no more on it, and all that came was read.
  void Close(StreamId stream);

  // Whether the stream's next object is to be read; otherwise its bytes wait until Resume().
  bool MayRead(StreamId stream) const;
  // So much of the stream is unread now.
  void Unread(StreamId stream, size_t bytes);
  // Of the stream's object that has begun so much memory is held, and so many bytes are to come.
  void Begun(StreamId stream, size_t held, uint64_t missing);

  // So much waits to be taken by the request's user, or was taken. Also after the stream is over.
  void Queued(RequestId request, StreamId stream, size_t bytes);
  void Taken(RequestId request, StreamId stream, size_t bytes);
  // To be called after something was taken, until there is none: gives credit to those that may go
  // on, and names one that has bytes unread which may be read.
  std::optional<StreamId> Resume();

  // What waits, read or not.
  size_t untaken_bytes() const { return queued_bytes_ + unread_bytes_; }
  // So much waits that the peer should begin no more streams.
  bool crowded() const { return untaken_bytes() >= limits_->session_queue_bytes; }
  // How often that has ceased to be so.
  uint64_t times_cleared() const { return times_cleared_; }
  // Who has most to take.
  std::optional<RequestId> largest() const;
  // A stream, or a request with what it has to take, and how much of what came waits there.
  struct Heap {
    std::optional<StreamId> stream;
    std::optional<RequestId> request;
    size_t bytes = 0;
  };
  Heap LargestHeap() const;
  // Nothing more should be queued.
  bool full() const { return queued_bytes_ >= limits_->untaken_bytes_max; }

 private:
  // A request whose objects are taken, or not.
  struct Taker {
    size_t queued = 0;
    size_t streams = 0;          // Accounts that name it.
    std::set<StreamId> stopped;  // Those of its streams that wait for somebody to take.
  };
  struct Account {
    uint64_t uncredited = 0;
    size_t queued = 0;
    size_t unread = 0;
    size_t held = 0;       // By an object that has begun,
    uint64_t missing = 0;  // and what it lacks.
    std::optional<RequestId> request;
    Taker* taker = nullptr;
    bool waits = false;  // For its track.
    bool open = true;
    bool favoured = false;  // Its object gets more although too much has begun.
    bool stopped = false;   // It is listed so.
  };
  using Accounts = std::map<StreamId, Account>;

  // Whether objects that were queued let the stream go on, of which it may have so many bytes.
  bool HasRoom(const Account& account, size_t queued_max) const;
  bool MayGoOn(const Account& account) const;
  bool MayCredit(const Account& account) const;
  bool too_much_begun() const {
    return begun_bytes_ >= limits_->partial_bytes || (begun_bytes_ > 0 && received_->scarce());
  }
  void Settle(StreamId stream, Account& account);
  void SetStopped(StreamId stream, Account& account, bool stopped);
  void Erase(Accounts::iterator account);
  void EraseIfIdle(RequestId request);
  // The session was crowded before, and no longer is.
  void NoteIfCleared(bool was_crowded);
  // Chooses the objects that are to end first, in place of those that have.
  void Favour();
  // The first of these that has bytes to be read. The others are settled on the way.
  std::optional<StreamId> ResumeAmong(const std::set<StreamId>& stopped, bool until_crowded);

  const Limits* limits_;
  Outbox* outbox_;
  ReceivedBytes* received_;
  Accounts accounts_;
  std::map<RequestId, Taker> takers_;
  std::set<StreamId> stopped_;          // Of all takers.
  std::set<StreamId> begun_;            // Streams that have an object begun.
  std::vector<StreamId> favourites_;    // Some of those.
  std::optional<RequestId> has_taken_;  // Whose streams Resume() has to look at;
  bool has_room_ = false;               // at all, while the session is not crowded;
  bool has_ground_ = false;             // at all, whatever it is.
  size_t queued_bytes_ = 0;
  size_t unread_bytes_ = 0;
  size_t begun_bytes_ = 0;
  bool was_too_much_begun_ = false;  // When it was last looked.
  uint64_t times_cleared_ = 0;
};

}  // namespace kvcast::moqt
