#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/object/track_name.h"

namespace kvcast::relay {

// The first field of every name that belongs to a tenant. Names without it are plain MoQT.
inline constexpr std::string_view kServiceField = "moq://kvcache.moq.arpa/v1/";

// What a peer asks for, as far as it matters who may.
enum class Act : uint8_t {
  kPublish,   // Objects of a track.
  kAnnounce,  // That it has tracks below a namespace.
  kRead,      // A track: SUBSCRIBE, FETCH, TRACK_STATUS.
  kList,      // What is below a prefix: SUBSCRIBE_TRACKS, SUBSCRIBE_NAMESPACE.
  kForget,    // Removes a tenant's caches.
};

// What a credential lets its holder do, and with whose names.
//
// A tenant is the second field of a namespace up to its first slash, compared exactly. A prefix too
// short to name one stands for everybody's, and is for a grant for all tenants only.
struct Grant {
  enum Permission : uint8_t { kPublish = 1, kRead = 2, kRelay = 4, kForget = 8 };
  static constexpr uint8_t kEverything = kPublish | kRead | kRelay | kForget;
  // In the place of a tenant, whose name has no underscore: all of them, and names that are no
  // tenant's.
  static constexpr std::string_view kAllTenants = "_all";
  static constexpr std::string_view kPlainNames = "_plain";

  std::set<std::string, std::less<>> tenants;
  uint8_t may = 0;
  std::optional<uint64_t> until_us;  // The time of day from which it is void, since 1970.

  // For a node that asks nobody who they are.
  static Grant Everything();
  // Words as people write them: tenants, and publish, read, relay, forget; or a role, which is
  // publisher, subscriber, engine, relay or admin. Invalid: no tenant, nothing allowed, or an
  // unknown word.
  static Result<Grant> Of(std::span<const std::string> tenants, std::span<const std::string> may);
  static Result<uint8_t> PermissionsOf(std::string_view role);

  bool is_void(uint64_t now_us) const { return until_us && *until_us <= now_us; }
  // Whether it is good for this. A prefix has no name.
  bool Allows(Act act, const TrackNamespace& space, std::string_view name, uint64_t now_us) const;
  // What is left of it for somebody who may do no more than `bound` says.
  Grant Within(const Grant& bound) const;

  friend bool operator==(const Grant&, const Grant&) = default;

 private:
  bool Has(std::string_view tenant) const { return tenants.contains(tenant); }
  bool Covers(const TrackNamespace& space) const;
};

// Whether a namespace, or a prefix, is too short to be one tenant's or plain.
bool IsAboveTenants(const TrackNamespace& space);
// The tenant of a name below kServiceField that has one; empty for others.
std::string_view TenantOf(const TrackNamespace& space);

}  // namespace kvcast::relay
