#include "kvcast/store/segment_footer.h"

#include <string_view>
#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/vi64.h"

namespace kvcast {
namespace {

constexpr std::string_view kTrailerMagic = "kvcastF\n";
constexpr size_t kTrailerZeros = 36;
constexpr uint64_t kEntryBytesMin = 5;
// What an object's entry has beside what all have.
constexpr uint8_t kHasKey = 1;
constexpr uint8_t kHasAbsent = 2;

void WriteEntryBody(ByteWriter& writer, const EntryBody& body) {
  if (const auto* object = std::get_if<ObjectEntry>(&body)) {
    writer.Vi64(object->location.group);
    writer.Vi64(object->location.object);
    writer.Vi64(object->payload_bytes);
    writer.U32Le(object->identity);
    writer.U8(
        static_cast<uint8_t>((object->key ? kHasKey : 0) | (object->absent > 0 ? kHasAbsent : 0)));
    if (object->key) {
      writer.Write(object->key->bytes);
    }
    if (object->absent > 0) {
      writer.Vi64(object->absent);
    }
  } else if (const auto* facts = std::get_if<TrackFacts>(&body)) {
    WriteBody(writer, *facts);
  } else if (const auto* end = std::get_if<GroupEnd>(&body)) {
    WriteBody(writer, *end);
  } else {
    WriteBody(writer, std::get<Removal>(body));
  }
}

Result<EntryBody> ReadObjectEntry(ByteReader& reader) {
  ObjectEntry object;
  KVCAST_TRY(object.location.group, reader.Vi64());
  KVCAST_TRY(object.location.object, reader.Vi64());
  KVCAST_TRY(const uint64_t payload_bytes, reader.Vi64());
  KVCAST_TRY(object.identity, reader.U32Le());
  KVCAST_TRY(const uint8_t flags, reader.U8());
  if (payload_bytes > UINT32_MAX || flags > (kHasKey | kHasAbsent)) {
    return reader.Malformed("An object's entry makes no sense.");
  }
  object.payload_bytes = static_cast<uint32_t>(payload_bytes);
  if ((flags & kHasKey) != 0) {
    Digest key;
    KVCAST_TRY_VOID(reader.Read(key.bytes));
    object.key = key;
  }
  if ((flags & kHasAbsent) != 0) {
    KVCAST_TRY(const uint64_t absent, reader.Vi64());
    if (absent == 0 || absent > UINT32_MAX || absent > object.location.object) {
      return reader.Malformed("An object leaves out none, or more than there are before it.");
    }
    object.absent = static_cast<uint32_t>(absent);
  }
  return EntryBody(object);
}

Result<EntryBody> ReadEntryBody(ByteReader& reader, uint8_t kind) {
  if (kind == static_cast<uint8_t>(RecordKind::kObject)) {
    return ReadObjectEntry(reader);
  }
  KVCAST_TRY(RecordBody body, ReadBody(reader, static_cast<RecordKind>(kind)));
  return EntryOf(body, 0, 0);
}

Result<SegmentEntry> ReadEntry(ByteReader& reader, size_t tracks, uint64_t segment_bytes) {
  SegmentEntry entry;
  KVCAST_TRY(const uint8_t kind, reader.U8());
  KVCAST_TRY(const uint64_t track, reader.Vi64());
  KVCAST_TRY(const uint64_t unit, reader.Vi64());
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (track >= tracks || unit > segment_bytes / kRecordAlignment || length > UINT32_MAX ||
      length < kRecordHeaderBytes || unit * kRecordAlignment + length > segment_bytes) {
    return reader.Malformed("An entry lies outside of its segment.");
  }
  entry.track = static_cast<uint32_t>(track);
  entry.offset = unit * kRecordAlignment;
  entry.length = static_cast<uint32_t>(length);
  KVCAST_TRY(entry.body, ReadEntryBody(reader, kind));
  return entry;
}

}  // namespace

Result<FooterTrailer> FooterTrailer::Parse(std::span<const std::byte> bytes,
                                           const DirectoryId& directory, uint64_t segment,
                                           uint64_t segment_bytes) {
  ByteReader reader(bytes);
  if (bytes.size() != kTrailerBytes || AsText(bytes.first(kTrailerMagic.size())) != kTrailerMagic) {
    return reader.Malformed("The segment has not been sealed.");
  }
  FooterTrailer trailer;
  KVCAST_TRY_VOID(reader.Skip(kTrailerMagic.size()));
  KVCAST_TRY(trailer.marker, reader.U64Le());
  KVCAST_TRY(trailer.body_bytes, reader.U32Le());
  KVCAST_TRY(trailer.body_sum, reader.U32Le());
  KVCAST_TRY_VOID(reader.Skip(kTrailerZeros));
  KVCAST_TRY(const uint32_t sum, reader.U32Le());
  const uint32_t start = PlaceSum(directory, segment, segment_bytes - kTrailerBytes);
  if (sum != Crc32c(bytes.first(kTrailerBytes - 4), start) ||
      trailer.footer_bytes() > segment_bytes - kDeviceBlockBytes) {
    return reader.Malformed("The segment's footer is damaged.");
  }
  return trailer;
}

Result<SegmentContents> ParseFooter(const Bytes& footer, const FooterTrailer& trailer,
                                    uint64_t segment_bytes) {
  if (footer.size() < trailer.body_bytes + kTrailerBytes) {
    return Error(ErrorCode::kMalformed, "The footer ends early.");
  }
  const Bytes body =
      footer.Slice(footer.size() - kTrailerBytes - trailer.body_bytes, trailer.body_bytes);
  if (Crc32c(body) != trailer.body_sum) {
    return Error(ErrorCode::kMalformed, "The segment's footer is damaged.");
  }
  ByteReader reader(body);
  return ReadContents(reader, segment_bytes);
}

Result<SegmentContents> ReadContents(ByteReader& reader, uint64_t segment_bytes) {
  SegmentContents contents;
  KVCAST_TRY(const uint64_t tracks, reader.Vi64());
  for (uint64_t i = 0; i < tracks; ++i) {
    KVCAST_TRY(TrackName name, TrackName::ReadFrom(reader));
    contents.tracks.push_back(std::move(name));
  }
  KVCAST_TRY(const uint64_t entries, reader.Vi64());
  if (entries > reader.remaining() / kEntryBytesMin) {
    return reader.Malformed("There are not that many entries.");
  }
  contents.entries.reserve(entries);
  for (uint64_t i = 0; i < entries; ++i) {
    KVCAST_TRY(SegmentEntry entry, ReadEntry(reader, contents.tracks.size(), segment_bytes));
    contents.entries.push_back(std::move(entry));
  }
  return contents;
}

uint64_t FooterWriter::BytesWith(const TrackName& track, const EntryBody& body) const {
  ByteWriter one;
  WriteEntryBody(one, body);
  uint64_t bytes = names_.size() + entries_.size() + one.size() + 1 + 5 * kVi64BytesMax;
  if (!tracks_.contains(track)) {
    track.WriteTo(one);
    bytes += one.size();
  }
  return BlocksUp(bytes + kTrailerBytes);
}

void FooterWriter::Add(const TrackName& track, uint64_t offset, uint64_t length,
                       const EntryBody& body) {
  const auto [found, is_new] = tracks_.try_emplace(track, static_cast<uint32_t>(tracks_.size()));
  if (is_new) {
    track.WriteTo(names_);
  }
  entries_.U8(static_cast<uint8_t>(body.index() + 1));
  entries_.Vi64(found->second);
  entries_.Vi64(offset / kRecordAlignment);
  entries_.Vi64(length);
  WriteEntryBody(entries_, body);
  ++entry_count_;
}

Bytes FooterWriter::TakeBody() {
  ByteWriter writer;
  writer.Vi64(tracks_.size());
  writer.Share(names_.Take());
  writer.Vi64(entry_count_);
  writer.Share(entries_.Take());
  tracks_.clear();
  entry_count_ = 0;
  return writer.Take();
}

Bytes FooterWriter::Encode(const DirectoryId& directory, uint64_t segment, uint64_t segment_bytes,
                           uint64_t marker) {
  const Bytes body = TakeBody();
  ByteWriter writer;
  writer.Write(kTrailerMagic);
  writer.U64Le(marker);
  writer.U32Le(static_cast<uint32_t>(body.size()));
  writer.U32Le(Crc32c(body));
  writer.Share(ZeroBytes(kTrailerZeros));
  Bytes trailer = writer.Take();
  writer.U32Le(Crc32c(trailer, PlaceSum(directory, segment, segment_bytes - kTrailerBytes)));
  trailer.Append(writer.Take());

  const uint64_t used = body.size() + kTrailerBytes;
  Bytes footer = ZeroBytes(BlocksUp(used) - used);
  footer.Append(body);
  footer.Append(trailer);
  return footer;
}

}  // namespace kvcast
