#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/digest.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

class DiskIndex;
struct SegmentShare;

// A segment whose room could be had, as a policy sees it.
struct SegmentView {
  uint32_t segment = 0;  // Rises with age falling.
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;  // Of objects that would have to be moved or evicted.
  uint64_t note_bytes = 0;  // Of all else that would have to be moved, whatever goes.
};

// Of a segment that is emptied for its room, so much is moved at most; the rest is evicted.
constexpr uint64_t MovedBytesMax(uint64_t segment_bytes) { return segment_bytes / 5; }

// Decides what a full disk gives up.
class DiskPolicy {
 public:
  virtual ~DiskPolicy() = default;
  // Which segment goes next; absent if none would bring room. REQUIRES: there is one; the oldest
  // comes first.
  virtual std::optional<uint32_t> Victim(std::span<const SegmentView> segments,
                                         const DiskIndex& index) = 0;
  // So many groups, or as many as may go, are no longer worth anything: their number is the
  // trouble, and not their size.
  virtual void CondemnSome(size_t /*groups*/, const DiskIndex& /*index*/) {}
  // Whether a group of that segment is worth being moved, as long as there is room for that.
  // `used`: somebody read it since it was written or moved.
  virtual bool Keep(const TrackName& track, uint64_t group, bool used) = 0;

  // Whether it is moved even beyond that room: its tenant has it reserved.
  virtual bool Owes(const TrackName& /*track*/, uint64_t /*group*/) const { return false; }

  // Of a segment that it has chosen, how much is moved: more than usual where what nothing else has
  // would go for the sake of what a bucket has too.
  virtual uint64_t MovedMax(uint32_t /*segment*/, uint64_t segment_bytes) const {
    return MovedBytesMax(segment_bytes);
  }

  // A tier below has the group, too, or no longer: such groups go before any other.
  virtual void OnSpare(const TrackName& /*track*/, uint64_t /*group*/, bool /*spare*/,
                       const DiskIndex& /*index*/) {}
  virtual bool IsSpare(const TrackName& /*track*/, uint64_t /*group*/) const { return false; }
  // How much room would come if they all went, and little had to be moved for it.
  virtual uint64_t SpareRoom(std::span<const SegmentView> /*segments*/) const { return 0; }

  // What happens to groups, for those who listen. More of a group is here: its records take `bytes`
  // in all.
  virtual bool listens() const { return false; }
  virtual void OnStored(const TrackName& /*track*/, uint64_t /*group*/,
                        const std::optional<Digest>& /*key*/, uint64_t /*bytes*/) {}
  // A record of a group was moved out of a segment, to where the share says.
  virtual void OnMoved(const TrackName& /*track*/, uint64_t /*group*/, uint32_t /*from*/,
                       const SegmentShare& /*to*/) {}
  virtual void OnUsed(const TrackName& /*track*/, uint64_t /*group*/, uint64_t /*object*/) {}
  // It is here no more, or no longer as a whole: because the policy said so, or for another reason.
  virtual void OnGone(const TrackName& /*track*/, uint64_t /*group*/) {}
  virtual void OnTrackGone(const TrackName& /*track*/) {}

  // What it keeps in memory.
  virtual size_t bytes() const { return 0; }
};

// The oldest segment goes, and what was used of it gets a second chance; unless one is mostly dead,
// whose room costs less.
class OldestFirst : public DiskPolicy {
 public:
  std::optional<uint32_t> Victim(std::span<const SegmentView> segments,
                                 const DiskIndex& index) override;
  bool Keep(const TrackName& track, uint64_t group, bool used) override;
};

}  // namespace kvcast
