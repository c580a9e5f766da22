#include "kvcast/moqt/frame.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

Result<Bytes> EncodeFrame(MessageType type, ByteWriter& body) {
  const Bytes content = body.Take();
  if (content.size() > kMessageBytesMax) {
    return Error(ErrorCode::kTooLarge, "A message has at most 65,535 bytes; this one has " +
                                           std::to_string(content.size()) + ".");
  }
  ByteWriter writer;
  writer.Vi64(static_cast<uint64_t>(type));
  writer.U16Be(static_cast<uint16_t>(content.size()));
  writer.Share(content);
  return writer.Take();
}

std::optional<Frame> FrameReader::Read(std::span<const std::byte>& in) {
  if (!type_) {
    type_ = type_reader_.Read(in);
  }
  while (type_ && length_bytes_ < 2 && !in.empty()) {
    length_ = length_ << 8 | std::to_integer<size_t>(in.front());
    ++length_bytes_;
    in = in.subspan(1);
  }
  if (length_bytes_ < 2) {
    return std::nullopt;
  }
  const size_t taken = std::min(in.size(), length_ - body_.size());
  body_.append(AsText(in.first(taken)));
  in = in.subspan(taken);
  if (body_.size() < length_) {
    return std::nullopt;
  }
  Frame frame{*type_, std::exchange(body_, {})};
  type_.reset();
  length_bytes_ = 0;
  length_ = 0;
  return frame;
}

}  // namespace kvcast::moqt
