#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/limits.h"
#include "kvcast/moqt/parameters.h"
#include "kvcast/moqt/payload_reader.h"
#include "kvcast/moqt/text_reader.h"
#include "kvcast/moqt/vi64_reader.h"
#include "kvcast/object/object.h"

// The answer to a FETCH on its stream:
//
//   stream := 0x05 request_id:vi64 item*
//   item   := flags:vi64 [group_delta:vi64] [subgroup:vi64] [id_delta:vi64] [priority:u8]
//             [properties_length:vi64 properties] payload_length:vi64 payload
//           | (0x8c | 0x10c) group:vi64 id:vi64
//
// Flags below 128: 0x03 how the subgroup is written, 0x04 id delta, 0x08 group delta, 0x10
// priority, 0x20 properties, 0x40 datagram. What is absent follows from the item before. The ends
// of ranges are absolute and have no payload length: the draft does not say so, but implementations
// agree.
namespace kvcast::moqt::draft18 {

inline constexpr uint64_t kFetchHeaderType = 0x05;

class FetchWriter final : public moqt::FetchWriter {
 public:
  FetchWriter(uint64_t request_id, GroupOrder order) : request_id_(request_id), order_(order) {}

  Bytes Header() const override;
  bool Accepts(const Object& object) const override;
  bool Accepts(const RangeEnd& end) const override { return prior_.IsBefore(end.last, order_); }
  Bytes Write(const Object& object) override;
  Bytes Write(const RangeEnd& end) override;

 private:
  uint64_t request_id_;
  GroupOrder order_;
  FetchPrior prior_;
};

class FetchReader final : public moqt::FetchReader {
 public:
  FetchReader(GroupOrder order, const Limits& limits) : order_(order), limits_(&limits) {}

  Decoded<std::optional<FetchItem>> Read(std::span<const std::byte>& in) override;
  bool between_items() const override { return stage_ == Stage::kFlags && !number_.midway(); }
  size_t held_bytes() const override {
    return properties_.held_bytes() + object_.properties.encoded().size() + payload_.held_bytes();
  }
  uint64_t missing_bytes() const override { return payload_.missing_bytes(); }

 private:
  enum class Stage : uint8_t {
    kFlags,
    kGroup,
    kSubgroup,
    kObject,
    kPriority,
    kPropertiesLength,
    kProperties,
    kPayloadLength,
    kPayload,
    kWhole,
  };

  bool Has(uint64_t flag) const { return (flags_ & flag) != 0; }
  bool is_range_end() const { return flags_ >= 128; }
  Decoded<void> Step(std::span<const std::byte>& in);
  Decoded<void> OnNumber(uint64_t number);
  Decoded<void> OnFlags();
  Decoded<void> OnGroup(uint64_t delta);
  Decoded<void> OnObject(std::optional<uint64_t> delta);
  // Goes to the first stage from `stage` on that the flags ask for.
  Decoded<void> Enter(Stage stage);
  bool Asks(Stage stage) const;
  Decoded<void> OnAbsent(Stage stage);
  FetchItem Finish();

  GroupOrder order_;
  const Limits* limits_;
  Stage stage_ = Stage::kFlags;
  uint64_t flags_ = 0;
  Vi64Reader number_;
  TextReader properties_;
  PayloadReader payload_;
  Object object_;
  FetchPrior prior_;
};

}  // namespace kvcast::moqt::draft18
