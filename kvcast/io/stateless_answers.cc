#include "kvcast/io/stateless_answers.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

// A client comes back at once, or it has given up.
constexpr ngtcp2_duration kRetryLife = 10 * NGTCP2_SECONDS;

// No Reset is smaller. To a packet as small as a keep-alive, the answer is one byte less: better
// that somebody sees by its size what it is than that a silent peer never hears of it.
constexpr size_t kResetBytesMin =
    NGTCP2_MIN_STATELESS_RESET_RANDLEN + NGTCP2_STATELESS_RESET_TOKENLEN;
constexpr size_t kResetBytesMax = 60;

// As ids are, that we give out.
constexpr size_t kRetryIdBytes = 18;

ngtcp2_tstamp Stamp() { return static_cast<ngtcp2_tstamp>(Now().time_since_epoch().count()); }

size_t Size(ngtcp2_ssize written) { return written > 0 ? static_cast<size_t>(written) : 0; }

}  // namespace

std::span<const uint8_t> StatelessAnswers::secret() const {
  return {reinterpret_cast<const uint8_t*>(secret_.bytes.data()), secret_.bytes.size()};
}

size_t StatelessAnswers::Versions(std::span<uint8_t> room, const ngtcp2_version_cid& asked) {
  const std::array<uint32_t, 1> versions{NGTCP2_PROTO_VER_V1};
  std::array<std::byte, 1> random{};
  FillRandom(random);
  return Size(ngtcp2_pkt_write_version_negotiation(
      room.data(), room.size(), static_cast<uint8_t>(random[0]), asked.scid, asked.scidlen,
      asked.dcid, asked.dcidlen, versions.data(), versions.size()));
}

size_t StatelessAnswers::Retry(std::span<uint8_t> room, const SocketAddress& to,
                               const ngtcp2_pkt_hd& first, const PortShare& share) const {
  ngtcp2_cid id{};
  id.datalen = kRetryIdBytes;
  FillRandom(std::as_writable_bytes(std::span(id.data)).first(id.datalen));
  share.Mark(id);
  std::array<uint8_t, NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN> token;
  const ngtcp2_ssize token_bytes = ngtcp2_crypto_generate_retry_token(
      token.data(), secret().data(), secret().size(), first.version, to.get(), to.length(), &id,
      &first.dcid, Stamp());
  if (token_bytes <= 0) {
    return 0;
  }
  return Size(ngtcp2_crypto_write_retry(room.data(), room.size(), first.version, &first.scid, &id,
                                        &first.dcid, token.data(),
                                        static_cast<size_t>(token_bytes)));
}

std::optional<ngtcp2_cid> StatelessAnswers::CheckRetry(const SocketAddress& from,
                                                       const ngtcp2_pkt_hd& first) const {
  ngtcp2_cid original{};
  if (ngtcp2_crypto_verify_retry_token(&original, first.token, first.tokenlen, secret().data(),
                                       secret().size(), first.version, from.get(), from.length(),
                                       &first.dcid, kRetryLife, Stamp()) != 0) {
    return std::nullopt;
  }
  return original;
}

size_t StatelessAnswers::InvalidToken(std::span<uint8_t> room, const ngtcp2_pkt_hd& first) {
  return Size(ngtcp2_crypto_write_connection_close(room.data(), room.size(), first.version,
                                                   &first.scid, &first.dcid, NGTCP2_INVALID_TOKEN,
                                                   nullptr, 0));
}

StatelessAnswers::ResetToken StatelessAnswers::TokenOf(const ngtcp2_cid& id) const {
  ResetToken token{};
  KVCAST_CHECK(ngtcp2_crypto_generate_stateless_reset_token(token.data(), secret().data(),
                                                            secret().size(), &id) == 0);
  return token;
}

size_t StatelessAnswers::Reset(std::span<uint8_t> room, std::span<const uint8_t> id,
                               size_t received_bytes) const {
  if (received_bytes <= kResetBytesMin) {
    return 0;
  }
  ngtcp2_cid full{};
  ngtcp2_cid_init(&full, id.data(), id.size());
  const ResetToken token = TokenOf(full);
  std::array<uint8_t, kResetBytesMax - NGTCP2_STATELESS_RESET_TOKENLEN> random;
  FillRandom(std::as_writable_bytes(std::span(random)));
  const size_t bytes = std::min(received_bytes - 1, kResetBytesMax);
  return Size(ngtcp2_pkt_write_stateless_reset(room.data(), std::min(bytes, room.size()),
                                               token.data(), random.data(),
                                               bytes - NGTCP2_STATELESS_RESET_TOKENLEN));
}

}  // namespace kvcast
