#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/bytes.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/payload_reader.h"
#include "kvcast/moqt/text_reader.h"
#include "kvcast/moqt/vi64_reader.h"
#include "kvcast/object/object.h"

// The objects of one subgroup on one stream:
//
//   stream := header object*
//   header := type:vi64 alias:vi64 group:vi64 [subgroup:vi64] [priority:u8]
//   type   := 0b0fd1emmp: first object, default priority, end of group, mode of the id, properties
//   object := id_delta:vi64 [properties_length:vi64 properties] payload_length:vi64
//             (status:vi64 | payload)            a status only where the payload is empty
//
// The first id is the delta itself, later ones are one more than the delta beyond the id before.
namespace kvcast::moqt::draft18 {

inline bool IsSubgroupType(uint64_t type) { return type < 0x80 && (type & 0x10) != 0; }
// A header after its type; absent if the reader ends too early. REQUIRES: IsSubgroupType(type).
Decoded<std::optional<SubgroupHeader>> ReadHeader(uint64_t type, ByteReader& reader);

class SubgroupWriter final : public moqt::SubgroupWriter {
 public:
  explicit SubgroupWriter(const SubgroupHeader& header) : header_(header) {}

  Bytes Header() const override;
  bool Accepts(const Object& object) const override;
  Bytes Write(const Object& object) override;

 private:
  SubgroupHeader header_;
  std::optional<uint64_t> previous_;
  bool ended_ = false;
};

class SubgroupReader final : public moqt::SubgroupReader {
 public:
  SubgroupReader(const SubgroupHeader& header, const Limits& limits)
      : header_(header), limits_(&limits) {}

  Decoded<std::optional<Object>> Read(std::span<const std::byte>& in,
                                      uint8_t default_priority) override;
  bool between_objects() const override { return stage_ == Stage::kDelta && !number_.midway(); }
  std::optional<uint64_t> subgroup() const override;
  size_t held_bytes() const override {
    return properties_.held_bytes() + object_.properties.encoded().size() + payload_.held_bytes();
  }
  uint64_t missing_bytes() const override { return payload_.missing_bytes(); }

 private:
  enum class Stage : uint8_t {
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
  Stage stage_ = Stage::kDelta;
  Vi64Reader number_;
  TextReader properties_;
  PayloadReader payload_;
  Object object_;
  std::optional<uint64_t> first_;
  std::optional<uint64_t> previous_;
  bool ended_ = false;
};

}  // namespace kvcast::moqt::draft18
