#pragma once

#include "kvcast/base/time.h"

namespace kvcast {

// How long processors have worked, in all since the start: subtract one reading from another.

// For this process, the kernel's work on its behalf included.
Duration ProcessCpuTime();
// For the thread that asks.
Duration ThreadCpuTime();

}  // namespace kvcast
