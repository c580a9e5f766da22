#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// Follows the tracks on which a node tells what is durable: each once, however many publications
// want to know. One that nobody wants any more is followed a moment longer, since who comes next
// may want the same, and a session has no room for two that cross.
class AckFollower {
 public:
  static constexpr Duration kLinger = std::chrono::seconds(2);
  // Of one track, before it is given up: a node that tells so much tells nonsense.
  static constexpr size_t kRecordsMax = 65'536;

  // The session must outlive it.
  explicit AckFollower(moqt::Session& session) : session_(&session) {}
  ~AckFollower();
  AckFollower(const AckFollower&) = delete;
  AckFollower& operator=(const AckFollower&) = delete;

  // Follows it until as many have left. Fails where the session takes no more requests.
  Result<void> Join(const TrackName& ack_track);
  void Leave(const TrackName& ack_track);

  bool Owns(moqt::RequestId request) const { return FindBy(request) != tracks_.end(); }
  void OnEvent(moqt::RequestId request, const moqt::Event& event);
  void OnNodeLost();
  // After every input, and when the deadline has come.
  void Settle(Instant now);
  std::optional<Instant> deadline() const;

  // REQUIRES, of both: who asks has joined. All that was told there so far, in order.
  std::span<const AckRecord> Told(const TrackName& ack_track) const;
  // Why nothing more will be told; empty while something may.
  const std::string& Over(const TrackName& ack_track) const;

 private:
  struct Track {
    std::optional<moqt::RequestId> request;  // Absent once it is over.
    size_t users = 0;
    std::optional<Instant> idle_since{};
    std::vector<AckRecord> told{};
    std::string over{};
  };
  using Tracks = std::map<TrackName, Track>;

  Tracks::const_iterator FindBy(moqt::RequestId request) const;
  void Take(Track& track);
  void End(Track& track, std::string why);

  moqt::Session* session_;
  Tracks tracks_;
};

}  // namespace kvcast
