// Any bytes as the object of an acknowledgement track, and as the properties of a track or an
// object that may ask for durability or carry a block's key.
#include "kvcast/base/check.h"
#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/catalog/block_key.h"

using kvcast::Bytes;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const auto records = kvcast::ParseAcks(Bytes::Copy(input));
  if (records.ok()) {
    KVCAST_CHECK(!records->empty());
    const auto again = kvcast::ParseAcks(kvcast::EncodeAcks(*records));
    KVCAST_CHECK(again.ok() && *again == *records);
  } else {
    KVCAST_CHECK(records.error().offset().value_or(size + 1) <= size);
  }
  const auto properties =
      kvcast::Properties::Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!properties.ok()) {
    return 0;
  }
  if (const auto level = kvcast::DurabilityIn(*properties); level.ok()) {
    KVCAST_CHECK(*kvcast::DurabilityIn(kvcast::DurabilityProperties(*level)) == *level);
  }
  if (const auto key = kvcast::BlockKeyIn(*properties); key.ok() && *key) {
    KVCAST_CHECK(*kvcast::BlockKeyIn(kvcast::BlockKeyProperties(**key)) == *key);
  }
  return 0;
}
