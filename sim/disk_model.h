#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast::sim {

// What a disk tier was told and what it promised, so that any state of its disk can be held to it.
//
// What stands under a name never changes: it follows from the name alone.
class DiskModel {
 public:
  static constexpr uint64_t kTracks = 3;
  static constexpr uint64_t kGroups = 6;
  static constexpr uint64_t kObjects = 4;
  // Of a tenant by itself, who may have reserved room for all of it.
  static constexpr uint64_t kReserved = 2;
  static constexpr const char* kReserver = "reserver";

  struct Name {
    uint64_t track = 0;
    Location location;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Promise {
    uint64_t put = 0;      // When it was last asked for, in operations; 0: never.
    uint64_t removed = 0;  // The same of its removal.
    bool here = false;     // It must be found.
    bool gone = false;     // It must not be found.
  };

  DiskModel();

  static TrackName Track(uint64_t track);
  static Object ObjectOf(const Name& name);
  static Properties PropertiesOf(uint64_t track);
  // Every name there is.
  const std::vector<Name>& names() const { return names_; }
  const Promise& promise(const Name& name) const { return promises_.at(name); }
  bool described(uint64_t track) const { return described_[track]; }
  std::optional<Location> largest(uint64_t track) const { return largest_[track]; }

  void OnPut(TierTicket ticket, const Name& name);
  void OnRemove(TierTicket ticket, uint64_t track, std::optional<uint64_t> group);
  void OnDescribe(TierTicket ticket, uint64_t track);
  void OnWritten(const TierWritten& written);
  void OnEvicted(const EvictedGroup& evicted);
  // Nobody waits for anything any more.
  void OnRestart() { asked_.clear(); }

  // Empty, or how what was found differs from what was put. `found` absent: not found.
  static std::string Differs(const Name& name, const std::optional<StoredObject>& found);

 private:
  enum class Kind : uint8_t { kPut, kRemove, kDescribe };
  struct Asked {
    Kind kind = Kind::kPut;
    uint64_t operation = 0;
    Name name;
    std::optional<uint64_t> group;
  };
  // Those of a track, or of one of its groups.
  std::vector<Name> NamesOf(uint64_t track, std::optional<uint64_t> group) const;

  std::vector<Name> names_;
  std::map<Name, Promise> promises_;
  std::map<TierTicket, Asked> asked_;
  std::vector<bool> described_ = std::vector<bool>(kTracks);
  std::vector<uint64_t> track_removed_ = std::vector<uint64_t>(kTracks);
  std::vector<std::optional<Location>> largest_ = std::vector<std::optional<Location>>(kTracks);
  uint64_t operations_ = 0;
};

}  // namespace kvcast::sim
