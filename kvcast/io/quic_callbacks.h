#pragma once

#include <ngtcp2/ngtcp2.h>

namespace kvcast {

// The functions by which ngtcp2 calls a QuicConnection, its user data.
struct QuicCallbacks {
  static ngtcp2_callbacks Make();
};

}  // namespace kvcast
