#include "kvcast/io/event_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "kvcast/io/system_error.h"

namespace kvcast {

Result<EventSignal> EventSignal::Make() {
  Descriptor eventfd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!eventfd) {
    return SystemError("Cannot make a descriptor to wait on", errno);
  }
  return EventSignal(std::move(eventfd));
}

// One that is full, or empty, is as it is to be.
void EventSignal::Set() {
  const uint64_t one = 1;
  (void)!::write(eventfd_.number(), &one, sizeof(one));
}

void EventSignal::Clear() {
  uint64_t count = 0;
  (void)!::read(eventfd_.number(), &count, sizeof(count));
}

}  // namespace kvcast
