// Any values in any shape: every kernel writes the same objects and makes the same values of them.
#include <cstring>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

using kvcast::Codec;
using kvcast::HalfType;
using kvcast::Rung;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  const uint8_t choice = input.Byte();
  const HalfType type = (choice & 1) != 0 ? HalfType::kFp16 : HalfType::kBf16;
  const HalfType out = (choice & 2) != 0 ? HalfType::kFp16 : HalfType::kBf16;
  const uint32_t key_size = 1 + input.Byte() % 100;
  const kvcast::BlockShape shape({{1 + (choice >> 5 & 1U), key_size, input.Byte() % 100U}}, 1);
  kvcast::TestPages pages(shape);
  for (std::vector<std::byte>& buffer : pages.buffers()) {
    const std::span<const std::byte> bytes = input.Bytes(buffer.size());
    if (!bytes.empty()) {
      std::memcpy(buffer.data(), bytes.data(), bytes.size());
    }
  }
  const bool lossless = (choice & 4) != 0;
  const Rung exact = type == HalfType::kFp16 ? Rung::kFp16Lossless : Rung::kBf16Lossless;
  constexpr Rung kRows[] = {Rung::kInt8, Rung::kFp8, Rung::kInt4, Rung::kFp4};
  const Rung rung = lossless ? exact : kRows[choice >> 3 & 3];
  kvcast::Survey survey(shape, type);
  survey.Add(pages.Block());
  const kvcast::TrackFormat format = *survey.FormatOf(rung);
  const auto reference = *Codec::Of(format, type, kvcast::ScalarKernels());
  const kvcast::Bytes object = reference->Encode(pages.Block(), 0);
  kvcast::TestPages expected(shape);
  kvcast::BlockView expected_block = expected.Block();
  const HalfType to = lossless ? type : out;
  KVCAST_CHECK(
      (*Codec::Of(format, to, kvcast::ScalarKernels()))->Decode(object, 0, expected_block).ok());
  KVCAST_CHECK(!lossless || kvcast::SameValues(pages.Block(), expected_block));
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    KVCAST_CHECK((*Codec::Of(format, type, *kernels))->Encode(pages.Block(), 0) == object);
    kvcast::TestPages got(shape);
    kvcast::BlockView got_block = got.Block();
    KVCAST_CHECK((*Codec::Of(format, to, *kernels))->Decode(object, 0, got_block).ok());
    KVCAST_CHECK(got.buffers() == expected.buffers());
  }
  return 0;
}
