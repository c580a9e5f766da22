#include "kvcast/io/s3_xml.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

std::string Listing(const std::string& inside) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>" +
         inside + "</ListBucketResult>";
}

TEST(S3Xml, ReadsAListing) {
  const auto listing = ParseS3Listing(Listing(
      "<Prefix/><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</"
      "NextContinuationToken><Contents><Key>k/&lt;1&gt;&#x41;&#66;</Key><Size>12288</Size>"
      "<Owner><ID>me</ID></Owner></Contents>\n<Contents><Size>0</Size><Key>k/2</Key></Contents>"));
  ASSERT_TRUE(listing.ok()) << listing.error().ToString();
  ASSERT_EQ(listing->entries.size(), 2u);
  EXPECT_EQ(listing->entries[0].key, "k/<1>AB");
  EXPECT_EQ(listing->entries[0].bytes, 12288u);
  EXPECT_EQ(listing->entries[1].key, "k/2");
  EXPECT_EQ(listing->continuation, "a&b");
}

TEST(S3Xml, AListingThatIsWholeHasNoContinuation) {
  const auto listing = ParseS3Listing(Listing("<IsTruncated>false</IsTruncated>"));
  ASSERT_TRUE(listing.ok());
  EXPECT_TRUE(listing->entries.empty());
  EXPECT_TRUE(listing->continuation.empty());
}

TEST(S3Xml, RefusesWhatItCannotBeSureOf) {
  const std::string entry = "<Contents><Key>k</Key><Size>1</Size></Contents>";
  ASSERT_TRUE(ParseS3Listing(Listing(entry)).ok());
  for (const std::string& bad : std::vector<std::string>{
           "", "<", "not xml", Listing(entry) + "x", Listing(entry).substr(0, 120),
           Listing("<Contents><Key>k</Key></Contents>"),
           Listing("<Contents><Size>1</Size></Contents>"),
           Listing("<Contents><Key>k</Key><Key>l</Key><Size>1</Size></Contents>"),
           Listing("<Contents><Key>k</Key><Size>-1</Size></Contents>"),
           Listing("<Contents><Key>k</Key><Size>99999999999999999999</Size></Contents>"),
           Listing("<Contents><Key>" + std::string(1025, 'k') + "</Key><Size>1</Size></Contents>"),
           Listing("<IsTruncated>true</IsTruncated>"), Listing("<a>&evil;</a>"),
           Listing("<a>&#0;</a>"), Listing("<a></b>"),
           Listing("<a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a>"),
           "<!DOCTYPE x [<!ENTITY e \"ee\">]>" + Listing(""),
           "<Error><Code>SlowDown</Code></Error>"}) {
    EXPECT_FALSE(ParseS3Listing(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseS3Listing(std::string(kS3XmlBytesMax + 1, ' ')).error().code(),
            ErrorCode::kTooLarge);
}

TEST(S3Xml, AnErrorTellsItsCode) {
  const auto failure = ParseS3Error(
      "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please "
      "&quot;wait&quot;.</Message>"
      "<RequestId>1</RequestId></Error>");
  ASSERT_TRUE(failure.ok());
  EXPECT_EQ(failure->code, "SlowDown");
  EXPECT_EQ(failure->message, "Please \"wait\".");
  EXPECT_FALSE(ParseS3Error("<html><body>502</body></html>").ok());
}

// A missing bucket is a mistake in the configuration, and no evidence that a pack is gone.
TEST(S3Xml, OnlyAMissingKeyIsNotFound) {
  using ErrorKind = BucketError::Kind;
  EXPECT_EQ(KindOfS3Error(404, "NoSuchKey"), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfS3Error(404, "NoSuchBucket"), ErrorKind::kOther);
  EXPECT_EQ(KindOfS3Error(404, ""), ErrorKind::kOther);
  EXPECT_EQ(KindOfS3Error(503, ""), ErrorKind::kThrottled);
  EXPECT_EQ(KindOfS3Error(200, "SlowDown"), ErrorKind::kThrottled);
  EXPECT_EQ(KindOfS3Error(403, "SignatureDoesNotMatch"), ErrorKind::kAuth);
  EXPECT_EQ(KindOfS3Error(403, ""), ErrorKind::kAuth);
  EXPECT_EQ(KindOfS3Error(400, "XAmzContentSHA256Mismatch"), ErrorKind::kDamaged);
  EXPECT_EQ(KindOfS3Error(500, "InternalError"), ErrorKind::kOther);
}

}  // namespace
}  // namespace kvcast
