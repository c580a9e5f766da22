#include "kvcast/catalog/catalog_object.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TrackName ListedTrack(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0123456789abcdef"}), name);
}

CatalogObject Sample() {
  CatalogObject object;
  object.records = {TrackRecord{3, ListedTrack("BF16")},
                    AddRecord{3, 0, 4096, Sha256::Of("block 0")}, RemoveRecord{3, 7},
                    DropRecord{2}};
  return object;
}

TEST(CatalogObject, ReadsWhatItWrote) {
  const Result<CatalogObject> read = CatalogObject::Parse(Sample().Encode());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, Sample());
}

// Whatever bit flips on the way, a reader learns nothing false.
TEST(CatalogObject, NoticesEveryFlippedBit) {
  const std::string good = Sample().Encode().ToString();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(CatalogObject::Parse(Bytes::Of(bad)).ok()) << "bit " << bit;
  }
}

TEST(CatalogObject, NoticesEveryTruncation) {
  const std::string good = Sample().Encode().ToString();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(CatalogObject::Parse(Bytes::Of(good.substr(0, length))).ok()) << length;
  }
  EXPECT_FALSE(CatalogObject::Parse(Bytes::Of(good + "x")).ok());
}

TEST(CatalogObject, RefusesWhatIsTooLargeBeforeReadingIt) {
  const std::string large(CatalogObject::kBytesMax + 1, 'x');
  EXPECT_EQ(CatalogObject::Parse(Bytes::Of(large)).error().code(), ErrorCode::kTooLarge);
}

TEST(CatalogObject, RefusesMoreRecordsThanAnybodyWrites) {
  CatalogObject object;
  object.records.assign(CatalogObject::kRecordsMax, DropRecord{0});
  EXPECT_TRUE(CatalogObject::Parse(object.Encode()).ok());
  object.records.push_back(DropRecord{0});
  EXPECT_EQ(CatalogObject::Parse(object.Encode()).error().code(), ErrorCode::kTooLarge);
}

// A million blocks are many objects, each of a size that any reader takes.
TEST(EncodeCatalog, CutsALongSnapshotIntoParts) {
  CatalogRecords records = {TrackRecord{0, ListedTrack("BF16")}};
  for (uint64_t group = 0; group < 20000; ++group) {
    records.push_back(AddRecord{0, group, 1 << 20, Sha256::Of(std::to_string(group))});
  }
  const std::vector<Bytes> objects = EncodeCatalog(CatalogKind::kSnapshot, records);
  ASSERT_GT(objects.size(), 2u);
  CatalogRecords read;
  for (size_t i = 0; i < objects.size(); ++i) {
    const Result<CatalogObject> object = CatalogObject::Parse(objects[i]);
    ASSERT_TRUE(object.ok());
    EXPECT_EQ(object->part, i);
    EXPECT_EQ(object->parts, objects.size());
    read.insert(read.end(), object->records.begin(), object->records.end());
  }
  EXPECT_EQ(read, records);
}

TEST(EncodeCatalog, SaysNothingInOneObjectOrNone) {
  EXPECT_EQ(EncodeCatalog(CatalogKind::kSnapshot, {}).size(), 1u);
  EXPECT_EQ(EncodeCatalog(CatalogKind::kDelta, {}).size(), 0u);
}

}  // namespace
}  // namespace kvcast
