#include "kvcast/engine/version.h"

namespace kvcast {

const char kVersionText[] = KVCAST_VERSION;

}  // namespace kvcast
