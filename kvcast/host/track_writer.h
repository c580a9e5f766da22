#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

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
  // Nothing outside this range is sent from now on; all is, unless this is said. What is open of it
  // is broken off.
  void Want(const LocationRange& wanted);

  // All of the range was written, and nothing of it can follow.
  bool is_past_range() const { return next().group > wanted_.last.group; }

  // Too large: there is no number left for its group.
  Result<void> Send(Bytes payload);
  // Ends the group that is being written. To be called after the last payload.
  Result<void> EndGroup();

  // Where the last object stands, sent or not; absent before the first.
  std::optional<Location> largest() const { return largest_; }
  // Where the next object will stand.
  Location next() const;
  // How many objects have been written, those included that nobody wanted.
  uint64_t sent() const { return sent_; }
  uint64_t unwanted() const { return unwanted_; }
  moqt::RequestId request() const { return request_; }

 private:
  Result<moqt::StreamId> StreamOf(uint64_t subgroup);
  bool HasLastObject(uint64_t subgroup) const;
  void Reset(moqt::StreamId stream);
  Result<void> SendWanted(const Object& object);

  moqt::Session* session_;
  moqt::RequestId request_;
  Layout layout_;
  LocationRange wanted_{{0, 0}, {LocationRange::kWholeGroup, LocationRange::kWholeGroup}};
  uint64_t sent_ = 0;
  uint64_t unwanted_ = 0;
  std::optional<Location> largest_;
  std::map<uint64_t, moqt::StreamId> streams_;  // Of the group that is being written.
  std::set<uint64_t> cut_;  // Its subgroups that lack what was beyond the range's end.
};

}  // namespace kvcast
