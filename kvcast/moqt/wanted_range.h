#pragma once

#include <optional>

#include "kvcast/moqt/parameters.h"
#include "kvcast/object/location.h"

namespace kvcast::moqt {

// The objects that a filter lets pass, on a track whose largest object is this. Empty where the
// filter begins after all that there can be.
LocationRange WantedBy(const std::optional<SubscriptionFilter>& filter,
                       std::optional<Location> largest);

}  // namespace kvcast::moqt
