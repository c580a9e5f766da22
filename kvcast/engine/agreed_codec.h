#pragma once

#include "kvcast/base/check.h"
#include "kvcast/io/quic_connection.h"
#include "kvcast/moqt/codec.h"

namespace kvcast {

// How the peer writes MoQT, as the handshake agreed. We offer nothing that we do not speak.
inline const moqt::Codec& AgreedCodec(const QuicConnection& connection) {
  const moqt::Codec* codec = moqt::CodecFor(connection.alpn());
  KVCAST_CHECK(codec != nullptr);
  return *codec;
}

}  // namespace kvcast
