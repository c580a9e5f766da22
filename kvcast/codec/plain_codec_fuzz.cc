// Any payload: a token's values, or an error and untouched pages.
#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/codec/plain_codec.h"
#include "kvcast/codec/token_object.h"

using kvcast::BlockView;
using kvcast::Bytes;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const kvcast::BlockShape shape({{2, 3, 3}}, 1);
  std::vector<std::byte> keys(12, std::byte{0xee});
  std::vector<std::byte> values(12, std::byte{0xee});
  const kvcast::LayerMemory memory[] = {{keys, values}};
  const auto cache = kvcast::PagedCache::Of(
      shape, {kvcast::PageOrder::kNhd, kvcast::KvPlacement::kApart, 1, 2}, memory);
  const uint32_t table[] = {0};
  BlockView block = *BlockView::Of(*cache, table, 0, 1);
  const kvcast::PlainCodec codec(kvcast::Rung::kBf16, shape);
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  if (!codec.DecodeToken(Bytes::Copy(input), 0, block).ok()) {
    KVCAST_CHECK(std::ranges::all_of(keys, [](std::byte b) { return b == std::byte{0xee}; }));
  } else {
    KVCAST_CHECK(codec.Encode(block)[0] == Bytes::Copy(input));
  }
  if (size >= kvcast::TokenObject::kHeaderBytes) {  // With a check that fits, as a writer would.
    std::vector<std::byte> sealed(input.begin(), input.end());
    kvcast::TokenObject::Seal(kvcast::Rung::kBf16, sealed);
    KVCAST_CHECK(codec.DecodeToken(Bytes::Copy(sealed), 0, block).ok() ==
                 (size == codec.object_bytes()));
  }
  return 0;
}
