#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kvcast/base/log.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/audience.h"
#include "kvcast/relay/fetch_progress.h"
#include "kvcast/relay/limits.h"
#include "kvcast/relay/relay_metrics.h"
#include "kvcast/relay/stock.h"
#include "kvcast/relay/upstream_trial.h"

namespace kvcast::relay {

// What fetches of peers have others asked for: at most one fetch of ours is under way for any
// object, however many wait for it. What comes is kept, and told to those who stand before it, one
// item at a time; where there is no room to keep it, they get it all the same.
//
// Who was asked and refuses, leaves, or brings nothing for a while is followed by the next who may
// have it; when there is none, those who wait are told that nobody knows. What one does not know
// the next is asked for by a fetch of its own, a branch, while the first goes on with the rest.
// Each is asked for a place once, and who waits there has patience for all of them together. What
// is taken stays within a bound ahead of the foremost who waits: where all are slow, the one who
// sends is slowed down.
class UpstreamFetches {
 public:
  // `session_of`: of a peer that may be asked; null if it has gone.
  using SessionOf = std::function<moqt::Session*(PeerId)>;
  // What it is called, for whoever wants to know who was asked.
  using NameOfPeer = std::function<std::string(PeerId)>;
  UpstreamFetches(const Limits& limits, RelayMetrics& metrics, Stock& stock, const Log& log,
                  SessionOf session_of, NameOfPeer name_of);

  // A range that somebody stands before, and whom to ask for it, the best first.
  struct Wish {
    TrackName track;
    LocationRange range;
    moqt::GroupOrder order = moqt::GroupOrder::kAscending;
    std::vector<PeerId> sources;
    std::optional<uint8_t> priority;   // Of the fetch that wants it.
    std::optional<Duration> patience;  // Less than others have, if it is.
  };
  // Makes sure that the beginning of the range is on its way; false if nobody can be asked. Whoever
  // asked for something else before wants that no more.
  bool Ask(SubscriberId asker, const Wish& wish, Instant now);
  // Where the asker is by now, and that it waits for nothing: what lies before, it needs no more.
  void OnProgress(SubscriberId asker, Location at);
  void Leave(SubscriberId asker);
  bool Has(const TrackName& track) const { return by_track_.contains(track); }

  // Up to where a track goes at least, as those have said who are being asked.
  std::optional<moqt::FetchOk> LastTold(const TrackName& track) const;

  // What sessions say of requests of ours. False: it is none.
  bool OnAccepted(PeerId peer, const moqt::FetchAccepted& event, Instant now);
  bool OnRefused(PeerId peer, moqt::RequestId request, const moqt::RequestError& error,
                 Instant now);
  bool OnReady(PeerId peer, moqt::RequestId request);
  void OnPeerGone(PeerId peer, Instant now);
  // A session has taken the place of one that is leaving: what that does not bring it is asked for,
  // and what was put off until now.
  void OnMoved(PeerId from, PeerId to, Instant now);
  // Whether anything that it was asked for is under way.
  bool IsAsking(PeerId peer) const;
  void OnTime(Instant now);
  std::optional<Instant> deadline() const;
  // Nobody waits for more of the track, for this reason: it is malformed, or was forgotten.
  void Drop(const TrackName& track, const moqt::RequestError& reason);
  std::vector<TrackName> Tracks() const;

  // What becomes of what was asked for, to be taken after every input.
  struct Answered {  // The end of what was asked for is known; `exact`: the track's largest is.
    SubscriberId asker;
    bool exact = false;
  };
  struct Came {  // An object that the asker stood before.
    SubscriberId asker;
    Object object;
  };
  struct Settled {  // No more comes up to here than has: there is `nothing`, or nobody knows.
    SubscriberId asker;
    Location through;
    bool nothing = false;
    std::vector<UpstreamTrial> trials{};  // Where nobody knows: who was asked.
  };
  struct Failed {  // Nobody has it, or nobody answers.
    SubscriberId asker;
    moqt::RequestError error;
    std::vector<UpstreamTrial> trials{};
  };
  struct Silent {  // Who was asked brought nothing for too long, whoever is asked now.
    SubscriberId asker;
    PeerId peer;
  };
  struct Kept {  // An object that was not here before, whoever asked for it.
    TrackName track;
    Location location;
  };
  struct Contradicted {
    TrackName track;
    PeerId peer;
    std::string reason;
  };
  using Outcome = std::variant<Answered, Came, Settled, Failed, Silent, Kept, Contradicted>;
  // Takes one thing that has come, if there is any; false if not.
  bool TakeOne(Instant now);
  std::vector<Outcome> TakeOutcomes() { return std::exchange(outcomes_, {}); }
  std::set<PeerId> TakeTouched() { return std::exchange(touched_, {}); }

 private:
  using FetchId = uint64_t;
  struct Asker {
    FetchId fetch = 0;
    std::vector<PeerId> sources;
    moqt::GroupOrder order = moqt::GroupOrder::kAscending;
    std::optional<LocationRange> waits_for;
    Instant give_up_at;
    Instant looked_at;  // As it stands in patience_.
  };
  struct Fetch {
    Fetch(TrackName name, const FetchProgress& to_come)
        : track(std::move(name)), progress(to_come) {}

    FetchId id = 0;
    TrackName track;
    FetchProgress progress;
    Location asked_last;  // As it was asked for, before anything was said of the end.
    std::optional<uint8_t> priority;
    std::deque<PeerId> next;   // Whom to ask if this one fails, or does not know.
    std::set<PeerId> tried{};  // Who was asked for all of it, the one who is being asked included.
    FetchId branch_of = 0;     // Those who wait for it go back there when it is over.
    bool unknown = false;      // It is a branch, for who was asked there does not know.
    size_t branches = 0;       // While there are any it is wanted, whoever waits.
    PeerId peer = 0;
    moqt::RequestId request = 0;
    // The peer is leaving, and was not asked: who takes its place is to be, if it comes soon.
    bool put_off = false;
    bool was_put_off = false;
    bool peer_leaves = false;  // It has refused because of that.
    std::string asked_of{};    // The peer's, and since when it is asked.
    Instant asked_at{};
    std::vector<UpstreamTrial> trials{};  // Those before it.
    std::optional<moqt::FetchOk> answer;
    bool goes_beyond = false;  // Who is asked knows less of the track, and is yet to be heard.
    std::optional<moqt::RequestError> refusal;  // The best of those given.
    std::set<SubscriberId> askers;
    std::deque<std::pair<Location, size_t>> ahead;  // Of the foremost asker, and how many bytes.
    size_t ahead_bytes = 0;
    bool paused = false;  // Too much is ahead.
    Instant silent_until;
    Instant looked_at;  // As it stands in silence_.
  };
  using Fetches = std::map<FetchId, Fetch>;

  Fetch* Coming(const TrackName& track, Location at);
  std::optional<LocationRange> Uncovered(const Wish& wish) const;
  bool Begin(SubscriberId asker, const Wish& wish, Instant now);
  // Asks the next who may have what is left; false if nobody is.
  bool AskNext(Fetch& fetch, Instant now);
  // Nobody can be asked, but one of these is leaving, and another session may take its place.
  bool PutOff(Fetch& fetch, const std::vector<PeerId>& peers, Instant now);
  void Add(FetchId id, Fetch fetch);
  void Join(SubscriberId asker, FetchId id, const Wish& wish, Instant now);
  static void AddSources(Fetch& fetch, const std::vector<PeerId>& sources);
  void Fail(FetchId id, UpstreamTrial::Outcome outcome, Instant now);
  void AskOn(FetchId id, Instant now);
  // Those who were asked so far, and what became of the last.
  static std::vector<UpstreamTrial> TrialsOf(const Fetch& fetch, UpstreamTrial::Outcome outcome,
                                             Instant now);
  void Advance(FetchId id, Location at);
  void Forget(SubscriberId asker);
  void Cancel(Fetch& fetch, moqt::ResetCode code);
  // The fetch that it is a branch of may be gone afterwards, too.
  void Erase(FetchId id);
  void EraseUnwanted(FetchId id);
  void Contradict(FetchId id, const Error& error);

  // What came: the fetch may be gone afterwards.
  Result<void> TakeObject(Fetch& fetch, const Object& object, Instant now);
  Result<void> TakeGaps(const TrackName& track, const std::vector<LocationRange>& gaps,
                        Instant now);
  Result<void> TakeGap(const TrackName& track, const LocationRange& gap, Instant now);
  std::optional<uint64_t> EndBefore(const TrackName& track, Location from);
  void OnEnd(FetchId id, const moqt::FetchEnd& end, Instant now);
  // Tells those who waited for what has passed: up to an object, or where there is nothing.
  void TellPassed(Fetch& fetch, const Object* object);

  // What who is asked does not know, upstream_fetch_branches.cc: those who waited for it wait for
  // the next who may, or are told that nobody knows.
  void OnUnknown(FetchId id, Instant now);
  bool Branch(SubscriberId asker, FetchId id, Location through, Instant now);
  void MoveTo(SubscriberId asker, FetchId id);
  // The fetch is over for the asker, which goes back to where it came from.
  void Dismiss(SubscriberId asker, FetchId id);
  // Makes the rest of the group at which a descending one stands a branch: what is left is then one
  // range each.
  std::optional<FetchId> SplitOff(FetchId id);
  // Who had no answer is not asked for what else those do not know whom it was to help.
  void NoteFailed(const Fetch& fetch);

  const Limits* limits_;
  RelayMetrics* metrics_;
  Stock* stock_;
  Log log_;
  SessionOf session_of_;
  NameOfPeer name_of_;
  FetchId last_id_ = 0;
  Fetches fetches_;
  std::map<TrackName, std::set<FetchId>> by_track_;
  std::map<std::pair<PeerId, moqt::RequestId>, FetchId> by_request_;
  std::map<SubscriberId, Asker> askers_;
  std::set<FetchId> ready_;
  std::set<std::pair<Instant, FetchId>> silence_;
  std::set<std::pair<Instant, SubscriberId>> patience_;
  std::vector<Outcome> outcomes_;
  std::set<PeerId> touched_;
};

}  // namespace kvcast::relay
