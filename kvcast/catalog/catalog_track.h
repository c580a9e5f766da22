#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// A node, and one run of it. The first is kept across restarts, the second drawn anew at each.
using NodeId = std::array<std::byte, 16>;
using BootId = std::array<std::byte, 16>;

// The track on which one node tells what it holds of one tenant's model:
//
//   ( the scope's two fields, "catalog", node id and boot id )     "v1"
//
// The scope is opaque here: whatever two fields the listed tracks begin with.
//
// Beside it is a track "forgotten" (ForgetList), whose scope ends with the tenant: what was
// forgotten is not of one model.
struct CatalogTrack {
  TrackNamespace scope;
  NodeId node{};
  BootId boot{};

  // Whether a scope can have a catalog: it has two fields, and leaves room for the rest of the
  // name.
  static bool CanHave(const TrackNamespace& scope);
  // REQUIRES: CanHave(scope).
  TrackName Name() const;
  // What readers subscribe to, to find the catalogs of all nodes.
  TrackNamespace Prefix() const;
  static Result<CatalogTrack> Parse(const TrackName& name);
  // The same of what the node was told to forget. REQUIRES: CanHaveForgotten(scope).
  static bool CanHaveForgotten(const TrackNamespace& scope);
  TrackName ForgottenName() const;
  static Result<CatalogTrack> ParseForgotten(const TrackName& name);
  static constexpr std::string_view kForgotten = "forgotten";
  friend bool operator==(const CatalogTrack&, const CatalogTrack&) = default;
};

}  // namespace kvcast
