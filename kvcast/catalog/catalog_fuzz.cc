// Any bytes: an object that we write back byte for byte in its shortest form, or an error. The
// check is mended first, since a fuzzer cannot guess a digest; records are then applied, and
// whatever they say, holdings must stay consistent.
#include "kvcast/base/check.h"
#include "kvcast/catalog/catalog_object.h"
#include "kvcast/catalog/holdings.h"

using kvcast::Bytes;
using kvcast::CatalogObject;
using kvcast::Holdings;

namespace {

Bytes WithMendedCheck(std::span<const std::byte> input) {
  Bytes bytes = Bytes::Copy(input);
  bytes.Append(Bytes::Copy(kvcast::Sha256::Of(input).span().first<8>()));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  (void)CatalogObject::Parse(Bytes::Copy(input)).ok();
  const auto object = CatalogObject::Parse(WithMendedCheck(input));
  if (!object.ok()) {
    KVCAST_CHECK(object.error().offset().value_or(0) <= size + 8);
    return 0;
  }
  KVCAST_CHECK(*CatalogObject::Parse(object->Encode()) == *object);
  Holdings holdings({.tracks_max = 100, .blocks_max = 1000});
  for (const kvcast::CatalogRecord& record : object->records) {
    (void)holdings.Apply(record).ok();
  }
  Holdings again;
  for (const kvcast::CatalogRecord& record : holdings.ToRecords()) {
    KVCAST_CHECK(again.Apply(record).ok());
  }
  KVCAST_CHECK(again.tracks() == holdings.tracks());
  KVCAST_CHECK(again.block_count() == holdings.block_count());
  return 0;
}
