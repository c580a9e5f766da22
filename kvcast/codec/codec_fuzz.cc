// Any payload at any rung: a token's values, or an error; every kernel says the same.
#include <algorithm>
#include <memory>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/codec/band_samples_test.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_object.h"
#include "kvcast/codec/coded_pages_test.h"
#include "kvcast/codec/survey.h"

namespace {

using kvcast::Bytes;
using kvcast::Codec;
using kvcast::HalfType;
using kvcast::Rung;

constexpr Rung kFuzzRungs[] = {Rung::kBf16,         Rung::kFp8,          Rung::kInt8,
                               Rung::kFp4,          Rung::kInt4,         Rung::kFp16,
                               Rung::kBf16Lossless, Rung::kFp16Lossless, Rung::kAc,
                               Rung::kKtcCoarse,    Rung::kKtcMedium,    Rung::kKtcFine};

// Of heads whose keys are turned in part, transformed one by one.
const kvcast::Calibration& FuzzCalibration() {
  static const kvcast::Calibration calibration =
      kvcast::BandCalibration({{2, 34, 17}}, HalfType::kBf16, kvcast::BandForm::kHead,
                              kvcast::Rope{2, false, {uint64_t{1} << 60, uint64_t{1} << 50}});
  return calibration;
}

// A rung with a codec for each kernel, made once.
struct Target {
  Rung rung;
  HalfType type;
  kvcast::BlockShape shape{{{2, 34, 17}}, 2};
  uint32_t format_sum = 0;
  std::vector<std::unique_ptr<const Codec>> codecs;

  explicit Target(Rung of) : rung(of) {
    const bool half = rung == Rung::kFp16 || rung == Rung::kFp16Lossless;
    type = half ? HalfType::kFp16 : HalfType::kBf16;
    kvcast::TestPages pages(shape);
    pages.FillLikeACache(type, 1);
    kvcast::Survey survey(shape, type);
    survey.Add(pages.Block());
    const bool banded = kvcast::BandRungIndex(rung).has_value();
    const kvcast::TrackFormat format =
        banded ? *FuzzCalibration().FormatOf(rung, shape.tokens()) : *survey.FormatOf(rung);
    format_sum = kvcast::Crc32c(kvcast::AsBytes(format.Encode()));
    for (const kvcast::Kernels* kernels : kvcast::UsableKernels()) {
      codecs.push_back(banded ? *Codec::Of(format, type, FuzzCalibration(), *kernels)
                              : *Codec::Of(format, type, *kernels));
    }
  }
};

void Feed(const Target& target, const Bytes& payload) {
  kvcast::TestPages first(target.shape);
  bool first_ok = false;
  for (size_t i = 0; i < target.codecs.size(); ++i) {
    kvcast::TestPages pages(target.shape);
    kvcast::BlockView block = pages.Block();
    const bool ok = target.codecs[i]->Decode(payload, 0, block).ok();
    if (i == 0) {
      first_ok = ok;
      std::swap(first.buffers(), pages.buffers());
      continue;
    }
    KVCAST_CHECK(ok == first_ok);
    KVCAST_CHECK(!ok || pages.buffers() == first.buffers());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Target> targets(std::begin(kFuzzRungs), std::end(kFuzzRungs));
  if (size == 0) {
    return 0;
  }
  const Target& target = targets[data[0] % targets.size()];
  const std::span<const std::byte> input = std::as_bytes(std::span(data + 1, size - 1));
  Feed(target, Bytes::Copy(input));
  // With a check that fits, as a writer would; the rest zero where the input is too short.
  const Codec& codec = *target.codecs[0];
  const uint32_t tokens = codec.TokensFrom(0);
  const bool fixed = codec.format().run_tokens == 1;
  const size_t bytes =
      fixed ? codec.ObjectBytesMax() : kvcast::CodedObject::kHeaderBytes + input.size();
  std::vector<std::byte> sealed(bytes);
  std::ranges::copy(input.first(std::min(input.size(), bytes - kvcast::CodedObject::kHeaderBytes)),
                    sealed.begin() + kvcast::CodedObject::kHeaderBytes);
  kvcast::CodedObject::Seal(target.rung, tokens, target.format_sum, sealed);
  Feed(target, Bytes::Copy(sealed));
  return 0;
}
