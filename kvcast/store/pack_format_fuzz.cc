// Any bytes as a key, or as the end of a pack whose sums are right: refused, or within bounds and
// written back the same way.
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/store/pack_format.h"

namespace kvcast {
namespace {

constexpr uint64_t kFuzzPackBytes = 65536;

void ReadKey(FuzzInput& input) {
  const std::string key(AsText(input.Bytes(SIZE_MAX)));
  if (const auto id = PackId::Parse(key, "kv")) {
    KVCAST_CHECK(id->Key("kv") == key && id->number > 0);
  }
}

void ReadTrailer(FuzzInput& input) {
  std::vector<std::byte> bytes(kTrailerBytes);
  const auto given = input.Bytes(kTrailerBytes - 4);
  std::copy(given.begin(), given.end(), bytes.begin());
  ByteWriter sum;
  sum.U32Le(Crc32c(std::span(bytes).first(kTrailerBytes - 4)));
  sum.Take().CopyTo(std::span(bytes).last(4));
  const auto trailer = PackTrailer::Parse(bytes, PackId(), kFuzzPackBytes);
  if (trailer.ok()) {
    KVCAST_CHECK(trailer->body_bytes < kFuzzPackBytes);
  }
}

void ReadBodyOfPack(FuzzInput& input) {
  const Bytes bytes = Bytes::Copy(input.Bytes(SIZE_MAX));
  PackTrailer trailer;
  trailer.body_bytes = static_cast<uint32_t>(bytes.size());
  trailer.body_sum = Crc32c(bytes);
  trailer.pack_bytes = kFuzzPackBytes;
  const auto body = ParsePackBody(bytes, trailer);
  if (body.ok()) {
    for (const SegmentEntry& entry : body->contents.entries) {
      KVCAST_CHECK(entry.track < body->contents.tracks.size());
      KVCAST_CHECK(entry.offset + entry.length <= kFuzzPackBytes);
    }
  }
}

}  // namespace
}  // namespace kvcast

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  switch (input.Byte() % 3) {
    case 0:
      kvcast::ReadKey(input);
      break;
    case 1:
      kvcast::ReadTrailer(input);
      break;
    default:
      kvcast::ReadBodyOfPack(input);
      break;
  }
  return 0;
}
