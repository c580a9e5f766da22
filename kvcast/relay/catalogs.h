#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/forget_list.h"
#include "kvcast/catalog/writer.h"
#include "kvcast/object/object.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/limits.h"

namespace kvcast::relay {

// New objects of one catalog.
struct CatalogChange {
  TrackName track;
  bool is_new = false;                  // The catalog has come to be,
  bool is_over = false;                 // or is no more: it listed nothing, and others need room.
  std::optional<uint64_t> ended_epoch;  // Superseded: nobody needs its objects any more.
  std::vector<Object> objects;
};

// The catalogs of one run of a node: one per scope, which is the first two fields of the listed
// tracks' namespaces. One that is empty stays until another needs its room; if it comes again, it
// does so with later epochs, and so no location has two objects.
//
// A tenant may have as many as it leaves to others, those not counted that are empty.
class Catalogs {
 public:
  Catalogs(const NodeId& node, const BootId& boot, const Limits& limits)
      : node_(node), boot_(boot), limits_(&limits) {}

  // Whether a track's blocks can be listed at all.
  static bool CanList(const TrackName& track) {
    return track.space().field_count() >= 4 && CatalogTrack::CanHave(track.space().First(2));
  }
  // Whether the name is one that only this node may write, in this run or another.
  bool IsOurs(const TrackName& track) const;

  // False: there is no room, for another catalog or in this one; what is not listed is recomputed,
  // or found elsewhere. REQUIRES: CanList(track).
  bool List(const TrackName& track, uint64_t group, const Digest& key, uint64_t bytes);
  void Unlist(const TrackName& track, uint64_t group);
  bool IsListed(const TrackName& track, uint64_t group) const;

  // What was forgotten of a tenant, which the scope ends with, is told beside its catalogs.
  void ListForgotten(const TrackNamespace& scope, const ForgetList& list);

  // What changed since the last call.
  std::vector<CatalogChange> TakeChanges();
  // The names of all catalogs below a prefix.
  std::vector<TrackName> Below(const TrackNamespace& prefix) const;
  size_t block_count() const { return block_count_; }
  // What it takes of memory to know them, beside the objects that tell of them.
  size_t bytes() const { return block_count_ * kBlockBytes + track_bytes_; }
  size_t catalog_count() const { return scopes_.size(); }

 private:
  struct Catalog {
    TrackName name;
    CatalogWriter writer;
    bool told = false;
  };

  // A list of what was forgotten: each version is a group.
  struct Forgotten {
    TrackName name;
    Bytes next;            // The version to be told of.
    uint64_t version = 0;  // Its number.
  };
  void TakeForgotten(std::vector<CatalogChange>& changes);
  // The catalog of a scope that has something to list; null: there is no room for one more.
  Catalog* Filled(const TrackNamespace& scope);
  void OnEmptied(const TrackNamespace& scope);
  void DropOne();
  // What a track costs that a writer lists, with its two places there.
  static size_t BytesOf(const TrackName& track);
  // A block in a map: a node, and what stands in front of it on the heap.
  static constexpr size_t kNodeBytes = 4 * sizeof(void*) + 2 * sizeof(size_t);
  static constexpr size_t kBlockBytes =
      kNodeBytes + sizeof(std::pair<const uint64_t, Holdings::Block>);

  NodeId node_;
  BootId boot_;
  const Limits* limits_;
  std::map<TrackNamespace, Catalog> scopes_;
  std::set<TrackNamespace> empty_;
  std::map<std::string, size_t, std::less<>> filled_;  // How many each tenant has that are not.
  uint64_t first_epoch_ = 0;                           // Of those that come, beyond all that went.
  std::vector<TrackName> over_;
  std::set<TrackNamespace> changed_;
  std::map<TrackNamespace, Forgotten> forgotten_;
  std::set<TrackNamespace> forgotten_changed_;
  size_t block_count_ = 0;
  size_t track_bytes_ = 0;
};

}  // namespace kvcast::relay
