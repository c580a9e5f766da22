#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// Lays payloads out as a track: so many objects to a group, over so many subgroups.
//
// Every subgroup is a stream of its own. Whether a subgroup has the last object of its group must
// be said when it begins, so with several of them it is said only where the number of objects is
// known.
class TrackWriter {
 public:
  struct Layout {
    uint64_t first_group = 0;
    uint64_t group_objects = 0;  // 0: all in one group.
    uint64_t subgroups = 1;      // Objects of a group go to them in turn.
    std::optional<uint8_t> priority = {};
    std::optional<uint64_t> count = {};  // Of objects in all, if that is known.
  };
  TrackWriter(moqt::Session& session, moqt::RequestId request, const Layout& layout)
      : session_(&session), request_(request), layout_(layout) {}

  // From now on for another subscription: the track goes on where it stands, on new streams.
  void Continue(moqt::RequestId request);

  Result<void> Send(Bytes payload);
  // Ends the group that is being written. To be called after the last payload.
  Result<void> EndGroup();

  // Where the last object stands; absent before the first.
  std::optional<Location> largest() const { return largest_; }
  // Where the next object will stand.
  Location next() const;
  uint64_t sent() const { return sent_; }
  moqt::RequestId request() const { return request_; }

 private:
  Result<moqt::StreamId> StreamOf(uint64_t subgroup);
  bool HasLastObject(uint64_t subgroup) const;

  moqt::Session* session_;
  moqt::RequestId request_;
  Layout layout_;
  uint64_t sent_ = 0;
  std::optional<Location> largest_;
  std::map<uint64_t, moqt::StreamId> streams_;  // Of the group that is being written.
};

}  // namespace kvcast
