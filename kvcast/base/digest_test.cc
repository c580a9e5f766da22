#include "kvcast/base/digest.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

TEST(Sha256, AgreesWithTheStandard) {  // FIPS 180-4's example.
  const char* abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(Sha256::Of("abc").ToHex(), abc);
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish().ToHex(), abc);
  hash.Update("abc");
  EXPECT_EQ(hash.Finish().ToHex(), abc);  // It starts anew after Finish().

  Bytes cut = Bytes::Of("a");
  cut.Append(Bytes::Of("bc"));
  EXPECT_EQ(Sha256::Of(cut).ToHex(), abc);
}

TEST(HmacSha256, AgreesWithTheStandard) {  // RFC 4231, cases 1 and 2.
  const std::vector<std::byte> key(20, std::byte{0x0b});
  HmacSha256 first(key);
  EXPECT_EQ(first.Of(AsBytes("Hi There")).ToHex(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  HmacSha256 second(AsBytes("Jefe"));
  const char* expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
  EXPECT_EQ(second.Of(AsBytes("what do ya want for nothing?")).ToHex(), expected);
  // The key stays set: the second message is not chained to the first.
  EXPECT_EQ(second.Of(AsBytes("what do ya want for nothing?")).ToHex(), expected);
}

TEST(Digest, IsWrittenAndReadAsHex) {
  const Digest digest = Sha256::Of("abc");
  EXPECT_EQ(*Digest::FromHex(digest.ToHex()), digest);
  EXPECT_FALSE(Digest::FromHex("abcd").ok());
  EXPECT_FALSE(Digest::FromHex(std::string(64, 'g')).ok());
  EXPECT_FALSE(Digest::FromHex(digest.ToHex() + "00").ok());
}

}  // namespace
}  // namespace kvcast
