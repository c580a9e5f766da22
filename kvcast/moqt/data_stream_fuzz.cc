// Any bytes as a subgroup's or a fetch's stream: the same objects and the same fault in every cut,
// and what was read can be written and read again.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/frame.h"

using namespace kvcast::moqt;  // NOLINT
using kvcast::AsBytes;
using kvcast::Bytes;
using kvcast::Object;

namespace {

const Limits kLimits{.object_bytes_max = 1 << 16, .properties_bytes_max = 1 << 10};

struct Outcome {
  std::vector<FetchItem> items;
  std::optional<uint64_t> fault;
  bool may_end = false;
};

bool Same(const Object& a, const Object& b) {
  return a.location == b.location && a.priority == b.priority && a.forwarding == b.forwarding &&
         a.status == b.status && a.properties == b.properties && a.payload == b.payload &&
         (a.forwarding == kvcast::Forwarding::kDatagram || a.subgroup == b.subgroup);
}

bool Same(const FetchItem& a, const FetchItem& b) {
  if (a.index() != b.index()) {
    return false;
  }
  const Object* object = std::get_if<Object>(&a);
  return object != nullptr ? Same(*object, std::get<Object>(b))
                           : std::get<RangeEnd>(a) == std::get<RangeEnd>(b);
}

void CheckSame(const Outcome& a, const Outcome& b) {
  KVCAST_CHECK(a.fault == b.fault && a.items.size() == b.items.size() && a.may_end == b.may_end);
  for (size_t i = 0; i < a.items.size(); ++i) {
    KVCAST_CHECK(Same(a.items[i], b.items[i]));
  }
}

// A stream whose opening, if it is a subgroup's, is left in `header`.
Outcome ReadSubgroup(std::string_view wire, size_t cut, std::optional<SubgroupHeader>* header) {
  Outcome outcome;
  OpeningReader opening(DefaultCodec());
  std::unique_ptr<SubgroupReader> reader;
  header->reset();
  for (size_t at = 0; at < wire.size() && !outcome.fault; at += cut) {
    std::span<const std::byte> in = AsBytes(wire.substr(at, cut));
    if (reader == nullptr) {
      const auto opened = opening.Read(in);
      if (!opened.ok()) {
        outcome.fault = opened.error().code();
      }
      if (!opened.ok() || !opened->has_value()) {
        continue;
      }
      const SubgroupHeader* found = std::get_if<SubgroupHeader>(&**opened);
      if (found == nullptr) {
        return outcome;
      }
      *header = *found;
      reader = DefaultCodec().ReadSubgroup(*found, kLimits);
    }
    while (!in.empty() && !outcome.fault) {
      auto object = reader->Read(in, 9);
      if (!object.ok()) {
        outcome.fault = object.error().code();
      } else if (object->has_value()) {
        outcome.items.emplace_back(**object);
      }
    }
  }
  outcome.may_end = !outcome.fault && reader != nullptr && reader->between_objects();
  return outcome;
}

Outcome ReadFetch(std::string_view wire, size_t cut, GroupOrder order) {
  Outcome outcome;
  const auto reader = DefaultCodec().ReadFetch(order, kLimits);
  for (size_t at = 0; at < wire.size() && !outcome.fault; at += cut) {
    std::span<const std::byte> in = AsBytes(wire.substr(at, cut));
    while (!in.empty() && !outcome.fault) {
      auto item = reader->Read(in);
      if (!item.ok()) {
        outcome.fault = item.error().code();
      } else if (item->has_value()) {
        outcome.items.push_back(**item);
      }
    }
  }
  outcome.may_end = !outcome.fault && reader->between_items();
  return outcome;
}

void CheckSubgroup(std::string_view wire, size_t cut) {
  std::optional<SubgroupHeader> header;
  const Outcome whole = ReadSubgroup(wire, wire.size() + 1, &header);
  CheckSame(whole, ReadSubgroup(wire, cut, &header));
  if (!header) {
    return;
  }
  const auto writer = DefaultCodec().WriteSubgroup(*header);
  Bytes written = writer->Header();
  for (const FetchItem& item : whole.items) {
    written.Append(writer->Write(std::get<Object>(item)));
  }
  const std::string text = written.ToString();
  const std::optional<SubgroupHeader> first = header;
  const Outcome again = ReadSubgroup(text, 1, &header);
  KVCAST_CHECK(header == first);
  CheckSame({whole.items, std::nullopt, again.may_end}, again);
}

void CheckFetch(std::string_view wire, size_t cut, GroupOrder order) {
  const Outcome whole = ReadFetch(wire, wire.size() + 1, order);
  CheckSame(whole, ReadFetch(wire, cut, order));
  const auto writer = DefaultCodec().WriteFetch(0, order);
  Bytes written;
  for (const FetchItem& item : whole.items) {
    const Object* object = std::get_if<Object>(&item);
    written.Append(object ? writer->Write(*object) : writer->Write(std::get<RangeEnd>(item)));
  }
  const std::string text = written.ToString();
  CheckSame({whole.items, std::nullopt, true}, ReadFetch(text, 3, order));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  // Longer inputs only repeat themselves, and take longer.
  const std::string_view wire(reinterpret_cast<const char*>(data) + 2,
                              std::min<size_t>(size - 2, 512));
  const size_t cut = 1 + data[0] % 9;
  if (data[1] < 128) {
    CheckSubgroup(wire, cut);
  } else {
    CheckFetch(wire, cut, data[1] % 2 == 0 ? GroupOrder::kAscending : GroupOrder::kDescending);
  }
  return 0;
}
