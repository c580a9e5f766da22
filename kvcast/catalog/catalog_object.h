#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/catalog/record.h"

namespace kvcast {

enum class CatalogKind : uint8_t { kSnapshot = 0, kDelta = 1 };

// One object of a catalog's track, as bytes:
//
//   object := "kvct" version:u8 kind:u8 zero:u16 part:u32 parts:u32 count:u32 record*count check:8
//   record := 1 id:vi64 name | 2 id:vi64 group:vi64 bytes:vi64 key:32 | 3 id:vi64 group:vi64
//           | 4 id:vi64
//   check  := the first 8 bytes of SHA-256 over all before it          all little-endian
//
// docs/reference/catalog.md is the contract.
struct CatalogObject {
  static constexpr uint8_t kVersion = 1;
  static constexpr size_t kBytesMax = 1024 * 1024;
  // Small records take fifty times their bytes once they are read.
  static constexpr size_t kRecordsMax = 128 * 1024;
  // Where they stand.
  static constexpr uint64_t kKindAt = 5;
  static constexpr uint64_t kPartAt = 8;

  CatalogKind kind = CatalogKind::kDelta;
  uint32_t part = 0;  // Of a snapshot; a delta is its own only part.
  uint32_t parts = 1;
  CatalogRecords records;

  // REQUIRES: the records fit both, as EncodeCatalog() sees to.
  Bytes Encode() const;
  // Checks form and check sum, not what the records mean: Holdings does.
  static Result<CatalogObject> Parse(const Bytes& payload);

  friend bool operator==(const CatalogObject&, const CatalogObject&) = default;
};

// The records as payloads of objects, as many as it takes; at least one for a snapshot, none for
// an empty delta.
std::vector<Bytes> EncodeCatalog(CatalogKind kind, std::span<const CatalogRecord> records);

}  // namespace kvcast
