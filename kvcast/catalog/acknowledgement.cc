#include "kvcast/catalog/acknowledgement.h"

#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/catalog/property_place.h"

namespace kvcast {
namespace {

constexpr std::string_view kAckMagic = "kvak";
constexpr uint8_t kAckVersion = 1;
constexpr uint8_t kNotReached = 255;

Result<AckRecord> ReadAck(ByteReader& reader) {
  const uint64_t at = reader.offset();
  AckRecord record;
  KVCAST_TRY(const uint8_t outcome, reader.U8());
  record.level = DurabilityOf(uint64_t{outcome});
  if (!record.level && outcome != kNotReached) {
    return Error(ErrorCode::kMalformed, "There is no durability " + std::to_string(outcome) + ".")
        .At(at);
  }
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length > kTrackNameBytesMax) {
    return reader.Malformed("A track's name is not that long.");
  }
  KVCAST_TRY(record.name, reader.Text(static_cast<size_t>(length)));
  KVCAST_TRY(record.first, reader.Vi64());
  KVCAST_TRY(record.last, reader.Vi64());
  if (record.last < record.first) {
    return reader.Malformed("The groups end before they begin.");
  }
  return record;
}

}  // namespace

Properties DurabilityProperties(Durability level) {
  const Properties inner =
      PropertiesBuilder().Number(kDurabilityProperty, static_cast<uint64_t>(level)).Build();
  return PropertiesBuilder().Immutable(inner).Build();
}

Result<Durability> DurabilityIn(const Properties& properties) {
  const std::optional<Properties> inner = properties.Immutable();
  std::optional<uint64_t> asked;
  for (const Property& property : inner ? inner->List() : std::vector<Property>()) {
    if (property.type != kDurabilityProperty) {
      continue;
    }
    if (asked) {
      return Error(ErrorCode::kMalformed, "A track asks for one durability; here are two.")
          .At(ImmutablePlace(properties, kDurabilityProperty, 1));
    }
    asked = property.number;
  }
  const std::optional<Durability> level = DurabilityOf(asked.value_or(0));
  if (!level) {
    return Error(ErrorCode::kMalformed, "There is no durability " + std::to_string(*asked) + ".")
        .At(ImmutablePlace(properties, kDurabilityProperty, 0));
  }
  return *level;
}

Result<TrackName> AckTrackOf(const TrackNamespace& space) {
  return TrackName::Of(space, kAckTrackName);
}

Bytes EncodeAcks(const std::vector<AckRecord>& records) {
  KVCAST_CHECK(!records.empty());
  ByteWriter writer;
  writer.Write(kAckMagic);
  writer.U8(kAckVersion);
  writer.U8(0);
  writer.U16Le(0);
  for (const AckRecord& record : records) {
    writer.U8(record.level ? static_cast<uint8_t>(*record.level) : kNotReached);
    writer.Vi64(record.name.size());
    writer.Write(record.name);
    writer.Vi64(record.first);
    writer.Vi64(record.last);
  }
  return writer.Take();
}

Result<std::vector<AckRecord>> ParseAcks(const Bytes& payload) {
  ByteReader reader(payload);
  KVCAST_TRY(const std::string magic, reader.Text(kAckMagic.size()));
  KVCAST_TRY(const uint8_t version, reader.U8());
  KVCAST_TRY(const uint8_t zero, reader.U8());
  KVCAST_TRY(const uint16_t zeros, reader.U16Le());
  if (magic != kAckMagic) {
    return Error(ErrorCode::kMalformed, "This is no acknowledgement.").At(0);
  }
  if (version != kAckVersion) {
    return Error(ErrorCode::kUnsupported,
                 "Acknowledgements of version " + std::to_string(version) + " are not known.")
        .At(kAckMagic.size());
  }
  if (zero != 0 || zeros != 0) {
    return Error(ErrorCode::kMalformed,
                 "Three bytes of an acknowledgement are zero, by its version.")
        .At(kAckMagic.size() + 1);
  }
  std::vector<AckRecord> records;
  do {
    KVCAST_TRY(AckRecord record, ReadAck(reader));
    records.push_back(std::move(record));
  } while (!reader.done());
  return records;
}

}  // namespace kvcast
