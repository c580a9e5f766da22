#include "kvcast/kv/kv_file.h"

#include <gtest/gtest.h>

#include "kvcast/base/random.h"
#include "kvcast/kv/safetensors.h"

namespace kvcast {
namespace {

std::string FileOf(const std::string& header, size_t data_bytes) {
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<char>(header.size() >> (8 * i));
  }
  return length + header + std::string(data_bytes, 'x');
}

TEST(KvFile, ReadsWhatThePlanWrites) {
  const LayerShape layers[] = {{2, 4, 4}, {1, 3, 5}, {1, 6, 0}};
  const KvFilePlan plan =
      *KvFilePlan::Of(layers, ValueType::kFp16, 7, {{"kvcast.model", "tinylm"}});
  std::string file = plan.header().ToString();
  Random random(1);
  for (const KvFilePlan::Part& part : plan.parts()) {
    ASSERT_EQ(part.offset, file.size());
    std::string data(part.bytes, '\0');
    random.Fill(std::as_writable_bytes(std::span(data)));
    file += data;
  }
  ASSERT_EQ(file.size(), plan.file_bytes());
  const Result<KvFile> read = KvFile::Parse(AsBytes(file));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->tokens(), 7u);
  EXPECT_EQ(read->type(), ValueType::kFp16);
  EXPECT_EQ(read->bytes_per_token(), (2 * 8 + 8 + 6) * 2u);
  EXPECT_EQ(read->metadata().at("kvcast.model"), "tinylm");
  for (const KvFilePlan::Part& part : plan.parts()) {
    EXPECT_EQ(AsText(read->Values(part.layer, part.plane)), file.substr(part.offset, part.bytes));
  }
}

TEST(KvFile, SaysWhichTensorIsMissing) {
  const std::string header =
      R"({"layers.0.k":{"dtype":"BF16","shape":[1,1,1],"data_offsets":[0,2]}})";
  const Result<KvFile> read = KvFile::Parse(AsBytes(FileOf(header, 2)));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().ToString().find("layers.0.v"), std::string::npos);
}

TEST(KvFile, SaysWhatIsWrongWithATruncatedFile) {
  const LayerShape layers[] = {{1, 4, 4}};
  const KvFilePlan plan = *KvFilePlan::Of(layers, ValueType::kBf16, 2);
  const std::string whole = plan.header().ToString() + std::string(32, 'x');
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(KvFile::Parse(AsBytes(whole.substr(0, length))).ok()) << length;
  }
  EXPECT_TRUE(KvFile::Parse(AsBytes(whole)).ok());
}

// Whatever could not be read again is not written.
TEST(KvFilePlan, RefusesWhatNoFileHolds) {
  const auto plan = [](std::vector<LayerShape> layers, uint32_t tokens,
                       const KvMetadata& metadata = {}) {
    return KvFilePlan::Of(layers, ValueType::kFp32, tokens, metadata);
  };
  EXPECT_TRUE(plan({{1, 4, 4}}, 1, {{"note", "\u00e9\n"}}).ok());
  EXPECT_FALSE(plan({{1, 4, 4}}, 1, {{"note", "\xff"}}).ok());
  EXPECT_FALSE(plan({{1, 4, 4}}, 1, {{"\xff", "note"}}).ok());
  EXPECT_FALSE(plan({{1, 4, 4}}, 2, {{"kvcast.tokens", "1"}}).ok());
  EXPECT_FALSE(plan({{1, 4, 4}}, 0).ok());
  EXPECT_FALSE(plan({}, 1).ok());
  EXPECT_FALSE(plan({{0, 4, 4}}, 1).ok());
  EXPECT_FALSE(plan({{1, 0, 4}}, 1).ok());
  EXPECT_FALSE(plan({{2, 4, 0}}, 1).ok());  // A latent has no heads.
  EXPECT_FALSE(plan({{65537, 4, 4}}, 1).ok());
  EXPECT_FALSE(plan(std::vector<LayerShape>(4097, LayerShape{1, 1, 1}), 1).ok());
  // 2^32 tokens of 2^32 values of 4 bytes each are 2^66 bytes, past what 64 bits count.
  EXPECT_EQ(plan({{65536, 65536, 65536}}, UINT32_MAX).error().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(
      plan(std::vector<LayerShape>(4096, LayerShape{64, 65536, 65536}), UINT32_MAX).error().code(),
      ErrorCode::kTooLarge);
}

// A length is a claim; a terabyte header must cost nothing.
TEST(Safetensors, BelievesNoClaim) {
  std::string file = FileOf("{}", 0);
  file[5] = '\x7f';
  EXPECT_EQ(Safetensors::Parse(AsBytes(file)).error().code(), ErrorCode::kTooLarge);
  const char* headers[] = {
      R"({"a":{"dtype":"U8","shape":[18446744073709551615,2],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551612,18446744073709551616]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
      R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})",
      R"({"a":{"dtype":"Q9","shape":[4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})",
      R"({"a":7})",
      R"({"__metadata__":{"a":1},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"};
  for (const char* header : headers) {
    EXPECT_FALSE(Safetensors::Parse(AsBytes(FileOf(header, 4))).ok()) << header;
  }
  EXPECT_TRUE(Safetensors::Parse(
                  AsBytes(FileOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4)))
                  .ok());
}

// The length comes first, so what the header has at n is at n + 8 of the file.
TEST(Safetensors, PointsAtTheMemberThatIsWrong) {
  const auto offset = [](std::string_view header) {
    return Safetensors::Parse(AsBytes(FileOf(std::string(header), 4))).error().offset();
  };
  EXPECT_EQ(offset(R"({"a":7})"), 8u + 1u);
  EXPECT_EQ(offset(R"({"a":{"dtype":7,"shape":[4],"data_offsets":[0,4]}})"), 8u + 6u);
  EXPECT_EQ(offset(R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})"), 8u + 19u);
  EXPECT_EQ(offset(R"({"a":{"dtype":"Q9","shape":[4],"data_offsets":[0,4]}})"), 8u + 6u);
  EXPECT_EQ(offset(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})"), 8u + 31u);
  EXPECT_EQ(offset(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})"), 8u + 31u);
  EXPECT_EQ(offset(R"({"__metadata__":{"b":"","a":1}})"), 8u + 24u);
  const std::string short_of_data = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  EXPECT_EQ(offset(short_of_data), 8u + short_of_data.size() + 3u);
}

TEST(KvFile, PointsAtTheTensorThatIsWrong) {
  const auto offset = [](std::string_view header, size_t bytes) {
    return KvFile::Parse(AsBytes(FileOf(std::string(header), bytes))).error().offset();
  };
  EXPECT_EQ(offset(R"({"layers.0.kv":{"dtype":"U8","shape":[1,4],"data_offsets":[0,4]}})", 4),
            8u + 16u);
  EXPECT_EQ(offset(R"({"layers.0.kv":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4),
            8u + 30u);
  EXPECT_EQ(offset(R"({"__metadata__":{"kvcast.rope":"none"},)"
                   R"("layers.0.kv":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}})",
                   4),
            8u + 17u);
  EXPECT_EQ(offset(R"({"layers.0.kv":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},)"
                   R"("layers.1.kv":{"dtype":"F16","shape":[2,1],"data_offsets":[4,8]}})",
                   8),
            8u + 66u);
}

TEST(KvFile, SaysWhatIsWrongWithIt) {
  const auto told = [](std::string_view header, size_t bytes) {
    return KvFile::Parse(AsBytes(FileOf(std::string(header), bytes))).error().ToString();
  };
  EXPECT_EQ(told(R"({"layers.0.k":{"dtype":"F16","shape":[1,1,2],"data_offsets":[0,4]},)"
                 R"("layers.0.v":{"dtype":"BF16","shape":[1,1,2],"data_offsets":[4,8]}})",
                 8),
            "tensor \"layers.0.v\": byte 89: V is BF16 and K is F16; a file holds one dtype.");
  for (const char* name : {"extra", "layers.00.kv", "layers.1.o", "layers..k"}) {
    EXPECT_EQ(
        told(R"({"layers.0.kv":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},")" +
                 std::string(name) + R"(":{"dtype":"F16","shape":[1,2],"data_offsets":[4,8]}})",
             8),
        "tensor \"" + std::string(name) +
            "\": byte 74: A KV file has layers.I.k and layers.I.v, or layers.I.kv, layers.I.q "
            "perhaps, and no other tensor.");
  }
  EXPECT_EQ(told(R"({"__metadata__":{"kvcast.tokens":"9"},)"
                 R"("layers.0.kv":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}})",
                 4),
            "byte 25: The metadata \"kvcast.tokens\" is \"9\"; it must be 1, as its tensors are.");
  EXPECT_NE(KvFile::Parse(AsBytes(std::string(8, '\0'))).error().message().find("0 bytes"),
            std::string::npos);
}

TEST(Safetensors, NamesTheOffsetWithinTheFile) {
  const Result<Safetensors> broken = Safetensors::Parse(AsBytes(FileOf("{\"a\" 7}", 0)));
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().offset(), 8u + 5u);
}

}  // namespace
}  // namespace kvcast
