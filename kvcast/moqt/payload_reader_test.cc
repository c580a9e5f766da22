#include "kvcast/moqt/payload_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "kvcast/base/random.h"

namespace kvcast::moqt {
namespace {

// Reads one payload that arrives in pieces of `piece` bytes.
Bytes ReadInPieces(PayloadReader& reader, std::string_view text, size_t piece, ChunkPool* pool) {
  reader.Begin(text.size(), pool);
  for (size_t at = 0; at < text.size(); at += piece) {
    std::span<const std::byte> in = AsBytes(text.substr(at, piece));
    EXPECT_EQ(reader.Read(in), at + piece >= text.size());
    EXPECT_TRUE(in.empty());
  }
  return reader.Take();
}

std::string RandomText(size_t bytes) {
  std::string text(bytes, '\0');
  Random random(bytes);
  random.Fill(std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(PayloadReader, GivesBackWhatArrivedInAnyPieces) {
  ChunkPool pool(1 << 20);
  for (const size_t bytes : {1u, 300u, 16384u, 16385u, 163840u, 1'000'003u}) {
    const std::string text = RandomText(bytes);
    for (const size_t piece : {1200u, 8871u, 65536u, 2'000'000u}) {
      PayloadReader reader;
      EXPECT_EQ(ReadInPieces(reader, text, piece, nullptr).ToString(), text);
      EXPECT_EQ(ReadInPieces(reader, text, piece, &pool).ToString(), text);
    }
  }
  EXPECT_EQ(pool.bytes_used(), 0u);
}

// Steady traffic allocates nothing once it has begun.
TEST(PayloadReader, TakesTheSameChunksAgainAndAgain) {
  ChunkPool pool(1 << 20);
  PayloadReader reader;
  const std::string text = RandomText(160 * 1024);
  ReadInPieces(reader, text, 1200, &pool);
  const size_t reserved = pool.bytes_reserved();
  EXPECT_GE(reserved, text.size());
  for (int i = 0; i < 10; ++i) {
    EXPECT_GE(ReadInPieces(reader, text, 1200, &pool).size(), text.size());
    EXPECT_EQ(pool.bytes_reserved(), reserved);
  }
}

TEST(PayloadReader, GoesOnWhenThePoolIsSpent) {
  ChunkPool pool(40 * 1024);
  PayloadReader reader;
  const std::string text = RandomText(500'000);
  EXPECT_EQ(ReadInPieces(reader, text, 1200, &pool).ToString(), text);
}

TEST(PayloadReader, LeavesLittleOfAPooledChunkEmpty) {
  ChunkPool pool(1 << 20);
  PayloadReader reader;
  const Bytes half_a_chunk = ReadInPieces(reader, RandomText(9000), 1200, &pool);
  EXPECT_EQ(pool.bytes_used(), 0u);
  const Bytes nearly_a_chunk = ReadInPieces(reader, RandomText(15'000), 1200, &pool);
  EXPECT_GT(pool.bytes_used(), 0u);
  const size_t used = pool.bytes_used();
  const Bytes with_a_tail = ReadInPieces(reader, RandomText(32'768 + 40), 1200, &pool);
  EXPECT_GT(pool.bytes_used(), used + 32'768);
  EXPECT_LT(pool.bytes_used(), used + 32'768 + 1000);
}

// A claim of 60 MiB costs no more than what came, until it comes.
TEST(PayloadReader, HoldsNoMoreThanArrived) {
  PayloadReader reader;
  reader.Begin(60 << 20, nullptr);
  const std::string bytes(100, 'x');
  std::span<const std::byte> in = AsBytes(bytes);
  EXPECT_FALSE(reader.Read(in));
  EXPECT_EQ(reader.Take().size(), 100u);
}

TEST(PayloadReader, CutsPayloadsIntoChunksNoLongerThanAllowed) {
  PayloadReader reader;
  const std::string payload = RandomText(700'000);
  EXPECT_LE(ReadInPieces(reader, payload, 1200, nullptr).piece_count(), 8u);
}

}  // namespace
}  // namespace kvcast::moqt
