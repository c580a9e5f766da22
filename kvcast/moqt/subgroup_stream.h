#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/payload_reader.h"
#include "kvcast/moqt/subgroup_header.h"
#include "kvcast/moqt/text_reader.h"
#include "kvcast/moqt/vi64_reader.h"
#include "kvcast/object/object.h"

// The objects of one subgroup on one stream, after its header:
//
//   object := id_delta:vi64 [properties_length:vi64 properties] payload_length:vi64
//             (status:vi64 | payload)            a status only where the payload is empty
//
// The first id is the delta itself, later ones are one more than the delta beyond the id before.
namespace kvcast::moqt {

// Makes the bytes of objects. Payloads are referred to, not copied.
class SubgroupWriter {
 public:
  explicit SubgroupWriter(SubgroupHeader header) : header_(header) {}

  const SubgroupHeader& header() const { return header_; }

  // Whether the object may be next: a later id of this group, with properties only where the
  // header allows them and none on a status, and nothing after the end of the group or track.
  bool Accepts(const Object& object) const;
  // REQUIRES: Accepts(object).
  Bytes Write(const Object& object);

 private:
  SubgroupHeader header_;
  std::optional<uint64_t> previous_;
  bool ended_ = false;
};

// Reads a stream whose type has been read already.
class SubgroupReader {
 public:
  // `header` is what the type said.
  SubgroupReader(SubgroupHeader header, const Limits& limits) : header_(header), limits_(&limits) {}

  // Takes bytes off the front of `in` until the header is whole, true, or `in` is empty.
  bool ReadHeader(std::span<const std::byte>& in);
  const SubgroupHeader& header() const { return header_; }
  bool header_done() const { return stage_ > Stage::kPriority; }

  // Takes bytes off the front of `in` until an object is whole or `in` is empty. The priority
  // counts where the header leaves it to the track. REQUIRES: header_done().
  Decoded<std::optional<Object>> Read(std::span<const std::byte>& in, uint8_t default_priority);

  // Whether the stream may end here.
  bool between_objects() const { return stage_ == Stage::kDelta && !number_.midway(); }
  // The subgroup's id, which may be that of an object that never came.
  std::optional<uint64_t> subgroup() const;

 private:
  enum class Stage : uint8_t {
    kAlias,
    kGroup,
    kSubgroup,
    kPriority,
    kDelta,
    kPropertiesLength,
    kProperties,
    kPayloadLength,
    kStatus,
    kPayload,
  };

  Decoded<bool> Step(std::span<const std::byte>& in);
  Decoded<bool> OnNumber(uint64_t number);
  Decoded<void> OnDelta(uint64_t delta);
  Decoded<bool> OnPayloadLength(uint64_t length);
  Decoded<bool> OnStatus(uint64_t status);
  Object Finish(uint8_t default_priority);

  SubgroupHeader header_;
  const Limits* limits_;
  Stage stage_ = Stage::kAlias;
  Vi64Reader number_;
  TextReader properties_;
  PayloadReader payload_;
  Object object_;
  std::optional<uint64_t> first_;
  std::optional<uint64_t> previous_;
  bool ended_ = false;
};

}  // namespace kvcast::moqt
