#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/subgroup_header.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

// What one-way streams and datagrams carry, as what it means; a codec makes the readers and
// writers.
namespace kvcast::moqt {

// How a one-way stream of the peer's begins.
struct ControlOpening {};  // Its bytes so far are the first of SETUP.
struct FetchOpening {
  uint64_t request_id = 0;
};
struct PaddingOpening {};
using StreamOpening = std::variant<ControlOpening, SubgroupHeader, FetchOpening, PaddingOpening>;

// Makes the bytes of a subgroup's stream. Payloads are referred to, not copied.
class SubgroupWriter {
 public:
  virtual ~SubgroupWriter() = default;

  virtual Bytes Header() const = 0;
  // Whether the object may be next: a later id of this group, with properties only where the header
  // allows them and none on a status, and nothing after the end of the group or track.
  virtual bool Accepts(const Object& object) const = 0;
  // REQUIRES: Accepts(object).
  virtual Bytes Write(const Object& object) = 0;
};

// Reads a subgroup's stream after its header.
class SubgroupReader {
 public:
  virtual ~SubgroupReader() = default;

  // Takes bytes off the front of `in` until an object is whole or `in` is empty. The priority
  // counts where the header leaves it to the track.
  virtual Decoded<std::optional<Object>> Read(std::span<const std::byte>& in,
                                              uint8_t default_priority) = 0;
  // Whether the stream may end here.
  virtual bool between_objects() const = 0;
  // What it holds of an object that is not whole, and what of its payload has yet to come.
  virtual size_t held_bytes() const = 0;
  virtual uint64_t missing_bytes() const = 0;
  // The subgroup's id, which may be that of an object that never came.
  virtual std::optional<uint64_t> subgroup() const = 0;
};

// Every object since the item before, up to this location, does not exist, or is unknown.
struct RangeEnd {
  Location last;
  bool unknown = false;

  friend bool operator==(const RangeEnd&, const RangeEnd&) = default;
};

using FetchItem = std::variant<Object, RangeEnd>;

// What an item may refer to: where the last one was, and how the last object was sent.
struct FetchPrior {
  std::optional<Location> location;
  std::optional<uint64_t> subgroup;  // Of the last object that had one.
  std::optional<uint8_t> priority;

  // Whether a location comes after the last one, groups in `order`.
  bool IsBefore(Location next, GroupOrder order) const;
  void Pass(const Object& object);
};

// Makes the bytes of a fetch's stream. Payloads are referred to, not copied.
class FetchWriter {
 public:
  virtual ~FetchWriter() = default;

  virtual Bytes Header() const = 0;
  // Whether it may be next: beyond the last, and no mere status, which FETCH does not know.
  virtual bool Accepts(const Object& object) const = 0;
  virtual bool Accepts(const RangeEnd& end) const = 0;
  // REQUIRES: Accepts().
  virtual Bytes Write(const Object& object) = 0;
  virtual Bytes Write(const RangeEnd& end) = 0;
};

// Reads a fetch's stream after its header.
class FetchReader {
 public:
  virtual ~FetchReader() = default;

  // Takes bytes off the front of `in` until an item is whole or `in` is empty.
  virtual Decoded<std::optional<FetchItem>> Read(std::span<const std::byte>& in) = 0;
  // Whether the stream may end here.
  virtual bool between_items() const = 0;
  // What it holds of an object that is not whole, and what of its payload has yet to come.
  virtual size_t held_bytes() const = 0;
  virtual uint64_t missing_bytes() const = 0;
};

// An object that travels alone. Its forwarding is kDatagram, and it has no subgroup.
struct ObjectDatagram {
  uint64_t alias = 0;
  Object object;
  bool default_priority = false;  // The track's own, which the object does not have yet as read.
  bool end_of_group = false;      // No object of the group stands beyond it.
  std::optional<Fault> fault;     // As read: what makes the track malformed, not the session.
};

}  // namespace kvcast::moqt
