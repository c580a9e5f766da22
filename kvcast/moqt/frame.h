#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kvcast/moqt/codec.h"

namespace kvcast::moqt {

// Puts messages together from bytes in any cut, each with its frame. Holds one at a time, and only
// what arrived.
class FrameReader {
 public:
  // `begun` was read already.
  explicit FrameReader(const Codec& codec, std::string begun = {})
      : codec_(&codec), held_(std::move(begun)) {}

  // Takes bytes off the front of `in` until a message is whole or `in` is empty.
  std::optional<std::string> Read(std::span<const std::byte>& in);

  // Whether a message has begun and is not whole: a stream must not end here.
  bool midway() const { return !held_.empty(); }
  size_t held_bytes() const { return held_.size(); }

 private:
  const Codec* codec_;
  std::string held_;
  std::optional<size_t> length_;
};

// The same for how a one-way stream begins.
class OpeningReader {
 public:
  explicit OpeningReader(const Codec& codec) : codec_(&codec) {}

  Decoded<std::optional<StreamOpening>> Read(std::span<const std::byte>& in);
  // What was read so far.
  const std::string& begun() const { return held_; }

 private:
  const Codec* codec_;
  std::string held_;
};

}  // namespace kvcast::moqt
