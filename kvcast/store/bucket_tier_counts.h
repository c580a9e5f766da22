#pragma once

#include <cstdint>

namespace kvcast {

struct BucketTierCounts {
  uint64_t damaged = 0;         // Records and indexes that did not pass their checks.
  uint64_t late = 0;            // Gets that were answered because their time was over.
  uint64_t read_errors = 0;     // Gets that failed otherwise.
  uint64_t contradictions = 0;  // Objects that stand there with two contents: the first stays.
  uint64_t packs_put = 0;
  uint64_t packs_failed = 0;  // That could not be put.
  uint64_t packs_removed = 0;
  uint64_t packs_merged = 0;  // Of those, because larger ones have what was in them.
  uint64_t packs_gone = 0;    // That were in the bucket, and were not there when read.
  uint64_t unread = 0;        // Packs that a survey could not read.
  uint64_t foreign = 0;       // Keys that are not packs, in the last survey.
  uint64_t left_out = 0;      // Packs that the index has no room for, as of the last survey.
  uint64_t forgotten = 0;     // Packs whose contents it had, and that made room for others.
  uint64_t surveys_failed = 0;
  uint64_t bytes_read = 0;
  uint64_t requests = 0;
  uint64_t retries = 0;
  uint64_t failures = 0;  // Requests that failed.
  uint64_t breaker_opened = 0;
};

}  // namespace kvcast
