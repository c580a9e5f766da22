#pragma once

#include <string>

namespace kvcast::tinylm {

// A tokenizer.json that is complete and small, for tests and fuzzers to spoil: <s>, </s>, the 256
// bytes, and merges up to " the" and "'s".
std::string SampleTokenizerJson();

}  // namespace kvcast::tinylm
