#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/error.h"
#include "kvcast/client/executor.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

// Objects of a block that follow one another, to be decoded into its pages: each only once it has
// been checked, up to the first that is not as it must be.
class DecodeJob final : public Job {
 public:
  struct Place {
    size_t run = 0;            // The first block of the run that it belongs to.
    size_t block = 0;          // In that run.
    uint32_t first_token = 0;  // Of the first object.
  };
  // The block is written to by several jobs at a time, each its own tokens.
  DecodeJob(const Place& place, std::shared_ptr<const Codec> codec,
            std::shared_ptr<BlockView> block, std::vector<Bytes> payloads);

  void Run() override;

  const Place& place() const { return place_; }
  // Of payload that it was given.
  uint64_t bytes() const { return bytes_; }

  // Once it has been run: of payload that was decoded; and what is wrong with the object behind
  // that, if anything is, which begins with this token.
  uint64_t decoded_bytes() const { return decoded_bytes_; }
  const std::optional<Error>& fault() const { return fault_; }
  uint32_t fault_token() const { return fault_token_; }

 private:
  const Place place_;
  const std::shared_ptr<const Codec> codec_;
  const std::shared_ptr<BlockView> block_;
  std::vector<Bytes> payloads_;
  uint64_t bytes_ = 0;
  uint64_t decoded_bytes_ = 0;
  std::optional<Error> fault_;
  uint32_t fault_token_ = 0;
};

}  // namespace kvcast
