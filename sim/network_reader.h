#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "sim/network_judge.h"

namespace kvcast::sim {

// Somebody who fetches and follows tracks at one node of a simulated network, over one session
// after another, and has what comes judged.
class NetworkReader {
 public:
  NetworkReader(size_t node, NetworkJudge& judge) : node_(node), judge_(&judge) {}

  size_t node() const { return node_; }
  bool attached() const { return session_ != nullptr; }
  void Attach(moqt::Session& session) { session_ = &session; }
  // The session is over: so is everything that was asked for on it.
  void Detach();

  // Asks for something at random.
  void Act(Random& random, const std::vector<NetworkTrack>& tracks);
  // Wants the oldest fetch no more; false: there is none.
  bool Cancel();
  // A whole track, or one group of it; lacking() tells what came of it.
  void FetchAll(const NetworkTrack& track);
  void FetchGroup(const NetworkTrack& track, uint64_t group);
  // What has come, from this life of the node. False: the session is over.
  bool Take(const NetworkJudge::Server& server);

  bool idle() const { return fetches_.empty(); }
  // Of the last fetch that came to its end: how many objects it lacks; absent if it was refused, or
  // ended before its time.
  std::optional<size_t> lacking() const { return lacking_; }

  // What it was last told, for a person.
  const std::string& last_word() const { return last_word_; }

  bool stalled = false;  // It takes nothing.
  Instant retry_at{};

 private:
  struct Fetch {
    NetworkJudge::FetchedRange range;
    std::optional<moqt::FetchOk> ok;
    std::vector<moqt::FetchItem> items;
    std::optional<moqt::FetchEnd> end;
  };
  struct Subscription {
    size_t track = 0;
    std::map<moqt::StreamId, Location> last;  // That came, of each stream.
    bool over = false;
  };

  void Ask(const NetworkTrack& track, const LocationRange& range, moqt::GroupOrder order);
  void Follow(const NetworkTrack& track);
  void OnEvent(const moqt::Event& event);
  void TakeFetch(moqt::RequestId request, Fetch& fetch, const NetworkJudge::Server& server);
  void TakeSubscription(moqt::RequestId request, Subscription& subscription,
                        const NetworkJudge::Server& server);
  void End(moqt::RequestId request);

  size_t node_;
  NetworkJudge* judge_;
  moqt::Session* session_ = nullptr;
  bool closed_ = false;
  std::map<moqt::RequestId, Fetch> fetches_;
  std::map<moqt::RequestId, Subscription> subscriptions_;
  std::optional<size_t> lacking_;
  std::string last_word_ = "nothing";
};

}  // namespace kvcast::sim
