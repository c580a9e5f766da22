#include "kvcast/io/packet_protection.h"

#include <gtest/gtest.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/random.h"
#include "kvcast/io/read_ahead.h"

namespace kvcast {
namespace {

std::vector<uint8_t> Hex(std::string_view text) {
  const std::vector<std::byte> read = *FromHex(text);
  std::vector<uint8_t> bytes;
  for (const std::byte byte : read) {
    bytes.push_back(static_cast<uint8_t>(byte));
  }
  return bytes;
}
template <typename Range>
std::string ToText(const Range& bytes) {
  return ToHex(std::as_bytes(std::span(bytes)));
}

// RFC 9001, appendix A.1: the keys of a client's first packets.
PacketProtection::Keys ClientsFirst() {
  ngtcp2_crypto_md sha256{};
  ngtcp2_crypto_md_init(&sha256, reinterpret_cast<void*>(GNUTLS_DIG_SHA256));  // NOLINT: as is done
  PacketProtection::Keys keys;
  EXPECT_TRUE(PacketProtection::Derive(
      keys, sha256, Hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")));
  return keys;
}

TEST(PacketProtection, DerivesTheKeysThatTheStandardNames) {
  const PacketProtection::Keys keys = ClientsFirst();
  EXPECT_EQ(ToText(keys.key), "1f369613dd76d5467730efcbe3b1a22d");
  EXPECT_EQ(ToText(keys.iv), "fa044b2f42a3fd3b46fb255c");
  EXPECT_EQ(ToText(keys.header_key), "9f50449e04a0e810283a1e9933adedd2");
}

class FastPacketProtection : public testing::Test {
 protected:
  void SetUp() override {
    if (!PacketProtection::IsFast()) {
      GTEST_SKIP() << "Built without libipsec-mb, or the processor has no VAES.";
    }
    PacketProtection::AddTo(calls_);
    aead_.native_handle = reinterpret_cast<void*>(GNUTLS_CIPHER_AES_128_GCM);  // NOLINT: the same
    aead_.max_overhead = PacketProtection::kTagBytes;
  }

  ngtcp2_callbacks calls_{};
  ngtcp2_crypto_aead aead_{};
  ngtcp2_crypto_cipher header_cipher_{};  // Of no account where the key is ours.
};

// Appendix A.2.
TEST_F(FastPacketProtection, MasksHeadersAsTheStandardDoes) {
  ngtcp2_crypto_cipher_ctx key = PacketProtection::MakeHeaderKey(ClientsFirst().header_key);
  std::array<uint8_t, NGTCP2_HP_MASKLEN> mask{};
  const std::vector<uint8_t> sample = Hex("d1b1c98dd7689fb8ec11d242b123dc9b");
  ASSERT_EQ(calls_.hp_mask(mask.data(), &header_cipher_, &key, sample.data()), 0);
  EXPECT_EQ(ToText(mask), "437b9aec36");
  calls_.delete_crypto_cipher_ctx(nullptr, &key, nullptr);
}

TEST_F(FastPacketProtection, AgreesWithGnuTlsOnEverySize) {
  Random random(5);
  const auto draw = [&](size_t bytes) {
    std::vector<uint8_t> drawn(bytes);
    random.Fill(std::as_writable_bytes(std::span(drawn)));
    return drawn;
  };
  for (size_t bytes = 0; bytes < 9000; bytes += bytes < 300 ? 1 : bytes < 2000 ? 97 : 683) {
    const std::vector<uint8_t> key_bytes = draw(PacketProtection::kKeyBytes);
    const std::vector<uint8_t> nonce = draw(PacketProtection::kIvBytes);
    const std::vector<uint8_t> header = draw(1 + random.Below(40));
    const std::vector<uint8_t> plain = draw(bytes);
    ngtcp2_crypto_aead_ctx ours =
        PacketProtection::MakeKey(std::span(key_bytes).first<PacketProtection::kKeyBytes>());
    ngtcp2_crypto_aead_ctx theirs{};
    ASSERT_EQ(ngtcp2_crypto_aead_ctx_encrypt_init(&theirs, &aead_, key_bytes.data(), nonce.size()),
              0);
    ASSERT_TRUE(PacketProtection::IsOurs(ours.native_handle));
    ASSERT_FALSE(PacketProtection::IsOurs(theirs.native_handle));
    const auto seal = [&](const ngtcp2_crypto_aead_ctx& key) {
      std::vector<uint8_t> sealed(bytes + PacketProtection::kTagBytes);
      EXPECT_EQ(calls_.encrypt(sealed.data(), &aead_, &key, plain.data(), bytes, nonce.data(),
                               nonce.size(), header.data(), header.size()),
                0);
      return sealed;
    };
    std::vector<uint8_t> sealed = seal(ours);
    ASSERT_EQ(sealed, seal(theirs)) << bytes;
    {
      ReadAhead next({}, 0, bytes);
      const PacketProtection::Beside beside(next);  // In steps.
      ASSERT_EQ(seal(ours), sealed) << bytes;
    }
    const auto open = [&](const ngtcp2_crypto_aead_ctx& key) {
      std::vector<uint8_t> opened(bytes + PacketProtection::kTagBytes);
      const int failed = calls_.decrypt(opened.data(), &aead_, &key, sealed.data(), sealed.size(),
                                        nonce.data(), nonce.size(), header.data(), header.size());
      opened.resize(bytes);
      return std::pair(failed, opened);
    };
    ASSERT_EQ(open(ours), std::pair(0, plain)) << bytes;
    ASSERT_EQ(open(theirs), std::pair(0, plain)) << bytes;
    // Whichever bit is turned, the packet is not opened.
    sealed[random.Below(sealed.size())] ^= static_cast<uint8_t>(1U << random.Below(8));
    ASSERT_EQ(open(ours).first, NGTCP2_ERR_DECRYPT) << bytes;
    ASSERT_EQ(open(theirs).first, NGTCP2_ERR_DECRYPT) << bytes;
    calls_.delete_crypto_aead_ctx(nullptr, &ours, nullptr);
    calls_.delete_crypto_aead_ctx(nullptr, &theirs, nullptr);
  }
}

TEST_F(FastPacketProtection, RefusesWhatIsShorterThanATag) {
  ngtcp2_crypto_aead_ctx key = PacketProtection::MakeKey(ClientsFirst().key);
  std::array<uint8_t, 16> bytes{};
  EXPECT_EQ(calls_.decrypt(bytes.data(), &aead_, &key, bytes.data(), 15, bytes.data(), 12,
                           bytes.data(), 1),
            NGTCP2_ERR_DECRYPT);
  calls_.delete_crypto_aead_ctx(nullptr, &key, nullptr);
}

}  // namespace
}  // namespace kvcast
