#include "examples/tinylm/merge_table.h"

#include <functional>
#include <queue>
#include <utility>

#include "examples/tinylm/base/check.h"

namespace kvcast::tinylm {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// What is left of a word between two merges: a list in an array, so that a merge moves nothing.
struct Symbol {
  uint32_t id;
  uint32_t before;
  uint32_t after;
};

// A merge that may be made: its rank, then its place, so that the least is the one to make.
// It is not taken back when another merge takes one of its symbols away, but found stale later.
using Candidate = std::pair<uint32_t, uint32_t>;

uint64_t PairKey(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

std::vector<Symbol> Linked(std::span<const uint32_t> word) {
  std::vector<Symbol> symbols(word.size());
  const auto count = static_cast<uint32_t>(word.size());
  for (uint32_t at = 0; at < count; ++at) {
    symbols[at] = {word[at], at == 0 ? kNone : at - 1, at + 1 == count ? kNone : at + 1};
  }
  return symbols;
}

}  // namespace

bool MergeTable::Add(uint32_t left, uint32_t right, uint32_t merged) {
  const auto rank = static_cast<uint32_t>(merges_.size());
  if (!rank_of_.emplace(PairKey(left, right), rank).second) {
    return false;
  }
  merges_.push_back({left, right, merged});
  return true;
}

void MergeTable::Apply(std::span<const uint32_t> word, std::vector<uint32_t>& out) const {
  TINYLM_CHECK(word.size() < kNone);
  if (word.empty()) {
    return;
  }
  std::vector<Symbol> symbols = Linked(word);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](uint32_t at) {
    if (at == kNone || symbols[at].after == kNone) {
      return;
    }
    const auto found = rank_of_.find(PairKey(symbols[at].id, symbols[symbols[at].after].id));
    if (found != rank_of_.end()) {
      candidates.emplace(found->second, at);
    }
  };
  for (uint32_t at = 0; at < symbols.size(); ++at) {
    propose(at);
  }

  while (!candidates.empty()) {
    const auto [rank, at] = candidates.top();
    candidates.pop();
    const Merge& merge = merges_[rank];
    Symbol& left = symbols[at];
    if (left.after == kNone || left.id != merge.left || symbols[left.after].id != merge.right) {
      continue;
    }
    Symbol& right = symbols[left.after];
    left = {merge.merged, left.before, right.after};
    if (right.after != kNone) {
      symbols[right.after].before = at;
    }
    right = {kNone, kNone, kNone};  // No candidate is for it any more.
    propose(left.before);
    propose(at);
  }

  for (uint32_t at = 0; at != kNone; at = symbols[at].after) {
    out.push_back(symbols[at].id);
  }
}

}  // namespace kvcast::tinylm
