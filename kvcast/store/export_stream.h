#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/store/disk_record.h"

// What a store holds as one stream of bytes, to be kept or carried elsewhere. The contract is in
// docs/reference/export-format.md.
//
//   export := head record* end
//   head   := block               magic "kvcastX\n", version 1   fields := id[16] marker:u64
//   record := as in a segment, at its offset in the stream, of segment 0 of directory id
//   end    := magic[8] records:u64 zero[44] sum:u32              magic "kvcastE\n"; 64 bytes
//
// The end's sum goes on from that of its place, as a record's does. So nothing can be missing, be
// doubled or be out of order without being noticed.
namespace kvcast {

inline constexpr uint32_t kExportVersion = 1;
inline constexpr uint64_t kExportEndBytes = 64;

struct ExportId {
  DirectoryId id;
  uint64_t marker = 0;  // REQUIRES: neither 0 nor what an end begins with.
};

class ExportWriter {
 public:
  explicit ExportWriter(const ExportId& id) : id_(id) {}

  // Whatever comes next in the stream. Head() first, End() last.
  Bytes Head();
  // Too large: as RecordDraft::Of() says.
  Result<Bytes> Record(const DiskRecord& record);
  Bytes End();

  uint64_t records() const { return records_; }
  uint64_t bytes() const { return offset_; }

 private:
  ExportId id_;
  uint64_t offset_ = 0;
  uint32_t records_ = 0;
};

// Takes a stream as it comes, in pieces of any size, and gives its records out.
class ExportReader {
 public:
  void Append(const Bytes& bytes) { buffer_.Append(bytes); }
  // The next record, if all of it has come. Unsupported: of another version. Malformed: damaged,
  // cut, or no export; nothing more comes then.
  Result<std::optional<DiskRecord>> Next();

  // The end has been seen: all records that there were have been given out.
  bool ended() const { return ended_; }
  uint64_t records() const { return records_; }

 private:
  Result<void> ReadHead();
  Result<void> ReadEnd();
  void Drop(uint64_t bytes);

  Bytes buffer_;
  std::optional<ExportId> id_;
  uint64_t offset_ = 0;  // Of the buffer's beginning.
  uint64_t records_ = 0;
  bool ended_ = false;
};

}  // namespace kvcast
