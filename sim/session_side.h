#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/moqt/session.h"

namespace kvcast::sim {

// What one side knows of one request, its own or the other side's. Requests are numbered for both
// sides alike, so that the two can be compared.
struct SessionRequest {
  enum class Kind : uint8_t {
    kPublish,
    kSubscribe,
    kFetch,
    kTrackStatus,
    kSubscribeTracks,
    kPublishNamespace,
    kSubscribeNamespace
  };

  // A stream of objects: a subgroup, or the answer to a fetch.
  struct Stream {
    std::vector<moqt::FetchItem> items;
    bool ended = false;  // By FIN.
    bool reset = false;
    // Of a subgroup, as its header says; absent: it is called after its first object.
    uint64_t group = 0;
    std::optional<uint64_t> subgroup;
    uint8_t priority = 0;
  };

  Kind kind = Kind::kPublish;
  bool ours = false;
  bool sends = false;  // We are its publisher.

  bool accepted = false;
  bool refused = false;
  bool cancelled_here = false;
  bool cancelled_there = false;
  bool finished = false;   // It came to its proper end.
  bool given_up = false;   // Not all came that PUBLISH_DONE announced.
  bool published = false;  // PUBLISH_DONE was sent or has come.

  std::map<moqt::StreamId, Stream> streams;
  LocationRange range;  // Of a fetch.
  uint64_t next_group = 0;
  std::set<std::string> spaces;  // Below a prefix: announced and not withdrawn.
  TrackNamespace prefix;
  size_t updates = 0;        // Of ours that wait for an answer.
  bool to_be_taken = false;  // Ended here by refusing an update: what came before is still there.
  bool wound_up = false;     // Cancelled in the end, since it has none of its own.

  bool over() const { return refused || cancelled_here || cancelled_there || finished || given_up; }
  // By us: what we asked for, or a track that is published to us.
  bool may_change() const { return (ours || kind == Kind::kPublish) && accepted && !over(); }
  bool takes() const { return !sends && !given_up && (!cancelled_here || to_be_taken); }
  // "FETCH accepted finished, 3 streams": for whoever looks into a violation.
  std::string ToString() const;
};

// One end of a session, and somebody who uses it at random: asks, answers, sends, takes and
// cancels.
class SessionSide {
 public:
  SessionSide(moqt::Role role, const moqt::Limits& limits, Random& random);

  moqt::Session& session() { return session_; }
  const std::map<moqt::RequestId, SessionRequest>& requests() const { return requests_; }
  // What must not have happened, if it has.
  const std::string& violation() const { return violation_; }
  const std::optional<moqt::SessionClosed>& closed() const { return closed_; }
  // Objects that it has sent and taken.
  uint64_t sent() const { return sent_; }
  uint64_t taken() const { return taken_; }
  // Changes of its requests that were accepted or refused.
  uint64_t updated() const { return updated_; }
  // Requests that its session ended because nobody took what they brought.
  uint64_t put_out() const { return put_out_; }
  // Streams of its own that were reset because they took too long.
  uint64_t late() const { return late_; }

  // Something, or nothing where nothing can be done.
  void Act();
  // Brings everything it takes part in towards its proper end, and takes all that has come.
  void WindUp();
  // Cancels what has no end of its own; false if there is nothing like that.
  bool GiveUp();
  void TakeEvents();
  // It is so late by now.
  void Pass(Instant now) { session_.OnTimeout(now); }

 private:
  using Kind = SessionRequest::Kind;
  using Id = moqt::RequestId;

  void Ask();
  void AskAboutNamespaces(const std::string& name);
  void Join();
  void Update(Id id, SessionRequest& request);
  void OnUpdate(const moqt::UpdateReceived& update);
  void Announce(Id id, SessionRequest& request);
  void Answer(Id id, SessionRequest& request, bool may_refuse);
  void Send(Id id, SessionRequest& request);
  void SendSubgroup(Id id, SessionRequest& request);
  // A group of one object, to its end.
  void SendGroup(Id id, SessionRequest& request);
  void SendFetched(Id id, SessionRequest& request);
  void SendDatagram(Id id, SessionRequest& request);
  void End(Id id, SessionRequest& request);
  void Take(Id id, SessionRequest& request, size_t most);
  void Cancel(Id id, SessionRequest& request);
  bool MaySend(Id id, const SessionRequest& request) const;
  Object MakeObject(Location location);

  void Got(SessionRequest& request, const moqt::Received& received);
  void On(const moqt::Event& event);
  // Those that begin a request of the other side's; false for all else.
  bool OnRequest(const moqt::Event& event);
  void OnAnswer(const moqt::Event& event);
  SessionRequest& Begin(Id id, Kind kind, bool ours, bool sends);
  // Those that `wanted` likes; null if there is none.
  std::pair<const Id, SessionRequest>* Pick(
      const std::function<bool(const SessionRequest&)>& wanted);
  void Violate(const std::string& what);

  moqt::Session session_;
  Random* random_;
  double takes_;  // How willing it is to take what has come.
  std::map<Id, SessionRequest> requests_;
  std::optional<moqt::SessionClosed> closed_;
  std::string violation_;
  uint64_t names_ = 0;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
  uint64_t updated_ = 0;
  uint64_t put_out_ = 0;
  uint64_t late_ = 0;
};

}  // namespace kvcast::sim
