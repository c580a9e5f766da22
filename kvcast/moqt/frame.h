#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/message_type.h"
#include "kvcast/moqt/vi64_reader.h"

namespace kvcast::moqt {

// A message as it travels on a control or request stream.
//
//   frame := type:vi64 length:u16be body[length]
struct Frame {
  uint64_t type = 0;
  std::string body;

  bool Is(MessageType message) const { return type == static_cast<uint64_t>(message); }
};

// Too large: more than 65,535 bytes of body.
Result<Bytes> EncodeFrame(MessageType type, ByteWriter& body);

// Puts frames together from bytes in any cut. Holds one frame at a time, and only what arrived.
class FrameReader {
 public:
  // Takes bytes off the front of `in` until a frame is whole or `in` is empty.
  std::optional<Frame> Read(std::span<const std::byte>& in);

  // Whether a frame has begun and is not whole: a stream must not end here.
  bool midway() const { return type_reader_.midway() || type_.has_value(); }
  size_t held_bytes() const { return body_.size(); }

 private:
  Vi64Reader type_reader_;
  std::optional<uint64_t> type_;
  size_t length_bytes_ = 0;  // How many of the length's two bytes have come.
  size_t length_ = 0;
  std::string body_;
};

}  // namespace kvcast::moqt
