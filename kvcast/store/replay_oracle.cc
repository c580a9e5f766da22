#include "kvcast/store/replay_oracle.h"

#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

namespace kvcast {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

// For each block of each request, the next request that has it.
std::vector<std::vector<size_t>> NextRequests(std::span<const std::vector<uint64_t>> requests) {
  std::vector<std::vector<size_t>> next(requests.size());
  std::unordered_map<uint64_t, size_t> later;
  for (size_t at = requests.size(); at-- > 0;) {
    for (const uint64_t block : requests[at]) {
      const auto found = later.find(block);
      next[at].push_back(found == later.end() ? kNever : found->second);
    }
    for (const uint64_t block : requests[at]) {
      later[block] = at;
    }
  }
  return next;
}

}  // namespace

size_t OracleHits(std::span<const std::vector<uint64_t>> requests, size_t blocks_max) {
  using Need = std::tuple<size_t, size_t, uint64_t>;  // Request, depth, block.
  const std::vector<std::vector<size_t>> next = NextRequests(requests);
  std::set<Need> order;
  std::unordered_map<uint64_t, Need> held;
  size_t hits = 0;
  for (size_t at = 0; at < requests.size(); ++at) {
    const std::vector<uint64_t>& blocks = requests[at];
    size_t leading = 0;
    while (leading < blocks.size() && held.contains(blocks[leading])) {
      ++leading;
    }
    hits += leading;
    for (size_t position = blocks.size(); position-- > 0;) {
      const uint64_t block = blocks[position];
      if (const auto found = held.find(block); found != held.end()) {
        order.erase(found->second);
        held.erase(found);
      }
      if (next[at][position] == kNever) {
        continue;
      }
      const Need need(next[at][position], position, block);
      order.insert(need);
      held.emplace(block, need);
      if (held.size() > blocks_max) {
        const auto last = std::prev(order.end());
        held.erase(std::get<2>(*last));
        order.erase(last);
      }
    }
  }
  return hits;
}

}  // namespace kvcast
