#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "kvcast/base/bytes.h"

namespace kvcast::moqt {

// A text of known length from bytes in any cut; grows only as they arrive.
class TextReader {
 public:
  void Begin(size_t length) { length_ = length; }

  // Takes bytes off the front of `in`; true once the text is whole.
  bool Read(std::span<const std::byte>& in) {
    const size_t taken = std::min(in.size(), length_ - text_.size());
    text_.append(AsText(in.first(taken)));
    in = in.subspan(taken);
    return text_.size() == length_;
  }
  size_t held_bytes() const { return text_.size(); }
  std::string Take() {
    length_ = 0;
    return std::exchange(text_, {});
  }

 private:
  size_t length_ = 0;
  std::string text_;
};

}  // namespace kvcast::moqt
