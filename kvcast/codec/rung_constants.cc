#include "kvcast/codec/rung_constants.h"

#include <algorithm>
#include <bit>

#include "kvcast/base/check.h"
#include "kvcast/codec/bands.h"

namespace kvcast {
namespace {

// So many values an object has at least, if its block has them: the entropy coder's states then
// cost less than a fiftieth of a bit per value.
constexpr size_t kRunValues = 128 * 1024;
// The same where values take few bits.
constexpr size_t kBandRunValues = 1024 * 1024;
// The same where a matrix is read for each run: the more tokens it serves, the less that costs.
constexpr size_t kMatrixRunValues = 8 * 1024 * 1024;

uint32_t RunTokensOf(const BlockShape& shape, size_t values) {
  const size_t least = (values + shape.values_per_token() - 1) / shape.values_per_token();
  return static_cast<uint32_t>(std::min<size_t>(std::bit_ceil(least), shape.tokens()));
}

}  // namespace

RungConstants RungConstants::Sliced(std::span<const LayerShape> layers, const Slice& slice) const {
  RungConstants sliced;
  size_t row = 0;
  size_t plane = 0;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const bool wanted = !slice.layers || slice.layers->Contains(layer);
    for (int i = 0; i < (layers[layer].value_size == 0 ? 1 : 2); ++i, ++plane) {
      if (wanted) {
        sliced.fp4.push_back(fp4[plane]);
        sliced.tables.push_back(tables[plane]);
      }
      for (uint32_t head = 0; head < layers[layer].kv_heads; ++head, ++row) {
        if (wanted && (!slice.heads || slice.heads->Contains(head))) {
          sliced.fp8.push_back(fp8[row]);
        }
      }
    }
  }
  return sliced;
}

Result<TrackFormat> RungConstants::FormatOf(Rung rung, HalfType type, const BlockShape& shape,
                                            const Slice& slice) const {
  TrackFormat format = TrackFormat::Of(rung, type, shape, slice);
  if (rung == Rung::kFp8) {
    KVCAST_CHECK(fp8.size() == format.RowCount());
    format.scales = fp8;
  }
  if (rung == Rung::kFp4) {
    KVCAST_CHECK(fp4.size() == format.PlaneCount());
    format.scales = fp4;
  }
  if (rung == Rung::kBf16Lossless || rung == Rung::kFp16Lossless) {
    KVCAST_CHECK(tables.size() == format.PlaneCount());
    format.tables = tables;
    format.run_tokens = RunTokensOf(shape, kRunValues);
  }
  if (BandRungIndex(rung)) {
    format.run_tokens = RunTokensOf(shape, rung == Rung::kAc ? kBandRunValues : kMatrixRunValues);
  }
  KVCAST_TRY_VOID(format.Check());
  return format;
}

}  // namespace kvcast
