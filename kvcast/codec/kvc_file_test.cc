#include "kvcast/codec/kvc_file.h"

#include <gtest/gtest.h>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

// Two blocks of a small cache at a rung, as a file.
struct SmallKvc {
  BlockShape shape{{{2, 8, 8}, {1, 16, 0}}, 6};
  TrackFormat format;
  std::vector<Bytes> objects;
  std::string file;

  explicit SmallKvc(Rung rung, uint32_t run_tokens = 0) {
    TestPages pages(shape);
    pages.FillLikeACache(HalfType::kBf16, 3);
    Survey survey(shape, HalfType::kBf16);
    survey.Add(pages.Block());
    format = *survey.FormatOf(rung);
    format.run_tokens = run_tokens == 0 ? format.run_tokens : run_tokens;
    const auto codec = *Codec::Of(format, HalfType::kBf16);
    file = KvcOpening(format);
    for (int block = 0; block < 2; ++block) {
      uint32_t token = 0;
      for (const Bytes& object : codec->EncodeBlock(pages.Block())) {
        file += KvcObjectOpening(format, token, object.size()) + object.ToString();
        token += format.run_tokens;
        objects.push_back(object);
      }
    }
  }
};

Result<KvcFile> Parsed(const std::string& file) { return KvcFile::Parse(AsBytes(file)); }

TEST(KvcFile, GivesBackWhatWasWritten) {
  for (const uint32_t run_tokens : {1u, 4u, 6u}) {
    const SmallKvc small(Rung::kBf16Lossless, run_tokens);
    const Result<KvcFile> read = Parsed(small.file);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(read->format(), small.format);
    EXPECT_EQ(read->blocks(), 2u);
    ASSERT_EQ(read->objects_per_block(), small.objects.size() / 2);
    for (size_t i = 0; i < small.objects.size(); ++i) {
      const size_t block = i / read->objects_per_block();
      const size_t object = i % read->objects_per_block();
      EXPECT_EQ(Bytes::Copy(read->Payload(block, object)).ToString(), small.objects[i].ToString());
      EXPECT_EQ(small.file.substr(read->Place(block, object), small.objects[i].size()),
                small.objects[i].ToString());
    }
  }
}

TEST(KvcFile, IsWholeBlocks) {
  const SmallKvc small(Rung::kInt8);
  size_t whole = 0;
  for (size_t size = 0; size < small.file.size(); ++size) {
    whole += Parsed(small.file.substr(0, size)).ok() ? 1U : 0U;
  }
  EXPECT_EQ(whole, 1u);  // The first block alone.
  EXPECT_FALSE(Parsed(small.file + '\0').ok());
  EXPECT_FALSE(Parsed(KvcOpening(small.format)).ok());
}

// A reader that took a run's ids for other ones would write tokens to other places.
TEST(KvcFile, RefusesAnObjectThatStandsElsewhere) {
  const SmallKvc small(Rung::kBf16Lossless, 4);
  const std::string opening = KvcOpening(small.format);
  std::string swapped = opening;
  for (const uint32_t token : {4u, 0u}) {
    const Bytes& object = small.objects[token / 4];
    swapped += KvcObjectOpening(small.format, token, object.size()) + object.ToString();
  }
  EXPECT_FALSE(Parsed(swapped).ok());
}

TEST(KvcFile, IsNothingElse) {
  EXPECT_FALSE(Parsed("").ok());
  EXPECT_FALSE(Parsed("KVC2").ok());
  EXPECT_FALSE(Parsed(std::string("KVC1\0", 5)).ok());  // A track without a format.
}

}  // namespace
}  // namespace kvcast
