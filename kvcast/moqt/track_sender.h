#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "kvcast/base/result.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/session_state.h"
#include "kvcast/object/object.h"

namespace kvcast::moqt {

// The publisher's half of a subscription: the streams on which its objects go out.
class TrackSender {
 public:
  TrackSender(RequestId request, SessionState& state) : request_(request), state_(&state) {}

  // Objects may be sent from now on. `parameters` are those that the subscriber or we began with.
  void Begin(uint64_t alias, uint8_t default_priority, const Parameters& parameters);
  // What the subscriber changes later.
  void Update(const Parameters& parameters);

  // Opens a stream; the header's alias is filled in. Not found: the subscription is not open.
  // Invalid: the subscriber does not want objects now.
  Result<StreamId> OpenSubgroup(SubgroupHeader header);
  // Invalid: the object may not be next, see SubgroupWriter. Not found: the stream is over.
  Result<void> Send(StreamId subgroup, const Object& object);
  // All objects of the subgroup were sent.
  Result<void> End(StreamId subgroup);
  // They were not, and will not be.
  Result<void> Reset(StreamId subgroup, ResetCode code);

  // The subscriber wants no more of it.
  bool OnStopped(StreamId subgroup);
  // The subscription is over: streams that are still open are reset.
  void Stop(ResetCode code);

  bool forwarding() const { return open_ && forward_; }
  uint64_t stream_count() const { return stream_count_; }
  std::optional<Location> largest() const { return largest_; }

 private:
  SendOrder OrderOf(const SubgroupHeader& header) const;

  RequestId request_;
  SessionState* state_;
  bool open_ = false;
  bool forward_ = true;
  uint64_t alias_ = 0;
  uint8_t default_priority_ = 128;
  uint8_t subscriber_priority_ = 128;
  GroupOrder order_ = GroupOrder::kAscending;
  std::optional<Location> largest_;
  uint64_t stream_count_ = 0;
  std::map<StreamId, std::unique_ptr<SubgroupWriter>> subgroups_;
};

}  // namespace kvcast::moqt
