#include "kvcast/client/encode_job.h"

#include <utility>

namespace kvcast {

EncodeJob::EncodeJob(uint64_t number, std::shared_ptr<const Codec> codec,
                     std::shared_ptr<const BlockView> block, uint32_t first_token, size_t objects)
    : number_(number),
      codec_(std::move(codec)),
      block_(std::move(block)),
      first_token_(first_token),
      objects_(objects) {
  for (size_t i = 0; i < objects_; ++i) {
    const uint32_t tokens = codec_->TokensFrom(first_token);
    bytes_max_ += codec_->ObjectBytesMax(tokens);
    first_token += tokens;
  }
}

void EncodeJob::Run() { made_ = codec_->EncodeObjects(*block_, first_token_, objects_); }

}  // namespace kvcast
