#pragma once

#include <ngtcp2/ngtcp2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/digest.h"
#include "kvcast/io/port_share.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// What a server answers without having a connection, or making one.
//
// Everything that has to be recognised later follows from one secret, so nothing is kept, and a
// server that comes back with the same secret goes on where the other one ended. Each function
// writes a packet to `room` and returns its size, or 0 if there is nothing to say.
class StatelessAnswers {
 public:
  explicit StatelessAnswers(const Digest& secret) : secret_(secret) {}

  // To a client that speaks another version of QUIC: the one that we do.
  static size_t Versions(std::span<uint8_t> room, const ngtcp2_version_cid& asked);

  // To a client that has yet to prove that it is where it says: come again with a token.
  size_t Retry(std::span<uint8_t> room, const SocketAddress& to, const ngtcp2_pkt_hd& first,
               const PortShare& share = {}) const;
  // The id that it chose the first time, if it has come with a token that we gave it.
  std::optional<ngtcp2_cid> CheckRetry(const SocketAddress& from, const ngtcp2_pkt_hd& first) const;
  // To one whose token is none of ours, or too old.
  static size_t InvalidToken(std::span<uint8_t> room, const ngtcp2_pkt_hd& first);

  // To a peer that believes in a connection of which we know nothing: that there is none. Smaller
  // than what it sent, so that two servers do not go on answering each other.
  size_t Reset(std::span<uint8_t> room, std::span<const uint8_t> id, size_t received_bytes) const;
  // What makes a Reset credible: peers get it with each id of ours.
  using ResetToken = std::array<uint8_t, NGTCP2_STATELESS_RESET_TOKENLEN>;
  ResetToken TokenOf(const ngtcp2_cid& id) const;

 private:
  std::span<const uint8_t> secret() const;

  Digest secret_;
};

}  // namespace kvcast
