#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// What engines were asked for: of each request, the blocks of its prompt.
struct RequestTrace {
  std::vector<std::vector<uint64_t>> requests;  // Blocks by number, from the prompt's beginning.
  size_t text_bytes = 0;                        // Of the file.
  size_t block_count = 0;                       // Of all requests together.
  size_t distinct_count = 0;                    // Blocks are numbered from 0 to this.
};

// A line for each request, in the order of their time: a JSON object whose "hash_ids" are the names
// of its blocks, integers or strings. Other members and empty lines mean nothing here. "-" is
// standard input. Errors name the file and the line.
Result<RequestTrace> ReadRequestTrace(const std::string& file);
Result<RequestTrace> ParseRequestTrace(std::string_view text);

}  // namespace kvcast
