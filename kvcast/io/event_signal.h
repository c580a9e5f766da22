#pragma once

#include <memory>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"

namespace kvcast {

// A descriptor that can be read for as long as something is to be looked at: whoever else waits for
// descriptors waits for this one too. Any thread may set and clear it.
class EventSignal {
 public:
  static Result<EventSignal> Make();

  // To wait on, not to be closed. Whoever reads it clears it.
  int descriptor() const { return eventfd_.number(); }
  void Set();
  void Clear();

 private:
  explicit EventSignal(Descriptor eventfd) : eventfd_(std::move(eventfd)) {}
  Descriptor eventfd_;
};

}  // namespace kvcast
