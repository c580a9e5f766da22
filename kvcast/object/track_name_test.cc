#include "kvcast/object/track_name.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

TrackName NameOf(std::initializer_list<std::string_view> fields, std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of(fields), name);
}

TEST(TrackName, RendersAsTheDraftDoes) {
  const TrackName name = NameOf({"example.net", "team2", "project_x"}, "report");
  EXPECT_EQ(name.Render(), "example.2enet-team2-project_x--report");
  EXPECT_EQ(*TrackName::Parse(name.Render()), name);
}

TEST(TrackName, KeepsItsFieldsApart) {
  const TrackNamespace space = *TrackNamespace::Of({"ab", "c"});
  EXPECT_EQ(space.field_count(), 2u);
  EXPECT_EQ(space.field(0), "ab");
  EXPECT_EQ(space.field(1), "c");
  EXPECT_NE(space, *TrackNamespace::Of({"a", "bc"}));
  EXPECT_NE(space, *TrackNamespace::Of({"abc"}));
}

TEST(TrackName, MayHaveNoFieldsAndNoName) {
  EXPECT_EQ(NameOf({}, "").Render(), "--");
  EXPECT_EQ(NameOf({}, "a").Render(), "--a");
  EXPECT_EQ(NameOf({"a"}, "").Render(), "a--");
  for (const char* text : {"--", "--a", "a--"}) {
    EXPECT_EQ(TrackName::Parse(text)->Render(), text);
  }
}

// One name, one rendering: what another writer could have meant to be the same is refused.
TEST(TrackName, RefusesEveryOtherSpelling) {
  for (const char* text : {"a", "a-", ".61--x", ".2E--x", ".2--x", "x--.", "x--.2", "a b--x",
                           "a---x", "-a--x", "a--x-y", "a--x--y"}) {
    EXPECT_FALSE(TrackName::Parse(text).ok()) << text;
  }
  EXPECT_EQ(TrackName::Parse("ab-.61--x").error().offset(), 3u);
}

TEST(TrackName, IsBoundedAsMoqtBoundsIt) {
  const std::vector<std::string_view> fields(33, "f");
  EXPECT_TRUE(TrackNamespace::Of(std::span(fields).first(32)).ok());
  EXPECT_FALSE(TrackNamespace::Of(fields).ok());
  EXPECT_FALSE(TrackNamespace::Of({""}).ok());
  const std::string longest(4096, 'x');
  EXPECT_TRUE(TrackNamespace::Of({longest}).ok());
  EXPECT_FALSE(TrackNamespace::Of({longest + "x"}).ok());
  EXPECT_FALSE(TrackName::Of(*TrackNamespace::Of({longest}), "x").ok());
  EXPECT_TRUE(TrackName::Of(*TrackNamespace::Of({longest}), "").ok());
  EXPECT_EQ(TrackName::Parse("a--" + longest).error().offset(), 3u);
}

TEST(TrackNamespace, IsAPrefixOfWhatLiesBelowIt) {
  const TrackNamespace space = *TrackNamespace::Of({"a", "bc"});
  EXPECT_TRUE(space.IsPrefixOf(space));
  EXPECT_TRUE(TrackNamespace().IsPrefixOf(space));
  EXPECT_TRUE(TrackNamespace::Of({"a"})->IsPrefixOf(space));
  EXPECT_FALSE(TrackNamespace::Of({"a", "b"})->IsPrefixOf(space));  // Fields, not characters.
  EXPECT_FALSE(TrackNamespace::Of({"a", "bc", "d"})->IsPrefixOf(space));
}

TEST(TrackNamespace, KnowsWhatTheProtocolKeepsForItself) {
  EXPECT_TRUE(TrackNamespace::Of({".session"})->IsReserved());
  EXPECT_FALSE(TrackNamespace::Of({"a", ".b"})->IsReserved());
  EXPECT_FALSE(TrackNamespace().IsReserved());
}

// As another implementation sent it: 02 05 "clock" 04 "demo" 03 "now".
TEST(TrackName, IsWrittenAsMoqtWritesIt) {
  ByteWriter writer;
  NameOf({"clock", "demo"}, "now").WriteTo(writer);
  const Bytes bytes = writer.Take();
  EXPECT_EQ(bytes.ToString(), std::string("\x02\x05"
                                          "clock\x04"
                                          "demo\x03now"));
  ByteReader reader(bytes);
  EXPECT_EQ(*TrackName::ReadFrom(reader), NameOf({"clock", "demo"}, "now"));
  EXPECT_TRUE(reader.done());
}

TEST(TrackName, ReadsNoMoreThanThereIsAndBelievesNoLength) {
  for (const char* hex : {"", "01", "0100", "21", "02016101", "ffffffffffffffffff",
                          "01ffffffffffffffffff", "0161", "010161", "01016105", "00ff"}) {
    const std::vector<std::byte> bytes = *FromHex(hex);
    ByteReader reader(bytes);
    EXPECT_FALSE(TrackName::ReadFrom(reader).ok()) << hex;
  }
}

TEST(TrackName, RoundTripsAnyBytes) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<std::string> fields(random.Below(33));
    std::vector<std::string_view> views;
    for (std::string& field : fields) {
      field.resize(1 + random.Below(60));
      random.Fill(std::as_writable_bytes(std::span(field)));
      views.push_back(field);
    }
    const TrackName name =
        *TrackName::Of(*TrackNamespace::Of(views), fields.empty() ? "" : fields[0]);
    EXPECT_EQ(*TrackName::Parse(name.Render()), name) << "seed " << seed;
    ByteWriter writer;
    name.WriteTo(writer);
    const Bytes bytes = writer.Take();
    ByteReader reader(bytes);
    EXPECT_EQ(*TrackName::ReadFrom(reader), name) << "seed " << seed;
    for (size_t i = 0; i < fields.size(); ++i) {
      EXPECT_EQ(name.space().field(i), fields[i]);
    }
  }
}

TEST(TrackNamespace, IsTakenApartAndPutTogether) {
  const TrackNamespace space = *TrackNamespace::Of({"a", "bc", "d"});
  EXPECT_EQ(space.First(2), *TrackNamespace::Of({"a", "bc"}));
  EXPECT_EQ(space.After(2), *TrackNamespace::Of({"d"}));
  for (size_t count = 0; count <= 3; ++count) {
    EXPECT_EQ(*space.First(count).Join(space.After(count)), space);
    EXPECT_EQ(space.First(count).length() + space.After(count).length(), space.length());
  }
  const TrackNamespace half = *TrackNamespace::Of({std::string(kTrackNameBytesMax / 2 + 1, 'x')});
  EXPECT_EQ(half.Join(half).error().code(), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace kvcast
