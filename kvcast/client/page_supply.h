#pragma once

#include <memory>
#include <optional>

#include "kvcast/base/result.h"
#include "kvcast/client/block_supply.h"
#include "kvcast/client/ladder.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// A prompt's blocks, encoded from the engine's pages as they are sent.
class PageSupply final : public BlockSupply {
 public:
  // Reads no page before Prepare(), which chooses how they are coded by those that it may read.
  PageSupply(PromptPages pages, Ladder ladder, Rung rung);

  size_t block_count() const override { return pages_.block_count(); }
  Result<void> Prepare(size_t blocks) override;
  Properties TrackProperties(const Properties& others) const override;
  uint32_t EndOf(size_t block) const override;
  uint64_t FirstFrom(size_t block, uint64_t object) const override;
  uint32_t After(size_t block, uint32_t object) const override;
  Properties ObjectPropertiesOf(const BlockHash& hash, size_t block,
                                uint32_t object) const override;
  Bytes Payload(size_t block, uint32_t object) override;

 private:
  const PromptPages pages_;
  const Ladder ladder_;
  const Rung rung_;
  std::shared_ptr<const Codec> codec_;
  std::optional<BlockView> view_;  // Of the block that is being sent.
  size_t viewed_ = 0;
};

}  // namespace kvcast
