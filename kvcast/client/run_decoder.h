#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/client/load_report.h"
#include "kvcast/client/load_run.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/codec/codec.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/object/location.h"
#include "kvcast/object/object.h"

namespace kvcast {

// Takes the objects of one run in their order and writes them into pages, each only once it has
// been checked: that its block is the one wanted, that it holds the next token, and that its bytes
// are whole and of this model's shape. A few of a block wait for each other, as the codec likes it.
// The first thing that is not as it must be ends the run; the blocks that were whole before stay
// so.
class RunDecoder {
 public:
  // `blocks` are the wanted hashes of the whole prompt. REQUIRES: the run lies within them and
  // within `pages`; all outlive the decoder.
  RunDecoder(const LoadRun& run, std::span<const BlockHash> blocks, const PromptPages& pages);

  // By what its objects are decoded, once their track has told. REQUIRES: a codec of the pages'
  // shape.
  void Begin(std::shared_ptr<const Codec> codec);
  bool begun() const { return codec_ != nullptr; }

  // Each gives what is wrong, if anything is, and is then not called again. REQUIRES: begun().
  std::optional<LoadFault> OnObject(const Object& object);
  // Nothing exists, or is known, between the item before and this location.
  std::optional<LoadFault> OnRangeEnd(Location last);
  // Nothing more comes.
  std::optional<LoadFault> OnEnd();

  size_t blocks_done() const { return blocks_done_; }
  bool complete() const { return blocks_done_ == block_count_; }
  // The object that it waits for.
  Location next() const { return {first_group_ + blocks_done_, next_token_}; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::optional<LoadFault> CheckKey(const Object& object) const;
  std::optional<LoadFault> DecodeWaiting();

  const uint64_t first_group_;
  const size_t first_block_;
  const size_t block_count_;
  const std::span<const BlockHash> blocks_;
  const PromptPages* pages_;
  std::shared_ptr<const Codec> codec_;
  std::optional<BlockView> block_;  // The one that is being written.
  size_t blocks_done_ = 0;
  uint32_t next_token_ = 0;
  uint32_t first_waiting_ = 0;  // The token of the first object that waits.
  std::vector<Bytes> waiting_;
  uint64_t bytes_ = 0;
};

}  // namespace kvcast
