// Any bytes as any message at any place: refused, or written back in a form that means the same.
// Frames come out the same in every cut. Any bytes as a datagram likewise.
#include <algorithm>
#include <string>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/frame.h"

using namespace kvcast::moqt;  // NOLINT
using kvcast::AsBytes;

namespace {

// What is read and written once is written the same ever after.
void CheckMessage(const std::string& frame, const MessagePlace& place) {
  const auto message = DefaultCodec().Decode(frame, place);
  if (!message.ok()) {
    return;
  }
  const std::string once = DefaultCodec().Encode(*message).value().ToString();
  const auto again = DefaultCodec().Decode(once, place);
  KVCAST_CHECK(again.ok() && KindOf(*again) == KindOf(*message));
  KVCAST_CHECK(DefaultCodec().Encode(*again).value().ToString() == once);
}

std::vector<std::string> FramesOf(std::string_view wire, size_t cut, bool* midway) {
  FrameReader reader(DefaultCodec());
  std::vector<std::string> frames;
  for (size_t at = 0; at < wire.size(); at += cut) {
    std::span<const std::byte> in = AsBytes(wire.substr(at, cut));
    while (!in.empty()) {
      if (auto frame = reader.Read(in)) {
        frames.push_back(*std::move(frame));
      }
    }
  }
  *midway = reader.midway();
  return frames;
}

void CheckDatagram(std::string_view wire) {
  const auto read = DefaultCodec().DecodeDatagram(AsBytes(wire));
  if (!read.ok() || !read->has_value() || (*read)->fault) {
    return;
  }
  const std::string once = DefaultCodec().EncodeDatagram(**read).ToString();
  const auto again = DefaultCodec().DecodeDatagram(AsBytes(once));
  KVCAST_CHECK(again.ok() && again->has_value());
  KVCAST_CHECK(DefaultCodec().EncodeDatagram(**again).ToString() == once);
}

MessagePlace PlaceOf(uint8_t which) {
  constexpr MessageKind kRequests[] = {
      MessageKind::kSubscribe,
      MessageKind::kPublish,
      MessageKind::kFetch,
      MessageKind::kTrackStatus,
      MessageKind::kPublishNamespace,
      MessageKind::kSubscribeNamespace,
      MessageKind::kSubscribeTracks,
  };
  const Role sender = which % 2 == 0 ? Role::kClient : Role::kServer;
  const size_t request = which / 2 % 9;
  if (request < std::size(kRequests)) {
    return {sender, false, kRequests[request], which >= 128};
  }
  return {sender, request == std::size(kRequests), std::nullopt, false};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::string_view wire(reinterpret_cast<const char*>(data) + 2, size - 2);
  bool whole_midway = false;
  bool cut_midway = false;
  const std::vector<std::string> frames = FramesOf(wire, wire.size() + 1, &whole_midway);
  KVCAST_CHECK(frames == FramesOf(wire, 1 + data[0] % 7, &cut_midway));
  KVCAST_CHECK(whole_midway == cut_midway);
  for (const std::string& frame : frames) {
    CheckMessage(frame, PlaceOf(data[1]));
  }
  CheckDatagram(wire);
  return 0;
}
