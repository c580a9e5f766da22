#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/client/executor.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// Objects of a block that follow one another, to be encoded from its pages.
class EncodeJob final : public Job {
 public:
  // REQUIRES: a token that an object begins with, and as many objects behind it.
  EncodeJob(uint64_t number, std::shared_ptr<const Codec> codec,
            std::shared_ptr<const BlockView> block, uint32_t first_token, size_t objects);

  void Run() override;

  uint64_t number() const { return number_; }
  // The most that they can have together, until it has been run.
  uint64_t bytes() const { return bytes_max_; }
  // Once it has been run.
  std::vector<Bytes> TakeObjects() { return std::move(made_); }

 private:
  const uint64_t number_;
  const std::shared_ptr<const Codec> codec_;
  const std::shared_ptr<const BlockView> block_;
  const uint32_t first_token_;
  const size_t objects_;
  uint64_t bytes_max_ = 0;
  std::vector<Bytes> made_;
};

}  // namespace kvcast
