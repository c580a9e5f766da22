#include <algorithm>
#include <map>
#include <utility>

#include "kvcast/client/client.h"
#include "kvcast/client/value_supply.h"
#include "kvcast/kv/value_piece.h"

// The part of a client that moves values.
namespace kvcast {

std::vector<std::optional<uint64_t>> Client::FindValues(std::span<const BlockHash> names) const {
  std::vector<std::optional<uint64_t>> lengths(names.size());
  const PrefixMatch match = index_.LongestMatch(names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!match.Has(i)) {
      continue;
    }
    const std::vector<BlockSource> sources = index_.Sources(match, i);
    const auto found = std::ranges::find_if(
        sources, [&](const BlockSource& source) { return value_kind_.Includes(source.track); });
    if (found != sources.end()) {
      lengths[i] = ValuePiece::LengthOf(found->bytes);
    }
  }
  return lengths;
}

OperationId Client::PutValues(const std::vector<ValueSource>& values, const PutTerms& terms,
                              Instant now) {
  std::vector<BlockHash> names;
  std::vector<ValueSource> distinct;
  std::vector<size_t> blocks;
  std::map<BlockHash, size_t> known;
  for (const ValueSource& value : values) {
    const auto [found, is_new] = known.emplace(value.name, names.size());
    if (is_new) {
      names.push_back(value.name);
      distinct.push_back(value);
    }
    blocks.push_back(found->second);
  }
  return Begin({std::make_unique<Publication>(
                    *session_, held_, acks_,
                    Publication::Offer{value_kind_, terms.generation, std::move(names),
                                       std::make_unique<ValueSupply>(std::move(distinct)),
                                       terms.durability, terms.deadline},
                    options_.publish_patience),
                {},
                std::move(blocks)},
               now);
}

OperationId Client::GetValues(std::vector<ValuePlace> places, Instant deadline, Instant now) {
  auto loading = std::make_unique<ValueLoading>(*session_, std::move(places), deadline);
  if (lost_) {
    loading->OnNodeLost();
  }
  const OperationId operation = next_operation_++;
  value_loads_.emplace(operation, std::move(loading));
  Settle(now);
  return operation;
}

void Client::SettleValues() {
  for (auto at = value_loads_.begin(); at != value_loads_.end();) {
    auto& [operation, loading] = *at;
    if (!loading->over() && !loading->started() && follower_.settled()) {
      loading->Start(index_, value_kind_);
    }
    if (loading->over()) {
      events_.push_back(ValuesEnded{operation, loading->Outcomes()});
      at = value_loads_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace kvcast
