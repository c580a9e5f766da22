#pragma once

#include "kvcast/moqt/codec.h"

namespace kvcast::moqt {

// draft-ietf-moq-transport-18. Integers are vi64; every message is framed as
//
//   message := type:vi64 length:u16be body[length]
class Draft18Codec final : public Codec {
 public:
  constexpr Draft18Codec() = default;

  std::string_view alpn() const override { return kAlpnDraft18; }

  Result<Bytes> Encode(const Message& message) const override;
  Result<void> CheckParameters(const Message& message, const MessagePlace& place) const override;
  std::optional<size_t> MessageBytes(std::string_view begun) const override;
  Decoded<Message> Decode(std::string_view message, const MessagePlace& place) const override;

  Decoded<std::optional<StreamOpening>> DecodeOpening(std::string_view begun) const override;
  std::unique_ptr<SubgroupWriter> WriteSubgroup(const SubgroupHeader& header) const override;
  std::unique_ptr<SubgroupReader> ReadSubgroup(const SubgroupHeader& header,
                                               const Limits& limits) const override;
  std::unique_ptr<FetchWriter> WriteFetch(uint64_t request_id, GroupOrder order) const override;
  std::unique_ptr<FetchReader> ReadFetch(GroupOrder order, const Limits& limits) const override;

  Bytes EncodeDatagram(const ObjectDatagram& datagram) const override;
  Decoded<std::optional<ObjectDatagram>> DecodeDatagram(
      std::span<const std::byte> datagram) const override;

  TrackTraits TraitsOf(const Properties& track) const override;

  // A request has a two-way stream of its own, and each side a control stream.
  std::unique_ptr<Shape> MakeShape(SessionState& state, SessionStreams& streams) const override;
};

}  // namespace kvcast::moqt
