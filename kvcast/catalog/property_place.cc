#include "kvcast/catalog/property_place.h"

#include "kvcast/base/byte_reader.h"

namespace kvcast {
namespace {

struct PropertyAt {
  uint64_t type = 0;
  uint64_t at = 0;
  uint64_t end = 0;
};

// The next property, behind one of type `previous`. Stands behind its value then, or, if the
// property is the list of immutable ones, before the first of these.
Result<PropertyAt> NextProperty(ByteReader& reader, uint64_t previous) {
  const uint64_t at = reader.offset();
  KVCAST_TRY(const uint64_t delta, reader.Vi64());
  const uint64_t type = previous + delta;
  KVCAST_TRY(const uint64_t value, reader.Vi64());
  if (type % 2 == 1 && type != property::kImmutable) {  // Bytes, of this length.
    KVCAST_TRY_VOID(reader.Skip(value));
  }
  const bool is_list = type == property::kImmutable;
  return PropertyAt{type, at, reader.offset() + (is_list ? value : 0)};
}

}  // namespace

uint64_t ImmutablePlace(const Properties& properties, uint64_t type, size_t number) {
  ByteReader reader(AsBytes(properties.encoded()));
  uint64_t previous = 0;
  uint64_t list_end = 0;  // Once the reader stands among the immutable ones.
  while (list_end == 0 ? !reader.done() : reader.offset() < list_end) {
    const Result<PropertyAt> found = NextProperty(reader, previous);
    if (!found.ok()) {
      break;
    }
    if (list_end != 0 && found->type == type && number-- == 0) {
      return found->at;
    }
    const bool begins = list_end == 0 && found->type == property::kImmutable;
    list_end = begins ? found->end : list_end;
    previous = begins ? 0 : found->type;
  }
  return reader.offset();
}

}  // namespace kvcast
