#pragma once

#include <cstddef>
#include <cstdint>

namespace kvcast {

// How codec work is cut into jobs, and how much of it may wait.
struct WorkLimits {
  // Of payload, that are decoded by one job, and of values, that are encoded by one; or an object,
  // where that is more. So much that handing a job over costs nothing beside it, and so little that
  // whoever ends an operation need not wait long.
  size_t decode_job_bytes = 64 * 1024;
  size_t encode_job_bytes = 256 * 1024;
  size_t job_objects_max = 1024;  // Of either.
  // Of a load, of payload: while so much waits to be decoded, nothing more is taken from the
  // session. The same of what comes live and waits for what comes before it.
  uint64_t decoding_bytes_max = 4 * 1024 * 1024;
  // Blocks that come live side by side: of more than that none collects objects for larger jobs.
  size_t live_blocks_max = 16;
  // Of a publication, of payload: while so much is encoded and not sent, or being encoded, no more
  // is.
  uint64_t encoded_bytes_max = 4 * 1024 * 1024;
};

}  // namespace kvcast
