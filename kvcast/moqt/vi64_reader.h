#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kvcast/base/vi64.h"

namespace kvcast::moqt {

// One integer from bytes in any cut. Ready for the next as soon as it has given one.
class Vi64Reader {
 public:
  // Takes bytes off the front of `in`; absent if the integer is not whole yet.
  std::optional<uint64_t> Read(std::span<const std::byte>& in) {
    while (!in.empty()) {
      bytes_[have_++] = in.front();
      in = in.subspan(1);
      if (have_ == Vi64SizeFrom(bytes_[0])) {
        const uint64_t value = ReadVi64(std::span(bytes_).first(have_));
        have_ = 0;
        return value;
      }
    }
    return std::nullopt;
  }
  bool midway() const { return have_ > 0; }

 private:
  std::array<std::byte, kVi64BytesMax> bytes_{};
  size_t have_ = 0;
};

}  // namespace kvcast::moqt
