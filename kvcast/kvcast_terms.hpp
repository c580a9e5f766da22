// What a cache is asked for, and what it answers. Included by kvcast.hpp.
#ifndef KVCAST_KVCAST_TERMS_HPP_
#define KVCAST_KVCAST_TERMS_HPP_

#include "kvcast/kvcast.hpp"

namespace kvcast {
inline namespace v0 {

// One act of publishing. See kvcast_draw_generation.
using Generation = std::array<unsigned char, KVCAST_GENERATION_BYTES>;

// What a cache is of. See kvcast_model.
struct CacheModel {
  std::string folder;
  std::string name{};
  std::string adapter{};
  std::string kv_dtype{};
  std::string calibration{};
  uint32_t block_tokens = 0;
  // The part that this engine's pages hold; a count of 0: all.
  uint32_t first_layer = 0;
  uint32_t layer_count = 0;
  uint32_t first_head = 0;
  uint32_t head_count = 0;
};
// The engine's memory. See kvcast_pages.
struct CachePages {
  std::vector<kvcast_layer> layers;
  uint32_t page_tokens = 16;
  uint32_t page_count = 0;
  int32_t order = KVCAST_NHD;
  int32_t placement = KVCAST_APART;
  int32_t values = KVCAST_BF16;
};
// Tokens, and where their pages are. See kvcast_prompt.
struct CachePrompt {
  std::vector<uint32_t> tokens;
  std::vector<uint32_t> pages{};
  std::string_view salt{};
  std::vector<kvcast_input> inputs{};  // All images and sounds that there are among the tokens.
};
// Of a call. See kvcast_terms.
struct CacheTerms {
  Microseconds timeout{30'000'000};
  Microseconds compute_block{0};
  std::string rung{};
  Durability durability = Durability::kMemory;
  // Of a load: how long to wait for the next block that somebody publishes, and for somebody to
  // begin; for how many of the prompt's tokens, if not for all.
  Microseconds follow{0};
  Microseconds begin{0};
  uint64_t expected_tokens = 0;
  // What several ranks publish their parts under; of what is found and loaded, only that.
  std::optional<Generation> generation{};
  // Of what is found and loaded: the first so many tokens are in their pages already.
  uint64_t skip_tokens = 0;
  // Of what is begun and not waited for: what NextNews() calls it by.
  uint64_t tag = 0;
  // Of a load that is begun and not waited for: pages of the first so many tokens may be written to
  // now, of more when Room() says so. 0: all.
  uint64_t room_tokens = 0;
  // Of what is found and loaded: nothing truer than this is wanted either. Not without `rung`.
  std::string best_rung{};
  // Of a publication: the first so many tokens are exact in their pages, which the engine knows.
  uint64_t exact_tokens = 0;
};

// What became of a block. See kvcast_block.
struct CacheBlock {
  Status status = Status::kPending;
  std::string rung{};  // Empty where it was not loaded.
  std::string why{};
};
// One way in which a block can be had. See kvcast_offer.
struct CacheOffer {
  uint64_t block = 0;
  std::string rung{};
  uint64_t bytes = 0;
  std::optional<Microseconds> load{};  // Unless it is not known yet.
  std::string node{};                  // 16 bytes, as is what follows.
  std::string generation{};
};
// What a call came to. See kvcast_report.
struct CacheReport {
  uint64_t blocks = 0;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  uint64_t held = 0;
  Status status = Status::kPending;
  std::string reason{};
  uint64_t live = 0;
  std::vector<CacheBlock> each{};  // Of a load: of each of the prompt's blocks.
  uint64_t prefetched = 0;
  Durability durability = Durability::kMemory;  // Of a publication: what all of it has reached.
};

namespace detail {

inline kvcast_model ModelOf(const CacheModel& model) {
  kvcast_model named{};
  named.struct_size = sizeof(named);
  named.folder = model.folder.c_str();
  named.name = TextOrNull(model.name);
  named.adapter = TextOrNull(model.adapter);
  named.kv_dtype = TextOrNull(model.kv_dtype);
  named.calibration = TextOrNull(model.calibration);
  named.block_tokens = model.block_tokens;
  named.first_layer = model.first_layer;
  named.layer_count = model.layer_count;
  named.first_head = model.first_head;
  named.head_count = model.head_count;
  return named;
}
inline kvcast_pages PagesOf(const CachePages& pages) {
  kvcast_pages laid{};
  laid.struct_size = sizeof(laid);
  laid.layers = pages.layers.data();
  laid.layer_size = sizeof(kvcast_layer);
  laid.layer_count = pages.layers.size();
  laid.page_tokens = pages.page_tokens;
  laid.page_count = pages.page_count;
  laid.order = pages.order;
  laid.placement = pages.placement;
  laid.values = pages.values;
  return laid;
}
inline kvcast_prompt PromptOf(const CachePrompt& prompt) {
  kvcast_prompt asked{};
  asked.struct_size = sizeof(asked);
  asked.tokens = prompt.tokens.data();
  asked.token_count = prompt.tokens.size();
  asked.pages = prompt.pages.data();
  asked.page_count = prompt.pages.size();
  asked.salt = prompt.salt.data();
  asked.salt_bytes = prompt.salt.size();
  asked.inputs = prompt.inputs.data();
  asked.input_size = sizeof(kvcast_input);
  asked.input_count = prompt.inputs.size();
  return asked;
}
inline kvcast_terms TermsOf(const CacheTerms& terms) {
  kvcast_terms given{};
  given.struct_size = sizeof(given);
  given.timeout_us = terms.timeout.count() > 0 ? terms.timeout.count() : -1;
  given.compute_block_us = terms.compute_block.count();
  given.rung = TextOrNull(terms.rung);
  given.durability = static_cast<int32_t>(terms.durability);
  given.follow_us = terms.follow.count();
  given.begin_us = terms.begin.count();
  given.expected_tokens = terms.expected_tokens;
  given.generation = terms.generation ? terms.generation->data() : nullptr;
  given.skip_tokens = terms.skip_tokens;
  given.tag = terms.tag;
  given.room_tokens = terms.room_tokens;
  given.best_rung = TextOrNull(terms.best_rung);
  given.exact_tokens = terms.exact_tokens;
  return given;
}

}  // namespace detail
}  // namespace v0
}  // namespace kvcast

#endif  // KVCAST_KVCAST_TERMS_HPP_
