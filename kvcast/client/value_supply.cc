#include "kvcast/client/value_supply.h"

#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {

uint32_t ValueSupply::EndOf(size_t block) const {
  return ValuePiece::CountOf(values_[block].bytes.size());
}

Properties ValueSupply::ObjectPropertiesOf(const BlockHash& hash, size_t, uint32_t object) const {
  return object == 0 ? BlockHashProperties(hash) : Properties();
}

std::optional<Bytes> ValueSupply::Payload(size_t block, uint32_t object) {
  return ValuePiece::Make(values_[block].name, values_[block].bytes, object);
}

}  // namespace kvcast
