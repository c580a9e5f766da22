#pragma once

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/object/location.h"

namespace kvcast {

// Who takes what one node's catalog says, object by object as they come off its track; whoever
// follows the track asks it what to fetch.
class CatalogFeed {
 public:
  CatalogFeed() = default;
  virtual ~CatalogFeed() = default;
  CatalogFeed(const CatalogFeed&) = delete;
  CatalogFeed& operator=(const CatalogFeed&) = delete;

  // An error says that this node's catalog cannot be followed: all it said is forgotten, and
  // everything until its next epoch, or Restart(), is ignored.
  virtual Result<void> OnObject(Location location, const Bytes& payload) = 0;

  // See CatalogReader.
  virtual Location wanted() const = 0;
  virtual bool missed() const = 0;
  virtual bool synced() const = 0;
  virtual void Restart() = 0;
};

}  // namespace kvcast
