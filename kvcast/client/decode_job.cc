#include "kvcast/client/decode_job.h"

#include <utility>

namespace kvcast {

DecodeJob::DecodeJob(const Place& place, std::shared_ptr<const Codec> codec,
                     std::shared_ptr<BlockView> block, std::vector<Bytes> payloads)
    : place_(place),
      codec_(std::move(codec)),
      block_(std::move(block)),
      payloads_(std::move(payloads)),
      fault_token_(place.first_token) {
  for (const Bytes& payload : payloads_) {
    bytes_ += payload.size();
  }
}

void DecodeJob::Run() {
  Codec::Decoded decoded = codec_->DecodeSeveral(payloads_, place_.first_token, *block_);
  for (size_t i = 0; i < decoded.objects; ++i) {
    decoded_bytes_ += payloads_[i].size();
    fault_token_ += codec_->TokensFrom(fault_token_);
  }
  fault_ = std::move(decoded.fault);
  payloads_.clear();  // Their memory is wanted for what comes.
}

}  // namespace kvcast
