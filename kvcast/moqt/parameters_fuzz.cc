// Any bytes as the parameters, the properties or the options of any message: refused, or written
// back in a form that means the same. The fields before them are given, so that nothing is lost on
// guessing those.
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/base/fuzz_input.h"
#include "kvcast/moqt/codec.h"

using namespace kvcast::moqt;  // NOLINT

namespace {

constexpr size_t kBytesMax = 256;

struct Around {
  std::string_view type;
  std::string_view before;  // Of the body.
  MessagePlace place;
};

MessagePlace Within(MessageKind request, bool update = false) {
  return {Role::kClient, false, request, update};
}
constexpr std::string_view kName("\x00\x01\x01n\x01t", 6);  // Request 0, namespace "n", track "t".

const Around kAround[] = {
    {std::string_view("\xaf\x00", 2), "", {Role::kClient, true, std::nullopt, false}},
    {"\x03", kName, {}},                                          // SUBSCRIBE
    {"\x0d", kName, {}},                                          // TRACK_STATUS
    {"\x1d", std::string_view("\x00\x01\x01n\x01t\x07", 7), {}},  // PUBLISH
    {"\x16", std::string_view("\x00\x02\x00\x00", 4), {}},        // FETCH, joining
    {"\x06", std::string_view("\x00\x01\x01n", 4), {}},           // PUBLISH_NAMESPACE
    {"\x50", std::string_view("\x00\x01\x01n", 4), {}},           // SUBSCRIBE_NAMESPACE
    {"\x51", std::string_view("\x00\x01\x01n", 4), {}},           // SUBSCRIBE_TRACKS
    {"\x04", "\x07", Within(MessageKind::kSubscribe)},            // SUBSCRIBE_OK
    {"\x18", std::string_view("\x00\x04\x05", 3), Within(MessageKind::kFetch)},
    {"\x07", "", Within(MessageKind::kPublish)},
    {"\x07", "", Within(MessageKind::kTrackStatus)},
    {"\x07", "", Within(MessageKind::kSubscribe, true)},
    {"\x02", "\x02", Within(MessageKind::kSubscribe)},
    {"\x02", "\x02", Within(MessageKind::kFetch)},
    {"\x02", "\x02", Within(MessageKind::kSubscribeTracks)},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::FuzzInput input(data, size);
  const Around& around = kAround[input.Byte() % std::size(kAround)];
  const auto bytes = input.Bytes(kBytesMax);
  const size_t length = around.before.size() + bytes.size();
  std::string message(around.type);
  message += static_cast<char>(length >> 8);
  message += static_cast<char>(length & 0xff);
  message += around.before;
  message += kvcast::AsText(bytes);
  const Codec& codec = DefaultCodec();
  KVCAST_CHECK(codec.MessageBytes(message) == message.size());
  const auto read = codec.Decode(message, around.place);
  if (!read.ok()) {
    return 0;
  }
  const std::string once = codec.Encode(*read).value().ToString();
  const auto again = codec.Decode(once, around.place);
  KVCAST_CHECK(again.ok() && KindOf(*again) == KindOf(*read));
  KVCAST_CHECK(codec.Encode(*again).value().ToString() == once);
  KVCAST_CHECK(once.size() <= message.size());  // What we write is as short as can be.
  return 0;
}
