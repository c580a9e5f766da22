#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/host/request_trace.h"

namespace kvcast {

// How made-up prompts share their beginnings. A few conversations are open at a time. Each opens
// with one of a few system prompts, the first the most popular, and something nobody said before;
// most end there, and the others go on: the same prompt, and some more.
//
// What stands here fits Mooncake's published trace of conversations, whose blocks of 512 tokens a
// cache that forgets nothing hits 36.6 % of, and 76 % of whose distinct blocks nobody asks for
// again.
struct ConversationMix {
  size_t requests = 10'000;
  double prompt_blocks = 8;  // On average,
  size_t prompt_blocks_max = 32;
  size_t conversations = 8;  // Open at a time.
  double returning = 0.23;   // The share of them that go on after their first prompt,
  double turns = 1.6;        // and how many more prompts those have, on average; 1 or more.
  size_t system_prompts = 4;
  size_t system_blocks = 1;  // Of each of them.
  double zipf = 1;           // The k-th is 1 / k^zipf as popular as the first.
  // So many requests of others come between two of one conversation, if so many are open: who is
  // answered reads first.
  size_t rest = 6;
  uint64_t seed = 1;
};

// The same requests for the same mix. REQUIRES: requests, prompt_blocks_max, conversations and
// system_prompts above 0.
RequestTrace MakeConversations(const ConversationMix& mix);

// The trace in finer blocks, so many for each of its own, of prompts that are cut where they get
// too long. REQUIRES: both above 0.
RequestTrace CutFiner(const RequestTrace& trace, size_t parts, size_t prompt_blocks_max);

// What a trace lets anybody hope for.
struct SharingFigures {
  double prompt_blocks = 0;      // On average.
  double hit_ratio = 0;          // Of a cache that forgets nothing.
  double never_again_ratio = 0;  // Of the distinct blocks, those asked for once.
};
SharingFigures SharingOf(const RequestTrace& trace);

}  // namespace kvcast
