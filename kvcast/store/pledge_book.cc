#include "kvcast/store/pledge_book.h"

namespace kvcast {

void PledgeBook::Add(size_t tier, TierTicket asked, Pledge pledge) {
  bytes_[pledge.level] += pledge.bytes;
  ++tracks_[pledge.track];
  pledges_.insert_or_assign({tier, asked}, std::move(pledge));
}

std::optional<PledgeBook::Pledge> PledgeBook::Take(size_t tier, TierTicket asked) {
  auto node = pledges_.extract({tier, asked});
  if (node.empty()) {
    return std::nullopt;
  }
  Pledge pledge = std::move(node.mapped());
  bytes_.at(pledge.level) -= pledge.bytes;
  const auto count = tracks_.find(pledge.track);
  if (--count->second == 0) {
    tracks_.erase(count);
  }
  return pledge;
}

std::optional<Instant> PledgeBook::FirstOf(size_t tier) const {
  const auto first = pledges_.lower_bound({tier, 0});  // A tier's tickets rise.
  return first == pledges_.end() || first->first.first != tier ? std::nullopt
                                                               : std::optional(first->second.since);
}

std::optional<PledgeBook::Pledge> PledgeBook::TakeFirst(size_t tier, Instant until) {
  const auto first = pledges_.lower_bound({tier, 0});
  const bool is_late =
      first != pledges_.end() && first->first.first == tier && first->second.since <= until;
  return is_late ? Take(tier, first->first.second) : std::nullopt;
}

uint64_t PledgeBook::bytes(Durability level) const {
  const auto found = bytes_.find(level);
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace kvcast
