#include "kvcast/kv/prefix_chain.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr size_t kEngineHashBytesMax = 1024;

// Appends to a message that is hashed as one span: that is what makes it fast.
class Message {
 public:
  Message(std::vector<std::byte>& buffer, uint8_t kind) : buffer_(buffer) {
    buffer_.clear();
    Add(kind);
  }
  template <std::unsigned_integral T>
  void Add(T number) {
    std::byte little[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      little[i] = static_cast<std::byte>(number >> (8 * i));
    }
    Add(std::span<const std::byte>(little));
  }
  void Add(std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  void Add(const Digest& digest) { Add(digest.span()); }
  void AddTokens(std::span<const Token> tokens) {
    if constexpr (std::endian::native == std::endian::little) {
      Add(std::as_bytes(tokens));
    } else {
      for (const Token token : tokens) {
        Add(token);
      }
    }
  }
  std::span<const std::byte> bytes() const { return buffer_; }

 private:
  std::vector<std::byte>& buffer_;
};

}  // namespace

Result<BlockNamer> BlockNamer::Of(const NamingKey& key, const Digest& model_fp,
                                  std::string_view salt) {
  if (salt.size() > kSaltBytesMax) {
    return Error(ErrorCode::kInvalid, "A salt has at most 1,024 bytes; this one has " +
                                          std::to_string(salt.size()) + ".");
  }
  BlockNamer namer(key);
  Message message(namer.message_, 0x00);
  message.Add(model_fp);
  message.Add(static_cast<uint32_t>(salt.size()));
  message.Add(AsBytes(salt));
  namer.root_ = namer.hmac_.Of(message.bytes());
  return namer;
}

BlockHash BlockNamer::OfTokens(const BlockHash& before, uint64_t index,
                               std::span<const Token> tokens,
                               std::span<const ForeignInput> inputs) {
  constexpr size_t kInputBytes = sizeof(uint32_t) + Digest::kBytes;
  const uint64_t block_start = (index - 1) * tokens.size();
  Message message(message_, 0x01);
  message.Add(before);
  message.Add(index);
  message.Add(static_cast<uint32_t>(tokens.size()));
  message.AddTokens(tokens);
  message.Add(static_cast<uint32_t>(inputs.size() * kInputBytes));
  for (const ForeignInput& input : inputs) {
    KVCAST_CHECK(input.position >= block_start && input.position - block_start < tokens.size());
    message.Add(static_cast<uint32_t>(input.position - block_start));
    message.Add(input.digest);
  }
  return hmac_.Of(message.bytes());
}

BlockHash BlockNamer::OfEngineHash(const BlockHash& before, uint64_t index, std::string_view hash) {
  KVCAST_CHECK(!hash.empty() && hash.size() <= kEngineHashBytesMax);
  Message message(message_, 0x02);
  message.Add(before);
  message.Add(index);
  message.Add(static_cast<uint32_t>(hash.size()));
  message.Add(AsBytes(hash));
  return hmac_.Of(message.bytes());
}

Result<PrefixChain> PrefixChain::Of(BlockNamer& namer, std::span<const Token> tokens,
                                    size_t tokens_per_block,
                                    std::span<const ForeignInput> unsorted_inputs) {
  KVCAST_CHECK(tokens_per_block > 0);
  std::vector<ForeignInput> sorted(unsorted_inputs.begin(), unsorted_inputs.end());
  std::ranges::sort(sorted, {}, &ForeignInput::position);
  std::span<const ForeignInput> inputs = sorted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].position >= tokens.size() ||
        (i > 0 && inputs[i].position == inputs[i - 1].position)) {
      return Error(ErrorCode::kInvalid,
                   "Inputs begin within the prompt, each at its own token; one "
                   "begins at " +
                       std::to_string(inputs[i].position) + ".");
    }
  }
  PrefixChain chain;
  chain.root_ = namer.root();
  chain.blocks_.reserve(tokens.size() / tokens_per_block);
  BlockHash before = chain.root_;
  for (size_t end = tokens_per_block; end <= tokens.size(); end += tokens_per_block) {
    size_t begun = 0;
    while (begun < inputs.size() && inputs[begun].position < end) {
      ++begun;
    }
    before = namer.OfTokens(before, chain.blocks_.size() + 1,
                            tokens.subspan(end - tokens_per_block, tokens_per_block),
                            inputs.first(begun));
    inputs = inputs.subspan(begun);
    chain.blocks_.push_back(before);
  }
  return chain;
}

Result<PrefixChain> PrefixChain::OfEngineHashes(BlockNamer& namer,
                                                std::span<const std::string_view> hashes) {
  PrefixChain chain;
  chain.root_ = namer.root();
  chain.blocks_.reserve(hashes.size());
  for (const std::string_view hash : hashes) {
    if (hash.empty() || hash.size() > kEngineHashBytesMax) {
      return Error(ErrorCode::kInvalid, "An engine's hash has 1 to 1,024 bytes; one has " +
                                            std::to_string(hash.size()) + ".");
    }
    chain.blocks_.push_back(namer.OfEngineHash(chain.last(), chain.blocks_.size() + 1, hash));
  }
  return chain;
}

size_t PrefixChain::SharedBlocks(const PrefixChain& other) const {
  // A hash covers all before it, so the first difference is the last word.
  if (root_ != other.root_) {
    return 0;
  }
  const size_t shorter = std::min(blocks_.size(), other.blocks_.size());
  size_t shared = 0;
  while (shared < shorter && blocks_[shared] == other.blocks_[shared]) {
    ++shared;
  }
  return shared;
}

}  // namespace kvcast
