// Any bytes as an export, in pieces or at once: the same records, or an error after which nothing
// comes. And an export of ours with bytes changed as the input says: never taken for whole.
#include <algorithm>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/store/export_stream.h"

namespace {

struct Taken {
  uint64_t records = 0;
  bool failed = false;
  bool ended = false;
  friend bool operator==(const Taken&, const Taken&) = default;
};

Taken Take(std::span<const std::byte> data, size_t piece) {
  kvcast::ExportReader reader;
  Taken taken;
  for (size_t at = 0; at < data.size() && !taken.failed; at += piece) {
    reader.Append(kvcast::Bytes::Copy(data.subspan(at, std::min(piece, data.size() - at))));
    while (true) {
      const auto record = reader.Next();
      taken.failed = !record.ok();
      if (taken.failed || !record->has_value()) {
        break;
      }
      ++taken.records;
    }
  }
  KVCAST_CHECK(taken.failed || taken.records == reader.records());
  taken.ended = reader.ended();
  return taken;
}

std::string OurExport() {
  const kvcast::TrackName track = *kvcast::TrackName::Parse("some-space--track");
  kvcast::ExportWriter writer({{}, 0x1122334455667788});
  kvcast::Bytes all = writer.Head();
  kvcast::TrackFacts facts;
  facts.end = kvcast::Location{9, 0};
  all.Append(*writer.Record({track, facts}));
  for (uint64_t object = 0; object < 3; ++object) {
    kvcast::StoredObject stored;
    stored.object.location = {4, object};
    stored.object.payload = kvcast::Bytes::Of(std::string(object * 100, 'x'));
    all.Append(*writer.Record({track, stored}));
  }
  all.Append(*writer.Record({track, kvcast::GroupEnd{4, 3}}));
  all.Append(writer.End());
  return all.ToString();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size));
  KVCAST_CHECK(Take(bytes, size) == Take(bytes, 37));

  static const std::string ours = OurExport();
  std::string changed = ours;
  for (size_t i = 0; i + 2 < size; i += 3) {
    const size_t place = (size_t{data[i]} << 8 | data[i + 1]) % changed.size();
    changed[place] = static_cast<char>(changed[place] ^ static_cast<char>(data[i + 2]));
  }
  const Taken taken = Take(kvcast::AsBytes(changed), changed.size());
  KVCAST_CHECK((taken.ended && !taken.failed) == (changed == ours));
  return 0;
}
