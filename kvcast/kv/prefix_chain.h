#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/kv/token.h"

namespace kvcast {

// What a salt may have.
inline constexpr size_t kSaltBytesMax = 1024;

// What a block means: its tokens, everything before them, and the model that reads them.
using BlockHash = Digest;

// An image, a sound: an input that is not a token but changes the KV from where it begins.
struct ForeignInput {
  uint64_t position = 0;  // In tokens from the start of the prompt, where its placeholder begins.
  // Of all that the model gets for it after preprocessing: values, and what numbers their tokens.
  Digest digest;
};

// Names the blocks of prompts, one after another, under one tenant's key and one model.
//
//   d_0 = HMAC(K, 0x00 | model_fp | u32(len salt) | salt)
//   d_i = HMAC(K, 0x01 | d_(i-1) | u64(i) | u32(n) | tokens | u32(len x) | x)
//   d_i = HMAC(K, 0x02 | d_(i-1) | u64(i) | u32(len h) | h)
//
// The whole contract is docs/reference/names.md. Keeps the keyed HMAC, which costs as much to set
// up as a block costs to hash. Movable; one thread at a time.
class BlockNamer {
 public:
  // `salt` separates caches further, as engines allow per request. Invalid: above 1,024 bytes.
  static Result<BlockNamer> Of(const NamingKey& key, const Digest& model_fp,
                               std::string_view salt = {});

  // d_0: everything but the prompt.
  const BlockHash& root() const { return root_; }

  // The name of block `index` (from 1) with these tokens, after a prefix named `before`.
  // REQUIRES: inputs with rising positions within the block.
  BlockHash OfTokens(const BlockHash& before, uint64_t index, std::span<const Token> tokens,
                     std::span<const ForeignInput> inputs = {});
  // The same where an engine supplies a hash of its own. REQUIRES: 1 to 1,024 bytes.
  BlockHash OfEngineHash(const BlockHash& before, uint64_t index, std::string_view hash);

 private:
  explicit BlockNamer(const NamingKey& key) : hmac_(key.bytes()) {}

  HmacSha256 hmac_;
  BlockHash root_;
  std::vector<std::byte> message_;  // Kept, so that a block costs no allocation.
};

// A prefix chain names every block-aligned prefix of a prompt.
//
// Block i's hash covers its own tokens and the hash of block i-1, so equal hashes mean equal
// prefixes and not merely equal blocks. That is what lets a decode node reuse another machine's
// work without comparing tokens.
//
// A trailing partial block gets no hash: its KV changes as the block fills.
class PrefixChain {
 public:
  // Inputs may come in any order. Invalid: one outside the prompt, or two at one token. REQUIRES:
  // tokens_per_block > 0.
  static Result<PrefixChain> Of(BlockNamer& namer, std::span<const Token> tokens,
                                size_t tokens_per_block, std::span<const ForeignInput> inputs = {});
  // One hash per whole block, as the engine computed them. Invalid: one without 1 to 1,024 bytes.
  static Result<PrefixChain> OfEngineHashes(BlockNamer& namer,
                                            std::span<const std::string_view> hashes);

  const BlockHash& root() const { return root_; }
  // blocks()[g] names the prefix that ends with block g, counted from 0 as MoQT's groups are.
  std::span<const BlockHash> blocks() const { return blocks_; }
  // The name of the whole prefix: the last block's, or the root of an empty one.
  const BlockHash& last() const { return blocks_.empty() ? root_ : blocks_.back(); }

  // How many leading blocks the two prompts share.
  size_t SharedBlocks(const PrefixChain& other) const;

 private:
  BlockHash root_;
  std::vector<BlockHash> blocks_;
};

}  // namespace kvcast
