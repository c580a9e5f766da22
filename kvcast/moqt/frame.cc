#include "kvcast/moqt/frame.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

std::optional<std::string> FrameReader::Read(std::span<const std::byte>& in) {
  while (!length_ && !in.empty()) {
    held_.append(AsText(in.first(1)));
    in = in.subspan(1);
    length_ = codec_->MessageBytes(held_);
  }
  if (!length_) {
    return std::nullopt;
  }
  const size_t taken = std::min(in.size(), *length_ - held_.size());
  held_.append(AsText(in.first(taken)));
  in = in.subspan(taken);
  if (held_.size() < *length_) {
    return std::nullopt;
  }
  length_.reset();
  return std::exchange(held_, {});
}

Decoded<std::optional<StreamOpening>> OpeningReader::Read(std::span<const std::byte>& in) {
  while (!in.empty()) {
    held_.append(AsText(in.first(1)));
    in = in.subspan(1);
    KVCAST_TRY(std::optional<StreamOpening> opening, codec_->DecodeOpening(held_));
    if (opening) {
      return opening;
    }
  }
  return std::optional<StreamOpening>();
}

}  // namespace kvcast::moqt
