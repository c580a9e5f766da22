// The golden vectors of a bucket's packs in docs/reference/vectors, which the Python beside them
// reproduces too.
#include <gtest/gtest.h>

#include "kvcast/store/bucket_tier_fixture_test.h"
#include "kvcast/store/golden_records_test.h"

namespace kvcast {
namespace {

PackHorizon HorizonIn(const Json& seen) {
  PackHorizon horizon;
  for (const Json& one : seen) {
    for (auto number = one[1].get<uint64_t>(); number <= one[2].get<uint64_t>(); ++number) {
      horizon.Add(GoldenId(one[0]), static_cast<uint32_t>(number));
    }
  }
  return horizon;
}

Bytes PackOf(const Json& in) {
  PackWriter writer(
      {GoldenId(in["node"]), in["number"].get<uint32_t>(), in["marker"].get<uint64_t>()});
  for (const Json& record : in["records"]) {
    const RecordBody body = GoldenBody(record);
    const RecordDraft draft = *RecordDraft::Of({GoldenTrack(record), body});
    writer.Append(GoldenTrack(record), draft,
                  EntryOf(body, draft.payload_sum(), in["key_property"].get<uint64_t>()));
  }
  return writer.Seal(in["written_us"].get<uint64_t>(), HorizonIn(in["seen"]));
}

Result<PackBody> BodyAtEnd(const Bytes& pack, const PackId& id) {
  const std::string last = pack.Slice(pack.size() - kTrailerBytes, kTrailerBytes).ToString();
  KVCAST_TRY(const PackTrailer trailer, PackTrailer::Parse(AsBytes(last), id, pack.size()));
  return ParsePackBody(
      pack.Slice(pack.size() - kTrailerBytes - trailer.body_bytes, trailer.body_bytes), trailer);
}

TEST(BucketGolden, PacksAreWrittenAndReadAsEveryImplementationDoes) {
  const GoldenFile vectors = GoldenVectors("bucket");
  for (const GoldenCase& one : vectors.cases) {
    SCOPED_TRACE(one.name);
    const auto prefix = one.in["prefix"].get<std::string>();
    if (one.in.contains("records")) {
      const Bytes pack = PackOf(one.in);
      EXPECT_EQ(pack,
                Bytes::Copy(GoldenWhole((*one.out)["size"].get<size_t>(), (*one.out)["parts"])));
      const auto id = PackId::Parse((*one.out)["key"].get<std::string>(), prefix);
      ASSERT_TRUE(id.has_value());
      EXPECT_EQ(BodyAtEnd(pack, *id)->seen, HorizonIn(one.in["seen"]));
      continue;
    }
    const auto id = PackId::Parse(one.in["key"].get<std::string>(), prefix);
    if (!one.in.contains("read")) {
      ASSERT_EQ(id.has_value(), one.out.has_value());
      if (id) {
        EXPECT_EQ(id->node, GoldenId((*one.out)["node"]));
        EXPECT_EQ(id->number, (*one.out)["number"].get<uint32_t>());
        EXPECT_EQ(id->marker, (*one.out)["marker"].get<uint64_t>());
      }
      continue;
    }
    const auto body =
        BodyAtEnd(Bytes::Copy(GoldenWhole(one.in["size"].get<size_t>(), one.in["read"])), *id);
    ASSERT_EQ(body.ok(), one.out.has_value());
    if (body.ok()) {
      EXPECT_EQ(body->written_us, (*one.out)["written_us"].get<uint64_t>());
      EXPECT_EQ(body->seen, HorizonIn((*one.out)["seen"]));
      EXPECT_EQ(body->contents.tracks.size(), (*one.out)["tracks"].get<size_t>());
    }
  }
  EXPECT_GE(vectors.cases.size(), 16u);
}

// A bucket as version 1 wrote it, whatever wrote it.
TEST(BucketGolden, ABucketIsReadAndAnsweredFrom) {
  const GoldenFile vectors = GoldenVectors("bucket");
  const GoldenCase& one = vectors.cases.front();
  for (const bool whole : {true, false}) {
    MemoryBucket bucket(1);
    const auto key = (*one.out)["key"].get<std::string>();
    bucket.objects()[key] = GoldenWhole((*one.out)["size"].get<size_t>(), (*one.out)["parts"]);
    if (!whole) {
      bucket.objects()[key].back() ^= std::byte{1};
    }
    BucketNode node(bucket);
    node.options.prefix = "kvcast";
    node.Start();
    ASSERT_TRUE(node.tier->ready());
    EXPECT_EQ(node.tier->index().object_count(), 3u);
    const TrackName track = BucketTrack("BF16");
    EXPECT_EQ(node.Payload(track, {0, 0}), "first");
    EXPECT_EQ(node.Get(track, {0, 2})->object.forwarding, Forwarding::kDatagram);
    EXPECT_TRUE(node.tier->FindGroup(track, 0)->whole());
    EXPECT_EQ(node.tier->FindTrack(track)->largest, (Location{7, 2}));
    EXPECT_EQ(node.tier->PresenceOf(track, {1, 5}), Presence::kGone);
    EXPECT_EQ(node.tier->PresenceOf(track, {5, 0}), Presence::kUnknown);  // Removed.
    const auto groups = node.tier->Groups(std::nullopt, 9);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_TRUE(groups[0].key.has_value());
  }
}

}  // namespace
}  // namespace kvcast
