// Any bytes as any message: refused, or written back in a form that means the same. Frames come out
// the same in every cut.
#include <algorithm>
#include <string>

#include "kvcast/base/check.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/messages.h"
#include "kvcast/moqt/setup.h"

using namespace kvcast::moqt;  // NOLINT
using kvcast::AsBytes;
using kvcast::Bytes;
using kvcast::Result;

namespace {

std::string BodyOf(const Result<Bytes>& message) {
  const std::string wire = message.value().ToString();
  std::span<const std::byte> in = AsBytes(wire);
  FrameReader reader;
  std::optional<Frame> frame = reader.Read(in);
  KVCAST_CHECK(frame && in.empty() && !reader.midway());
  return frame->body;
}

// What is read and written once is written the same ever after.
template <typename Decode>
void CheckMessage(std::string_view body, Decode decode) {
  const auto message = decode(body);
  if (!message.ok()) {
    return;
  }
  const std::string once = BodyOf(message->Encode());
  const auto again = decode(once);
  KVCAST_CHECK(again.ok());
  KVCAST_CHECK(BodyOf(again->Encode()) == once);
}

void CheckFrames(std::string_view wire, size_t cut) {
  FrameReader whole;
  FrameReader pieces;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::span<const std::byte> in = AsBytes(wire);
  while (!in.empty()) {
    if (auto frame = whole.Read(in)) {
      a.push_back(frame->body);
    }
  }
  for (size_t at = 0; at < wire.size(); at += cut) {
    in = AsBytes(wire.substr(at, cut));
    while (!in.empty()) {
      if (auto frame = pieces.Read(in)) {
        b.push_back(frame->body);
      }
    }
  }
  KVCAST_CHECK(a == b && whole.midway() == pieces.midway());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckFrames(body, 1 + data[0] % 7);
  switch (data[0] / 16) {
    case 0:
      CheckMessage(body, [](std::string_view b) { return Setup::Decode(b, Role::kClient); });
      break;
    case 1:
      CheckMessage(body, [](std::string_view b) { return GoAway::Decode(b, true); });
      break;
    case 2:
      CheckMessage(body, [](std::string_view b) {
        return RequestOk::Decode(b, ParameterScope::kTrackStatusOk);
      });
      break;
    case 3:
      CheckMessage(body, RequestError::Decode);
      break;
    case 4:
      CheckMessage(body, Subscribe::Decode);
      break;
    case 5:
      CheckMessage(body, SubscribeOk::Decode);
      break;
    case 6:
      CheckMessage(body, Publish::Decode);
      break;
    case 7:
      CheckMessage(body, PublishDone::Decode);
      break;
    case 8:
      CheckMessage(body, Fetch::Decode);
      break;
    case 9:
      CheckMessage(body, FetchOk::Decode);
      break;
    case 10:
      CheckMessage(body, TrackStatus::Decode);
      break;
    case 11:
      CheckMessage(body, SubscribeTracks::Decode);
      break;
    case 12:
      CheckMessage(body, PublishBlocked::Decode);
      break;
    default:
      CheckMessage(body, [](std::string_view b) {
        return RequestUpdate::Decode(b, ParameterScope::kUpdateNamespace);
      });
  }
  return 0;
}
