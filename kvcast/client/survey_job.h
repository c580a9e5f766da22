#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "kvcast/client/executor.h"
#include "kvcast/codec/exponent_survey.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// Some tokens of one layer of a block, to be looked at for what a lossless rung says of them.
class SurveyJob final : public Job {
 public:
  // What it looks at.
  struct Part {
    size_t layer = 0;
    uint32_t first_token = 0;
    uint32_t tokens = 0;
    uint64_t bytes = 0;  // Of values.
  };
  // REQUIRES: a part of the block, whose values are of that type.
  SurveyJob(std::shared_ptr<const BlockView> block, HalfType type, const Part& part)
      : block_(std::move(block)), type_(type), part_(part) {}

  void Run() override {
    seen_ = CountExponents(*block_, type_, part_.layer, part_.first_token, part_.tokens);
  }

  uint64_t bytes() const { return part_.bytes; }
  size_t layer() const { return part_.layer; }
  // Once it has been run.
  const LayerExponents& seen() const { return seen_; }

 private:
  const std::shared_ptr<const BlockView> block_;
  const HalfType type_;
  const Part part_;
  LayerExponents seen_{};
};

}  // namespace kvcast
