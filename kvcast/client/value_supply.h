#pragma once

#include <vector>

#include "kvcast/client/block_supply.h"
#include "kvcast/client/value_outcome.h"

namespace kvcast {

// An engine's values, cut into pieces and copied as they are sent.
class ValueSupply final : public BlockSupply {
 public:
  // REQUIRES: values of 1 to ValuePiece::kValueBytesMax bytes.
  explicit ValueSupply(std::vector<ValueSource> values) : values_(std::move(values)) {}

  size_t block_count() const override { return values_.size(); }
  uint32_t EndOf(size_t block) const override;
  uint64_t FirstFrom(size_t, uint64_t object) const override { return object; }
  uint32_t After(size_t, uint32_t object) const override { return object + 1; }
  Properties ObjectPropertiesOf(const BlockHash& hash, size_t block,
                                uint32_t object) const override;
  std::optional<Bytes> Payload(size_t block, uint32_t object) override;

 private:
  const std::vector<ValueSource> values_;
};

}  // namespace kvcast
