#include "kvcast/host/disk_flag.h"

#include <gtest/gtest.h>

#include "kvcast/io/scratch_directory.h"
#include "kvcast/store/eviction.h"

namespace kvcast {
namespace {

TEST(DiskFlag, SaysWhereAndHowMuch) {
  const DiskFlag plain = *DiskFlag::Parse("/var/lib/kvcast");
  EXPECT_EQ(plain.directory, "/var/lib/kvcast");
  EXPECT_FALSE(plain.bytes.has_value());
  EXPECT_EQ(plain.disk_class, DiskClass::kSsd);
  EXPECT_EQ(plain.admission, "all");
  EXPECT_FALSE(plain.eviction.has_value());
  const DiskFlag full = *DiskFlag::Parse("d,bytes=100GiB,class=hdd,admit=second,evict=lfu");
  EXPECT_EQ(full.directory, "d");
  EXPECT_EQ(full.bytes, uint64_t{100} << 30);
  EXPECT_EQ(full.disk_class, DiskClass::kHdd);
  EXPECT_EQ(full.admission, "second");
  EXPECT_EQ(full.eviction, "lfu");
}

TEST(DiskFlag, TakesEveryPolicyThatThereIs) {
  std::string words;
  for (const std::string_view name : EvictionNames()) {
    words += (words.empty() ? "" : "|") + std::string(name);
    EXPECT_EQ(DiskFlag::Parse("d,evict=" + std::string(name))->eviction, name);
  }
  EXPECT_EQ(words, kEvictionWords);
}

TEST(DiskFlag, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", ",bytes=1GiB", "d,bytes=many", "d,bytes", "d,class=tape", "d,admit=none",
        "d,evict=fifo", "d,evict=", "d,size=1GiB", "d,", "d,bytes=1GiB,"}) {
    const Result<DiskFlag> flag = DiskFlag::Parse(text);
    ASSERT_FALSE(flag.ok()) << text;
    EXPECT_EQ(flag.error().code(), ErrorCode::kInvalid);
    EXPECT_NE(flag.error().message().find("DIR[,bytes=SIZE]"), std::string::npos);
  }
}

TEST(DiskFlag, TakesHalfOfTheFileSystemUnlessTold) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const DiskFlag flag = *DiskFlag::Parse((scratch / "new").string());
  const Result<uint64_t> bytes = flag.DefaultBytes();
  ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
  EXPECT_LT(*bytes, std::filesystem::space(scratch.path()).capacity);
}

}  // namespace
}  // namespace kvcast
