#include "kvcast/client/page_supply.h"

#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/kv/track_properties.h"

namespace kvcast {

PageSupply::PageSupply(PromptPages pages, Ladder ladder, Rung rung)
    : pages_(std::move(pages)), ladder_(std::move(ladder)), rung_(rung) {}

// What the track says of its coding stays, so later blocks are not asked.
Result<void> PageSupply::Prepare(size_t blocks) {
  if (codec_ == nullptr) {
    KVCAST_TRY(codec_, ladder_.Encoder(rung_, pages_.First(blocks)));
    KVCAST_CHECK(codec_->shape() == pages_.shape());
  }
  return {};
}

Properties PageSupply::TrackProperties(const Properties& others) const {
  return WithFormat(others, codec_->format().Encode());
}

uint32_t PageSupply::EndOf(size_t) const { return pages_.shape().tokens(); }

// An object is known by its first token: one that begins before what is wanted is not.
uint64_t PageSupply::FirstFrom(size_t, uint64_t object) const {
  const uint64_t run = codec_->format().run_tokens;
  return object / run * run + (object % run == 0 ? 0 : run);
}

uint32_t PageSupply::After(size_t, uint32_t object) const {
  return object + codec_->TokensFrom(object);
}

Properties PageSupply::ObjectPropertiesOf(const BlockHash& hash, size_t, uint32_t object) const {
  return ObjectProperties(hash, object, codec_->format().run_tokens);
}

Bytes PageSupply::Payload(size_t block, uint32_t object) {
  if (!view_ || viewed_ != block) {
    view_.emplace(pages_.Block(block));
    viewed_ = block;
  }
  return codec_->Encode(*view_, object);
}

}  // namespace kvcast
