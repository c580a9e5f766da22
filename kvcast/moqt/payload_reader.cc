#include "kvcast/moqt/payload_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace kvcast::moqt {
namespace {

constexpr size_t kFirstChunkBytes = 16 * 1024;

}  // namespace

bool PayloadReader::Read(std::span<const std::byte>& in) {
  while (missing_ > 0 && !in.empty()) {
    if (!chunk_ || used_ == chunk_.capacity()) {
      done_.Append(Bytes::Of(std::exchange(chunk_, ChunkRef()), 0, used_));
      used_ = 0;
      const size_t earned =
          std::clamp(std::max(done_.size(), in.size()), kFirstChunkBytes, kChunkBytesMax);
      chunk_ = NewChunk(static_cast<size_t>(std::min<uint64_t>(missing_, earned)));
    }
    const size_t taken = static_cast<size_t>(
        std::min<uint64_t>(missing_, std::min(in.size(), chunk_.capacity() - used_)));
    std::memcpy(chunk_.mutable_data() + used_, in.data(), taken);
    used_ += taken;
    missing_ -= taken;
    in = in.subspan(taken);
  }
  return missing_ == 0;
}

ChunkRef PayloadReader::NewChunk(size_t bytes) {
  if (pool_ != nullptr) {
    const bool fills = bytes >= std::bit_ceil(bytes) / 8 * 7;
    const size_t most = fills ? bytes : std::bit_floor(bytes);
    if (fills || most >= kFirstChunkBytes) {
      if (ChunkRef pooled = pool_->Allocate(most)) {
        return pooled;
      }
    }
  }
  return ChunkRef::OnHeap(bytes);
}

Bytes PayloadReader::Take() {
  done_.Append(Bytes::Of(std::exchange(chunk_, ChunkRef()), 0, std::exchange(used_, 0)));
  return std::exchange(done_, Bytes());
}

}  // namespace kvcast::moqt
