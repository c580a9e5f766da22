#include "kvcast/store/pack_format.h"

#include <algorithm>
#include <charconv>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/vi64.h"

namespace kvcast {
namespace {

constexpr BlockKind kPackKind{"kvcastP\n", kPackFormatVersion, "prefix"};
constexpr std::string_view kPackTrailerMagic = "kvcastQ\n";
constexpr size_t kNumberDigits = 10;
constexpr size_t kMarkerDigits = 16;
constexpr std::string_view kPackSuffix = ".pack";

std::string Padded(std::string_view text, size_t digits) {
  return std::string(digits - std::min(digits, text.size()), '0').append(text);
}

std::string MarkerText(uint64_t marker) {
  std::array<char, kMarkerDigits> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), marker, 16).ptr;
  return Padded(std::string(digits.data(), end), kMarkerDigits);
}

std::optional<uint64_t> NumberIn(std::string_view text, int base) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace

bool SameNode(const PackNode& a, const PackNode& b) {
  return std::equal(a.bytes.begin(), a.bytes.begin() + kPackNodeStableBytes, b.bytes.begin());
}

std::string PackKeyStart(std::string_view prefix) {
  return (prefix.empty() ? "" : std::string(prefix) + "/") + "v" +
         std::to_string(kPackFormatVersion) + "/";
}

std::string PackId::Key(std::string_view prefix) const {
  return PackKeyStart(prefix) + ToHex(node.bytes) + "/" +
         Padded(std::to_string(number), kNumberDigits) + "-" + MarkerText(marker) +
         std::string(kPackSuffix);
}

std::optional<PackId> PackId::Parse(std::string_view key, std::string_view prefix) {
  const std::string start = PackKeyStart(prefix);
  constexpr size_t kNodeDigits = 2 * sizeof(PackNode);
  constexpr size_t kRest = kNodeDigits + 1 + kNumberDigits + 1 + kMarkerDigits + kPackSuffix.size();
  if (!key.starts_with(start) || key.size() != start.size() + kRest) {
    return std::nullopt;
  }
  const std::string_view rest = key.substr(start.size());
  const auto node = FromHex(rest.substr(0, kNodeDigits));
  const auto number = NumberIn(rest.substr(kNodeDigits + 1, kNumberDigits), 10);
  const auto marker = NumberIn(rest.substr(kNodeDigits + 2 + kNumberDigits, kMarkerDigits), 16);
  if (!node.ok() || !number || !marker || *number == 0 || *number > kPackNumberMax) {
    return std::nullopt;
  }
  PackId id;
  std::ranges::copy(*node, id.node.bytes.begin());
  id.number = static_cast<uint32_t>(*number);
  id.marker = *marker;
  // There is one way to write it.
  return id.Key(prefix) == key ? std::optional(id) : std::nullopt;
}

Bytes PackHeader::Encode() const {
  ByteWriter fields;
  fields.Write(id.node.bytes);
  fields.U64Le(id.number);
  fields.U64Le(id.marker);
  return SealBlock(fields, kPackKind);
}

Result<PackHeader> PackHeader::Parse(std::span<const std::byte> block) {
  KVCAST_TRY(ByteReader reader, OpenBlock(block, kPackKind));
  PackHeader found;
  KVCAST_TRY_VOID(reader.Read(found.id.node.bytes));
  KVCAST_TRY(const uint64_t number, reader.U64Le());
  KVCAST_TRY(found.id.marker, reader.U64Le());
  if (number == 0 || number > kPackNumberMax) {
    return Error(ErrorCode::kMalformed, "The pack header's fields make no sense.");
  }
  found.id.number = static_cast<uint32_t>(number);
  return found;
}

Bytes PackTrailer::Encode() const {
  ByteWriter writer;
  writer.Write(kPackTrailerMagic);
  writer.U32Le(kPackFormatVersion);
  writer.U64Le(id.marker);  // Not at a multiple of 8, where a record would begin with it.
  writer.U32Le(body_bytes);
  writer.U32Le(body_sum);
  writer.U32Le(id.number);
  writer.Write(id.node.bytes);
  writer.U64Le(pack_bytes);
  writer.U32Le(0);
  Bytes trailer = writer.Take();
  writer.U32Le(Crc32c(trailer));
  trailer.Append(writer.Take());
  return trailer;
}

Result<PackTrailer> PackTrailer::Parse(std::span<const std::byte> bytes, const PackId& expected,
                                       uint64_t pack_bytes) {
  ByteReader reader(bytes);
  if (bytes.size() != kTrailerBytes ||
      AsText(bytes.first(kPackTrailerMagic.size())) != kPackTrailerMagic) {
    return reader.Malformed("The pack does not end as one.");
  }
  ByteReader last(bytes.last(4));
  if (*last.U32Le() != Crc32c(bytes.first(kTrailerBytes - 4))) {
    return reader.Malformed("The pack's trailer is damaged.");
  }
  KVCAST_TRY_VOID(reader.Skip(kPackTrailerMagic.size()));
  KVCAST_TRY(const uint32_t version, reader.U32Le());
  if (version != kPackFormatVersion) {
    return UnknownVersion(version, kPackKind);
  }
  PackTrailer found;
  KVCAST_TRY(found.id.marker, reader.U64Le());
  KVCAST_TRY(found.body_bytes, reader.U32Le());
  KVCAST_TRY(found.body_sum, reader.U32Le());
  KVCAST_TRY(found.id.number, reader.U32Le());
  KVCAST_TRY_VOID(reader.Read(found.id.node.bytes));
  KVCAST_TRY(found.pack_bytes, reader.U64Le());
  if (found.id != expected || found.pack_bytes != pack_bytes ||
      found.body_bytes + kTrailerBytes + kDeviceBlockBytes > pack_bytes) {
    return reader.Malformed("The pack's trailer is that of another pack.");
  }
  return found;
}

bool PackBody::has_removals() const {
  return std::ranges::any_of(contents.entries, [](const SegmentEntry& entry) {
    return std::holds_alternative<Removal>(entry.body);
  });
}

Result<PackBody> ParsePackBody(const Bytes& bytes, const PackTrailer& trailer) {
  if (bytes.size() != trailer.body_bytes || Crc32c(bytes) != trailer.body_sum) {
    return Error(ErrorCode::kMalformed, "The pack's index is damaged.");
  }
  PackBody body;
  ByteReader reader(bytes);
  KVCAST_TRY(body.written_us, reader.U64Le());
  KVCAST_TRY(body.seen, PackHorizon::Read(reader));
  KVCAST_TRY(body.contents, ReadContents(reader, trailer.pack_bytes));
  if (!reader.done()) {
    return reader.Malformed("The pack's index holds more than its fields.");
  }
  return body;
}

bool PackWriter::Fits(uint64_t pack_bytes, const TrackName& track, const RecordDraft& draft,
                      const EntryBody& entry) const {
  const uint64_t records = kDeviceBlockBytes + records_.size() + RecordUp(draft.size());
  return records + footer_.BytesWith(track, entry) <= pack_bytes;
}

uint64_t PackWriter::Append(const TrackName& track, const RecordDraft& draft,
                            const EntryBody& entry) {
  const uint64_t offset = kDeviceBlockBytes + records_.size();
  footer_.Add(track, offset, draft.size(), entry);
  records_.Append(draft.Encode(id_.SeatAt(offset), ordinal_++));
  return offset;
}

Bytes PackWriter::Seal(uint64_t written_us, const PackHorizon& seen) {
  ByteWriter writer;
  writer.U64Le(written_us);
  seen.WriteTo(writer);
  writer.Share(footer_.TakeBody());
  const Bytes body = writer.Take();
  Bytes pack = PackHeader{id_}.Encode();
  pack.Append(records_);
  records_ = Bytes();
  const uint64_t used = pack.size() + body.size() + kTrailerBytes;
  const PackTrailer trailer{id_, static_cast<uint32_t>(body.size()), Crc32c(body), BlocksUp(used)};
  KVCAST_CHECK(trailer.pack_bytes <= kPackBytesMax);
  pack.Append(ZeroBytes(trailer.pack_bytes - used));
  pack.Append(body);
  pack.Append(trailer.Encode());
  return pack;
}

}  // namespace kvcast
