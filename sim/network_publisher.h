#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/session.h"
#include "sim/network_judge.h"

namespace kvcast::sim {

// Somebody who publishes one track to one node of a simulated network: whole, and from its start
// again whenever its session was lost. Who is to keep it says so on a track of its own.
class NetworkPublisher {
 public:
  NetworkPublisher(const NetworkTrack& track, size_t node, uint64_t version, NetworkJudge& judge)
      : track_(&track), node_(node), version_(version), judge_(&judge) {}

  size_t node() const { return node_; }
  size_t track() const { return track_->number(); }
  uint64_t version() const { return version_; }
  bool attached() const { return session_ != nullptr; }
  void Attach(moqt::Session& session);
  void Detach();

  // Sends a little more, if there is room.
  void Act(Random& random);
  // What the node says. `promises`: what it acknowledges is to be held against it. False: the
  // session is over.
  bool Take(bool promises);
  // All was sent, and the node has heard of it.
  bool done() const { return ended_; }
  // Once it is done: from the beginning.
  void Again() { ended_ = refused_ = false; }
  // The node wanted no more of it: to be tried again on another session.
  bool refused() const { return refused_; }

  // What it was last told, for a person.
  const std::string& last_word() const { return last_word_; }

  Instant retry_at{};

 private:
  struct Open {
    moqt::StreamId stream = 0;
    uint64_t group = 0;
    uint64_t sent = 0;
  };

  void Begin();
  void OpenGroup(Random& random);
  void Send(size_t which);
  void OnEvent(const moqt::Event& event);
  void Refuse(moqt::RequestId request, const std::string& word);
  void TakeAcks(bool promises);

  const NetworkTrack* track_;
  size_t node_;
  uint64_t version_;
  NetworkJudge* judge_;
  moqt::Session* session_ = nullptr;
  std::optional<moqt::RequestId> request_;
  std::optional<moqt::RequestId> acks_;
  std::vector<uint64_t> left_;
  std::vector<Open> open_;
  bool accepted_ = false;
  bool ended_ = false;
  bool refused_ = false;
  bool closed_ = false;
  std::string last_word_ = "nothing";
};

}  // namespace kvcast::sim
