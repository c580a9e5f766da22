// Any bytes: an object that we write back byte for byte in its shortest form, or an error. The
// check is mended first, since a fuzzer cannot guess a digest; records are then applied, and
// whatever they say, holdings must stay consistent. Records that holdings take one by one come to
// the same when they are merged.
// Inputs of up to 65536 bytes: more records than one object may have.
#include "kvcast/base/check.h"
#include "kvcast/catalog/catalog_object.h"
#include "kvcast/catalog/delta.h"
#include "kvcast/catalog/holdings.h"

using kvcast::Bytes;
using kvcast::CatalogLimits;
using kvcast::CatalogObject;
using kvcast::CatalogRecord;
using kvcast::CatalogRecords;
using kvcast::Delta;
using kvcast::Holdings;

namespace {

Bytes WithMendedCheck(std::span<const std::byte> input) {
  Bytes bytes = Bytes::Copy(input);
  bytes.Append(Bytes::Copy(kvcast::Sha256::Of(input).span().first<8>()));
  return bytes;
}

void CheckSame(const Holdings& a, const Holdings& b) {
  KVCAST_CHECK(a.tracks() == b.tracks());
  KVCAST_CHECK(a.block_count() == b.block_count());
}

// Of those records that holdings take, the first `known` are there already, and the others come as
// two deltas, merged.
void CheckMerge(const CatalogRecords& records, size_t known, const CatalogLimits& limits) {
  Holdings one_by_one(limits);
  Holdings merged(limits);
  Delta first;
  CatalogRecords second;
  for (const CatalogRecord& record : records) {
    if (!one_by_one.Apply(record).ok()) {
      continue;
    }
    if (known > 0) {
      --known;
      KVCAST_CHECK(merged.Apply(record).ok());
    } else if (second.empty() && record.index() % 2 == 0) {
      KVCAST_CHECK(first.Add(record).ok());
    } else {
      second.push_back(record);
    }
  }
  KVCAST_CHECK(first.Merge(second).ok());
  for (const CatalogRecord& record : first.ToRecords()) {
    KVCAST_CHECK(merged.Apply(record).ok());
  }
  CheckSame(merged, one_by_one);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  (void)CatalogObject::Parse(Bytes::Copy(input)).ok();
  const auto object = CatalogObject::Parse(WithMendedCheck(input));
  if (!object.ok()) {
    KVCAST_CHECK(object.error().offset().value_or(size + 9) <= size + 8);
    return 0;
  }
  KVCAST_CHECK(*CatalogObject::Parse(object->Encode()) == *object);
  const CatalogLimits limits = {.tracks_max = 4, .blocks_max = 16};
  Holdings holdings(limits);
  for (const CatalogRecord& record : object->records) {
    (void)holdings.Apply(record).ok();
  }
  Holdings again;
  for (const CatalogRecord& record : holdings.ToRecords()) {
    KVCAST_CHECK(again.Apply(record).ok());
  }
  CheckSame(again, holdings);
  for (const size_t known : {size_t{0}, object->records.size() / 2}) {
    CheckMerge(object->records, known, limits);
  }
  return 0;
}
