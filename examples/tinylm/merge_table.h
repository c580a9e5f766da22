#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace kvcast::tinylm {

// The merges of a byte-pair encoding, best first, and the way to apply them.
//
// Pure and thread-compatible.
class MergeTable {
 public:
  // `left` and `right` side by side become `merged`. Each merge ranks behind those added before
  // it. False if the pair has one already; that one stays.
  bool Add(uint32_t left, uint32_t right, uint32_t merged);

  size_t size() const { return merges_.size(); }

  // Merges the best pair of the word, the leftmost of equals, until no pair has a merge, and
  // appends what is left to `out`. Takes n log n steps for n ids, whatever they are: one "word"
  // may be a whole file of base64.
  // REQUIRES: word.size() < 2^32 - 1.
  void Apply(std::span<const uint32_t> word, std::vector<uint32_t>& out) const;

 private:
  struct Merge {
    uint32_t left;
    uint32_t right;
    uint32_t merged;
  };

  std::vector<Merge> merges_;                       // By rank.
  std::unordered_map<uint64_t, uint32_t> rank_of_;  // By left and right id.
};

}  // namespace kvcast::tinylm
