// What a cache is asked for, and what it answers. Included by kvcast.hpp.
#ifndef KVCAST_KVCAST_TERMS_HPP_
#define KVCAST_KVCAST_TERMS_HPP_

#include "kvcast/kvcast.hpp"

namespace kvcast {
inline namespace v0 {

// One act of publishing. See kvcast_draw_generation.
using Generation = std::array<unsigned char, KVCAST_GENERATION_BYTES>;

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
};

}  // namespace v0
}  // namespace kvcast

#endif  // KVCAST_KVCAST_TERMS_HPP_
