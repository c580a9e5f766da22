#include "kvcast/moqt/draft18_datagram.h"

#include <string>
#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/draft18_properties.h"

namespace kvcast::moqt::draft18 {
namespace {

constexpr uint64_t kDatagramProperties = 0x01;
constexpr uint64_t kDatagramEndsGroup = 0x02;
constexpr uint64_t kZeroId = 0x04;
constexpr uint64_t kDatagramTracksPriority = 0x08;
constexpr uint64_t kStatus = 0x20;
constexpr uint64_t kAll = 0x2f;
constexpr uint64_t kPaddingType = 0x132b3e29;

Decoded<void> CheckType(uint64_t type) {
  if ((type & ~kAll) != 0) {
    return Fault::Violation("A datagram has the unknown type " + std::to_string(type) + ".");
  }
  if ((type & kStatus) != 0 && (type & kDatagramEndsGroup) != 0) {
    return Fault::Violation("A datagram's status cannot end a group by its type.");
  }
  return {};
}

// A track's fault is kept in the datagram, a session's is returned.
Decoded<void> ReadProperties(ByteReader& reader, ObjectDatagram& out) {
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length == 0) {
    return Fault::Violation("A datagram says that it has properties, and has none.");
  }
  KVCAST_TRY(std::string encoded, reader.Text(length));
  Decoded<Properties> properties = ReadObjectProperties(std::move(encoded), out.object.location);
  if (properties.ok()) {
    out.object.properties = *std::move(properties);
  } else if (properties.error().scope() == Fault::Scope::kSession) {
    return std::move(properties).error();
  } else {
    out.fault = std::move(properties).error();
  }
  return {};
}

Decoded<void> ReadStatus(ByteReader& reader, bool has_properties, Object& object) {
  KVCAST_TRY(const uint64_t status, reader.Vi64());
  KVCAST_TRY(object.status, StatusOf(status));
  if (object.status != ObjectStatus::kNormal && has_properties) {
    return Fault::Violation("Only a normal object has properties.");
  }
  if (!reader.done()) {
    return Fault::Violation("A datagram with a status has a payload.");
  }
  return {};
}

}  // namespace

Bytes WriteDatagram(const ObjectDatagram& datagram) {
  const Object& object = datagram.object;
  const bool has_status = object.payload.empty();
  const bool has_properties = !object.properties.empty();
  KVCAST_CHECK(object.status == ObjectStatus::kNormal || (has_status && !has_properties));
  // An empty object that ends its group can only say the latter without a status.
  const bool writes_status =
      has_status && (!datagram.end_of_group || object.status != ObjectStatus::kNormal);
  ByteWriter writer;
  writer.Vi64((has_properties ? kDatagramProperties : 0) |
              (datagram.end_of_group && !writes_status ? kDatagramEndsGroup : 0) |
              (object.location.object == 0 ? kZeroId : 0) |
              (datagram.default_priority ? kDatagramTracksPriority : 0) |
              (writes_status ? kStatus : 0));
  writer.Vi64(datagram.alias);
  writer.Vi64(object.location.group);
  if (object.location.object != 0) {
    writer.Vi64(object.location.object);
  }
  if (!datagram.default_priority) {
    writer.U8(object.priority);
  }
  if (has_properties) {
    writer.Vi64(object.properties.encoded().size());
    writer.Write(object.properties.encoded());
  }
  if (writes_status) {
    writer.Vi64(static_cast<uint64_t>(object.status));
  }
  writer.Share(object.payload);
  return writer.Take();
}

Decoded<std::optional<ObjectDatagram>> ReadDatagram(std::span<const std::byte> datagram) {
  ByteReader reader(datagram);
  KVCAST_TRY(const uint64_t type, reader.Vi64());
  if (type == kPaddingType) {
    return std::optional<ObjectDatagram>();
  }
  KVCAST_TRY_VOID(CheckType(type));
  ObjectDatagram out;
  out.object.forwarding = Forwarding::kDatagram;
  out.end_of_group = (type & kDatagramEndsGroup) != 0;
  out.default_priority = (type & kDatagramTracksPriority) != 0;
  KVCAST_TRY(out.alias, reader.Vi64());
  KVCAST_TRY(out.object.location.group, reader.Vi64());
  if ((type & kZeroId) == 0) {
    KVCAST_TRY(out.object.location.object, reader.Vi64());
  }
  if (!out.default_priority) {
    KVCAST_TRY(out.object.priority, reader.U8());
  }
  const bool has_properties = (type & kDatagramProperties) != 0;
  if (has_properties) {
    KVCAST_TRY_VOID(ReadProperties(reader, out));
  }
  if ((type & kStatus) != 0) {
    KVCAST_TRY_VOID(ReadStatus(reader, has_properties, out.object));
  } else {
    out.object.payload = Bytes::Copy(datagram.subspan(reader.offset()));
  }
  return std::optional(std::move(out));
}

}  // namespace kvcast::moqt::draft18
