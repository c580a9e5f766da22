// Any values in any shape: every kernel writes the same objects and makes the same values of them.
#include <cstring>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/survey.h"

using kvcast::Codec;
using kvcast::HalfType;
using kvcast::Rung;

namespace {

// Any matrix times any rows: sums that wrap around do so alike.
void FuzzProducts(kvcast::FuzzInput& input) {
  const uint32_t ins = 1 + input.Byte() % 40;
  const uint32_t outs = 1 + input.Byte() % 100;
  const uint32_t rows = 1 + input.Byte() % 6;
  const auto word = [&] {
    const uint32_t low = input.Byte();
    return static_cast<int16_t>(low | uint32_t{input.Byte()} << 8);
  };
  const kvcast::PairedMatrix matrix(ins, outs, [&](uint32_t, uint32_t) { return word(); });
  std::vector<int16_t> in(size_t{matrix.in_stride()} * rows);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = i % matrix.in_stride() < ins ? word() : int16_t{0};
  }
  std::vector<uint32_t> expected(size_t{matrix.outs()} * rows);
  kvcast::ScalarKernels().multiply(matrix.Times(in, rows, expected));
  for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
    std::vector<uint32_t> got(expected.size(), 1);
    kernels->multiply(matrix.Times(in, rows, got));
    KVCAST_CHECK(got == expected);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  const uint8_t choice = input.Byte();
  if ((choice & 128) != 0) {
    FuzzProducts(input);
    return 0;
  }
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
