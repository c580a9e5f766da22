#pragma once

#include <cstdint>

namespace kvcast::tinylm {

using Token = uint32_t;

}  // namespace kvcast::tinylm
