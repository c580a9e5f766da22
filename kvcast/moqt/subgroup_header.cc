#include "kvcast/moqt/subgroup_header.h"

#include "kvcast/base/byte_writer.h"

namespace kvcast::moqt {
namespace {

constexpr uint64_t kProperties = 0x01;
constexpr uint64_t kModeShift = 1;
constexpr uint64_t kEndOfGroup = 0x08;
constexpr uint64_t kAlways = 0x10;
constexpr uint64_t kDefaultPriority = 0x20;
constexpr uint64_t kFirstObject = 0x40;

}  // namespace

Decoded<SubgroupHeader> SubgroupHeader::OfType(uint64_t type) {
  KVCAST_CHECK(IsType(type));
  const uint64_t mode = type >> kModeShift & 3;
  if (mode > static_cast<uint64_t>(Mode::kExplicit)) {
    return Fault::Violation("A subgroup's mode is 0 to 2.");
  }
  SubgroupHeader header;
  header.mode = static_cast<Mode>(mode);
  header.properties = (type & kProperties) != 0;
  header.end_of_group = (type & kEndOfGroup) != 0;
  header.first_object = (type & kFirstObject) != 0;
  if ((type & kDefaultPriority) == 0) {
    header.priority = 0;
  }
  return header;
}

uint64_t SubgroupHeader::type() const {
  return kAlways | static_cast<uint64_t>(mode) << kModeShift | (properties ? kProperties : 0) |
         (end_of_group ? kEndOfGroup : 0) | (first_object ? kFirstObject : 0) |
         (priority ? 0 : kDefaultPriority);
}

Bytes SubgroupHeader::Encode() const {
  ByteWriter writer;
  writer.Vi64(type());
  writer.Vi64(alias);
  writer.Vi64(group);
  if (mode == Mode::kExplicit) {
    writer.Vi64(subgroup);
  }
  if (priority) {
    writer.U8(*priority);
  }
  return writer.Take();
}

}  // namespace kvcast::moqt
