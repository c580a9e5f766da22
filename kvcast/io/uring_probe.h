#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvcast {

// Whether and how well this process may use io_uring.
struct UringFacts {
  bool available = false;
  int refusal = 0;                   // The error number when it is not.
  std::optional<uint64_t> disabled;  // kernel.io_uring_disabled: 0 for all, 1 privileged, 2 none.
  bool registered_buffers = false;   // A buffer as large as kvcast's could be pinned,
  uint64_t registered_buffer_bytes = 0;  // which is this many bytes.
  std::vector<std::string> missing;      // Operations that kvcast would use and the kernel lacks.
};

// Being refused is a fact and no failure, so there is always an answer.
UringFacts ProbeUring();

}  // namespace kvcast
