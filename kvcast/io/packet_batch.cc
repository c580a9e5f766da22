#include "kvcast/io/packet_batch.h"

#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {

bool PacketBatch::Takes(const UdpPath& path, size_t bytes) const {
  if (empty()) {
    return true;
  }
  return !full() && bytes <= packet_bytes_ && bytes_ + bytes <= UdpSocket::kSendBytesMax &&
         path == path_;
}

void PacketBatch::Add(const UdpPath& path, size_t bytes) {
  if (empty()) {
    path_ = path;
    packet_bytes_ = bytes;
  }
  closed_ = bytes < packet_bytes_;
  bytes_ += bytes;
  ++packets_;
}

bool PacketBatch::full() const {
  return closed_ || packets_ >= UdpSocket::kSendDatagramsMax ||
         bytes_ + packet_bytes_ > UdpSocket::kSendBytesMax;
}

bool PacketBatch::Send(UdpSocket& socket) {
  const auto left = std::as_bytes(std::span(memory_)).subspan(sent_bytes_, bytes_ - sent_bytes_);
  sent_bytes_ += left.empty() ? 0 : socket.Send(path_, left, packet_bytes_);
  if (sent_bytes_ < bytes_) {
    return false;
  }
  Clear();
  return true;
}

size_t PacketBatch::Drop() {
  const size_t dropped = packets_ - (packet_bytes_ == 0 ? 0 : sent_bytes_ / packet_bytes_);
  Clear();
  return dropped;
}

void PacketBatch::Clear() {
  bytes_ = sent_bytes_ = packets_ = packet_bytes_ = 0;
  closed_ = false;
}

void PacketBatch::Restart(const UdpPath& path, std::span<const uint8_t> packet) {
  KVCAST_CHECK(empty());
  std::memmove(memory_.data(), packet.data(), packet.size());
  Add(path, packet.size());
}

}  // namespace kvcast
