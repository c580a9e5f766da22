#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kvcast/base/digest.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/grant.h"

namespace kvcast::relay {

// What is to be forgotten: all of a tenant's, of one of its models, or of one prefix.
struct ForgetScope {
  std::string tenant;
  std::optional<std::string> model;  // As it is called, with or without "@" and its fingerprint.
  std::optional<Digest> prefix;      // The hash that its last block is known by.
  // Of that, only what is below such namespaces; all of it, where nothing is said.
  std::function<bool(const TrackNamespace&)> within{};

  // The whole track is meant. Catalogs never are: what they tell of is.
  bool Covers(const TrackName& track) const {
    return MayHold(track) && (!prefix || track.space().field(2) == PrefixBytes());
  }
  // The track is of the tenant and the model, and some of its blocks may be meant.
  bool MayHold(const TrackName& track) const;

 private:
  std::string_view PrefixBytes() const {
    return {reinterpret_cast<const char*>(prefix->bytes.data()), prefix->bytes.size()};
  }
};

// How it is meant.
enum class ForgetMode : uint8_t {
  kNow,
  kAgain,   // It was before: the rest of it, if any is left. Relays below are not told again.
  kDryRun,  // Nothing goes: what would?
};

// What came of it.
struct ForgetReport {
  size_t tracks = 0;
  size_t groups = 0;
  uint64_t objects = 0;
  uint64_t bytes = 0;    // Of their payloads, each counted once, in however many tiers it was.
  size_t pending = 0;    // Removals that are on their way to a disk or a bucket.
  bool refused = false;  // Some tier could not be asked, or could not write: ask again.

  // Everything is gone, and does not come back with a restart.
  bool complete() const { return pending == 0 && !refused; }
};

}  // namespace kvcast::relay
