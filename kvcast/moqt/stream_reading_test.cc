#include "kvcast/moqt/stream_reading_test.h"

#include <vector>

namespace kvcast::moqt {
namespace {

const Limits kLimits;

// How a stream begins, and the bytes after that.
Decoded<StreamOpening> Open(std::string_view& wire) {
  for (size_t length = 1; length <= wire.size(); ++length) {
    KVCAST_TRY(std::optional<StreamOpening> opening,
               DefaultCodec().DecodeOpening(wire.substr(0, length)));
    if (opening) {
      wire.remove_prefix(length);
      return *opening;
    }
  }
  return Fault::Violation("The stream ended within its header.");
}

Decoded<Reading> ReadSubgroup(const SubgroupHeader& header, std::string_view wire) {
  const auto reader = DefaultCodec().ReadSubgroup(header, kLimits);
  const auto writer = DefaultCodec().WriteSubgroup(header);
  std::string written = writer->Header().ToString();
  std::vector<Object> objects;
  std::span<const std::byte> in = AsBytes(wire);
  while (!in.empty()) {
    KVCAST_TRY(std::optional<Object> object, reader->Read(in, 0));
    if (object) {
      written += writer->Write(*object).ToString();
      objects.push_back(*std::move(object));
    }
  }
  if (!reader->between_objects()) {
    return Fault::Violation("The stream ended within an object.");
  }
  return Reading{SubgroupOut(header, objects), written};
}

Decoded<Reading> ReadFetch(uint64_t request_id, GroupOrder order, std::string_view wire) {
  const auto reader = DefaultCodec().ReadFetch(order, kLimits);
  const auto writer = DefaultCodec().WriteFetch(request_id, order);
  std::string written = writer->Header().ToString();
  std::vector<FetchItem> items;
  std::span<const std::byte> in = AsBytes(wire);
  while (!in.empty()) {
    KVCAST_TRY(std::optional<FetchItem> item, reader->Read(in));
    if (item) {
      written += std::visit([&](const auto& any) { return writer->Write(any); }, *item).ToString();
      items.push_back(*std::move(item));
    }
  }
  if (!reader->between_items()) {
    return Fault::Violation("The stream ended within an object.");
  }
  return Reading{FetchOut(request_id, order, items), written};
}

}  // namespace

Decoded<Reading> ReadStream(std::string_view wire, GroupOrder order) {
  KVCAST_TRY(const StreamOpening opening, Open(wire));
  if (const auto* header = std::get_if<SubgroupHeader>(&opening)) {
    return ReadSubgroup(*header, wire);
  }
  if (const auto* fetch = std::get_if<FetchOpening>(&opening)) {
    return ReadFetch(fetch->request_id, order, wire);
  }
  return Fault::Violation("That is no data stream.");
}

Decoded<Reading> ReadDatagram(std::string_view wire) {
  KVCAST_TRY(const std::optional<ObjectDatagram> datagram,
             DefaultCodec().DecodeDatagram(AsBytes(wire)));
  if (!datagram) {  // Padding: its type has five bytes.
    return Reading{{{"padding", wire.size() - 5}}, std::string(wire)};
  }
  if (datagram->fault) {
    return *datagram->fault;
  }
  return Reading{DatagramOut(*datagram), DefaultCodec().EncodeDatagram(*datagram).ToString()};
}

}  // namespace kvcast::moqt
