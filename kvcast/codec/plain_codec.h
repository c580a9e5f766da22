#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/block_view.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// The rungs that keep values as they are, FP16 and BF16: one object a token, its values in the
// canonical order layer, K before V, head, value. Reads straight from an engine's pages and
// writes straight into them, whatever their layout.
//
// The engine's values must already be of the rung's type: converting is another rung's business.
class PlainCodec {
 public:
  // REQUIRES: FP16 or BF16, and a block of values of 2 bytes.
  PlainCodec(Rung rung, const BlockShape& shape);

  size_t object_bytes() const { return object_bytes_; }

  // One token's payload. REQUIRES: a block of this shape, token within it.
  Bytes EncodeToken(const BlockView& block, uint32_t token) const;
  // One payload a token, in order. REQUIRES: a block of this shape.
  std::vector<Bytes> Encode(const BlockView& block) const;
  // Writes one token's values. Mismatch: the payload is not one of this shape and rung, or is
  // damaged; then nothing has been written. REQUIRES: a block of this shape, token within it.
  Result<void> DecodeToken(const Bytes& payload, uint32_t token, BlockView& block) const;

 private:
  Rung rung_;
  BlockShape shape_;
  size_t object_bytes_;
};

}  // namespace kvcast
