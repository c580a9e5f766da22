#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/one_stream_shape_test.h"

namespace kvcast::moqt {

// A draft for tests: in another shape than draft-18, and written as that is but for GOAWAY, which
// names no request.
class OneStreamCodec final : public Codec {
 public:
  std::string_view alpn() const override { return "test-one-stream"; }

  Result<Bytes> Encode(const Message& message) const override { return like_.Encode(message); }
  Result<void> CheckParameters(const Message& message, const MessagePlace& place) const override {
    return like_.CheckParameters(message, place);
  }
  std::optional<size_t> MessageBytes(std::string_view begun) const override {
    return like_.MessageBytes(begun);
  }
  Decoded<Message> Decode(std::string_view message, const MessagePlace& place) const override {
    KVCAST_TRY(Message read, like_.Decode(message, place));
    if (GoAway* away = std::get_if<GoAway>(&read)) {
      away->request_id.reset();
    }
    return read;
  }

  // No one-way stream controls anything.
  Decoded<std::optional<StreamOpening>> DecodeOpening(std::string_view begun) const override {
    KVCAST_TRY(std::optional<StreamOpening> opening, like_.DecodeOpening(begun));
    if (opening && std::holds_alternative<ControlOpening>(*opening)) {
      return Fault::Violation("A one-way stream begins with SETUP.");
    }
    return opening;
  }
  std::unique_ptr<SubgroupWriter> WriteSubgroup(const SubgroupHeader& header) const override {
    return like_.WriteSubgroup(header);
  }
  std::unique_ptr<SubgroupReader> ReadSubgroup(const SubgroupHeader& header,
                                               const Limits& limits) const override {
    return like_.ReadSubgroup(header, limits);
  }
  std::unique_ptr<FetchWriter> WriteFetch(uint64_t request_id, GroupOrder order) const override {
    return like_.WriteFetch(request_id, order);
  }
  std::unique_ptr<FetchReader> ReadFetch(GroupOrder order, const Limits& limits) const override {
    return like_.ReadFetch(order, limits);
  }
  Bytes EncodeDatagram(const ObjectDatagram& datagram) const override {
    return like_.EncodeDatagram(datagram);
  }
  Decoded<std::optional<ObjectDatagram>> DecodeDatagram(
      std::span<const std::byte> datagram) const override {
    return like_.DecodeDatagram(datagram);
  }
  TrackTraits TraitsOf(const Properties& track) const override { return like_.TraitsOf(track); }

  std::unique_ptr<Shape> MakeShape(SessionState& state, SessionStreams& streams) const override {
    return std::make_unique<one_stream::OneStreamShape>(state, streams);
  }

 private:
  const Codec& like_ = *CodecFor(kAlpnDraft18);
};

}  // namespace kvcast::moqt
