#include "kvcast/store/pack_horizon.h"

#include <iterator>

namespace kvcast {

void PackHorizon::Add(const PackNode& node, uint32_t number) {
  auto& runs = runs_[node];
  const auto above = runs.upper_bound(number);
  const auto below = above == runs.begin() ? runs.end() : std::prev(above);
  if (below != runs.end() && number <= below->second) {
    return;
  }
  const uint32_t last =
      above != runs.end() && above->first == uint64_t{number} + 1 ? above->second : number;
  if (last != number) {
    runs.erase(above);
    --run_count_;
  }
  if (below != runs.end() && below->second + uint64_t{1} == number) {
    below->second = last;
  } else {
    runs[number] = last;
    ++run_count_;
  }
}

bool PackHorizon::Has(const PackNode& node, uint32_t number) const {
  const auto runs = runs_.find(node);
  if (runs == runs_.end()) {
    return false;
  }
  const auto above = runs->second.upper_bound(number);
  return above != runs->second.begin() && number <= std::prev(above)->second;
}

size_t PackHorizon::bytes() const {
  constexpr size_t kTreeNode = 4 * sizeof(void*);
  return runs_.size() * (kTreeNode + sizeof(*runs_.begin())) +
         run_count_ * (kTreeNode + sizeof(uint32_t) + sizeof(uint32_t));
}

void PackHorizon::WriteTo(ByteWriter& writer) const {
  writer.Vi64(run_count_);
  for (const auto& [node, runs] : runs_) {
    for (const auto& [first, last] : runs) {
      writer.Write(node.bytes);
      writer.Vi64(first);
      writer.Vi64(last);
    }
  }
}

Result<PackHorizon> PackHorizon::Read(ByteReader& reader) {
  PackHorizon horizon;
  KVCAST_TRY(const uint64_t count, reader.Vi64());
  for (uint64_t i = 0; i < count; ++i) {
    PackNode node;
    KVCAST_TRY_VOID(reader.Read(node.bytes));
    KVCAST_TRY(const uint64_t first, reader.Vi64());
    KVCAST_TRY(const uint64_t last, reader.Vi64());
    const bool newer = horizon.runs_.empty() || horizon.runs_.rbegin()->first <= node;
    auto& runs = horizon.runs_[node];
    const bool apart = runs.empty() || first > runs.rbegin()->second + uint64_t{1};
    if (first == 0 || first > last || last > kPackNumberMax || !newer || !apart) {
      return reader.Malformed("The numbers of packs are not in order.");
    }
    runs[static_cast<uint32_t>(first)] = static_cast<uint32_t>(last);
    ++horizon.run_count_;
  }
  return horizon;
}

}  // namespace kvcast
