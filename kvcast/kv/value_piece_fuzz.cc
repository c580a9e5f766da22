// Any bytes as a piece of a value: the piece that belongs there, copied as it is, or an error and a
// place that is untouched. The check is mended too, since a fuzzer does not guess it.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/kv/value_piece.h"

using kvcast::Bytes;
using kvcast::ValuePiece;

namespace {

constexpr size_t kCheckAt = 4;
constexpr size_t kCheckBytes = 4;
const kvcast::BlockHash kName;

std::string WithMendedCheck(std::string piece) {
  if (piece.size() >= ValuePiece::kHeaderBytes) {
    const std::span<const std::byte> all = kvcast::AsBytes(piece);
    const uint32_t sum =
        kvcast::Crc32c(all.subspan(kCheckAt + kCheckBytes),
                       kvcast::Crc32c(all.first(kCheckAt), kvcast::Crc32c(kName.span())));
    std::memcpy(piece.data() + kCheckAt, &sum, kCheckBytes);
  }
  return piece;
}

void Take(const std::string& piece, size_t length) {
  std::vector<std::byte> place(length, std::byte{0xee});
  const std::vector<std::byte> before = place;
  if (!ValuePiece::Take(kName, Bytes::Of(piece), 0, place).ok()) {
    KVCAST_CHECK(place == before);
    return;
  }
  const std::span<const std::byte> body = kvcast::AsBytes(piece).subspan(ValuePiece::kHeaderBytes);
  KVCAST_CHECK(std::ranges::equal(place, body));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string piece(reinterpret_cast<const char*>(data), size);
  KVCAST_CHECK(ValuePiece::LengthOf(size) <= size);
  // As long as it may be, and as it says.
  const size_t body = size > ValuePiece::kHeaderBytes ? size - ValuePiece::kHeaderBytes : 1;
  for (const std::string& each : {piece, WithMendedCheck(piece)}) {
    Take(each, body);
    Take(each, body + 1);
  }
  return 0;
}
