#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "kvcast/moqt/draft_judge_test.h"

// The draft's rules on one-way streams and datagrams. Section numbers are the draft's.
namespace kvcast::moqt::draft {

// What the receiver of a data stream knows.
struct StreamFacts {
  uint64_t alias = 0;       // Of a track that is subscribed to.
  uint64_t request_id = 0;  // Of a fetch of the receiver's, for
  std::pair<uint64_t, uint64_t> fetched_from;
  uint64_t fetched_to = 0;  // this group included,
  bool descending = false;  // in this order.
  // Limits of the receiver's own.
  uint64_t object_bytes_max = 0;
  uint64_t properties_bytes_max = 0;
};

// Of a stream's beginning, or of all of it where it has ended. What is not whole yet is waited for.
Verdict JudgeStream(std::string_view bytes, bool fin, const StreamFacts& facts);

Verdict JudgeDatagram(std::string_view bytes, const StreamFacts& facts);

}  // namespace kvcast::moqt::draft
