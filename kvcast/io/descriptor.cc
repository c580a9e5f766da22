#include "kvcast/io/descriptor.h"

#include <unistd.h>

namespace kvcast {

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    ::close(number_);  // What must be durable has been synced before; close() promises nothing.
  }
}

}  // namespace kvcast
