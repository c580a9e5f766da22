#include "kvcast/moqt/request_ids.h"

#include <iterator>
#include <limits>

namespace kvcast::moqt {
namespace {

constexpr size_t kRunsMax = 1000;

}  // namespace

bool RequestIds::Add(uint64_t id) {
  if (id % 2 != first_ % 2 || id > std::numeric_limits<uint64_t>::max() - 2) {
    return false;
  }
  const auto after = runs_.upper_bound(id);
  const auto before = after == runs_.begin() ? runs_.end() : std::prev(after);
  if (before != runs_.end() && id <= before->second) {
    return !Has(id);
  }
  const bool joins_before = before != runs_.end() && before->second + 2 == id;
  const bool joins_after = after != runs_.end() && id + 2 == after->first;
  const uint64_t last = joins_after ? after->second : id;
  if (joins_after) {
    runs_.erase(after);
  }
  if (joins_before) {
    before->second = last;
  } else {
    runs_.emplace(id, last);
  }
  if (runs_.size() > kRunsMax) {
    const auto oldest = runs_.begin();
    const auto second = std::next(oldest);
    forgotten_ = {forgotten_ ? forgotten_->first : oldest->second + 2, second->first - 2};
    oldest->second = second->second;
    runs_.erase(second);
  }
  return true;
}

bool RequestIds::Has(uint64_t id) const {
  if (forgotten_ && id >= forgotten_->first && id <= forgotten_->second) {
    return false;
  }
  const auto after = runs_.upper_bound(id);
  return after != runs_.begin() && std::prev(after)->second >= id;
}

uint64_t RequestIds::next() const { return runs_.empty() ? first_ : runs_.rbegin()->second + 2; }

}  // namespace kvcast::moqt
