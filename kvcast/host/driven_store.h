#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/base/time.h"
#include "kvcast/store/lower_tier.h"

namespace kvcast {

// A directory or a bucket as a tier that takes writes, moved along by whoever waits for it: for
// tools that change a store no node uses.
class DrivenStore {
 public:
  // `where` is as 'kvcast serve' takes it. A directory is made if there is none, for this class of
  // disks; nothing that is put into it ever pushes anything out.
  static Result<std::unique_ptr<DrivenStore>> Open(const std::string& where,
                                                   const std::string& disk_class = "ssd");

  virtual ~DrivenStore() = default;
  virtual LowerTier& tier() = 0;
  virtual uint64_t queued_bytes() const = 0;
  virtual void Turn(Duration wait) = 0;
  // Nothing more comes.
  virtual void Hurry() = 0;
  // What spares the next start some work, when all is durable. False: there is no more to it.
  virtual bool Tidy() = 0;
};

}  // namespace kvcast
