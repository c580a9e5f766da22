// Any bytes as a block, a record or a footer of a disk tier: refused, or something that is written
// back the same way.
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/store/disk_record.h"
#include "kvcast/store/segment_footer.h"
#include "kvcast/store/segment_scan.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegmentBytes = 65536;

// A block whose sum is right, so that what it says is looked at.
void ReadBlock(FuzzInput& input) {
  std::vector<std::byte> block(kDeviceBlockBytes);
  const auto bytes = input.Bytes(block.size() - 4);
  std::copy(bytes.begin(), bytes.end(), block.begin());
  ByteWriter sum;
  sum.U32Le(Crc32c(std::span(block).first(block.size() - 4)));
  sum.Take().CopyTo(std::span(block).last(4));
  if (const auto superblock = Superblock::Parse(block); superblock.ok()) {
    KVCAST_CHECK(*Superblock::Parse(AsBytes(superblock->Encode().Slice(0, 4096).ToString())) ==
                 *superblock);
  }
  if (const auto header = SegmentHeader::Parse(block); header.ok()) {
    KVCAST_CHECK(*SegmentHeader::Parse(AsBytes(header->Encode().ToString())) == *header);
  }
}

void ReadRecordBody(FuzzInput& input) {
  const auto kind = static_cast<RecordKind>(1 + input.Byte() % 4);
  const Bytes bytes = Bytes::Copy(input.Bytes(SIZE_MAX));
  ByteReader reader(bytes);
  const auto body = ReadBody(reader, kind);
  if (body.ok()) {
    ByteWriter writer;
    WriteBody(writer, *body);
    const Bytes written = writer.Take();
    ByteReader again(written);
    KVCAST_CHECK(ReadBody(again, kind).ok() && again.done());
  }
}

// A body whose sum is right.
void ReadFooter(FuzzInput& input) {
  const Bytes body = Bytes::Copy(input.Bytes(SIZE_MAX));
  FooterTrailer trailer;
  trailer.body_bytes = static_cast<uint32_t>(body.size());
  trailer.body_sum = Crc32c(body);
  Bytes footer = body;
  footer.Append(ZeroBytes(kTrailerBytes));
  const auto contents = ParseFooter(footer, trailer, kSegmentBytes);
  if (contents.ok()) {
    for (const SegmentEntry& entry : contents->entries) {
      KVCAST_CHECK(entry.track < contents->tracks.size());
      KVCAST_CHECK(entry.offset + entry.length <= kSegmentBytes);
    }
  }
}

void ScanSegment(FuzzInput& input) {
  std::vector<std::byte> segment(kSegmentBytes);
  const auto bytes = input.Bytes(segment.size() - kDeviceBlockBytes);
  std::copy(bytes.begin(), bytes.end(), segment.begin() + kDeviceBlockBytes);
  SegmentScan scan(DirectoryId(), 1, 0x6161616161616161, kSegmentBytes, 0x3801);
  while (const auto wanted = scan.Wanted()) {
    scan.OnWindow(*wanted, Bytes::Copy(std::span(segment).subspan(wanted->offset, wanted->length)));
  }
}

}  // namespace
}  // namespace kvcast

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  switch (input.Byte() % 4) {
    case 0:
      kvcast::ReadBlock(input);
      break;
    case 1:
      kvcast::ReadRecordBody(input);
      break;
    case 2:
      kvcast::ReadFooter(input);
      break;
    default:
      kvcast::ScanSegment(input);
      break;
  }
  return 0;
}
