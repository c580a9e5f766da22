#include "kvcast/io/entropy.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "kvcast/base/check.h"

namespace kvcast {

void FillRandom(std::span<std::byte> bytes) {
  KVCAST_CHECK(gnutls_rnd(GNUTLS_RND_RANDOM, bytes.data(), bytes.size()) == 0);
}

Digest RandomDigest() {
  Digest digest;
  FillRandom(digest.bytes);
  return digest;
}

}  // namespace kvcast
