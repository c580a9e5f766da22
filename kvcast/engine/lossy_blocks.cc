#include "kvcast/engine/lossy_blocks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "kvcast/codec/rung_promise.h"

namespace kvcast {
namespace {

// All that caches of this process have open. A child of fork() may look at its own copy of it.
class Book {
 public:
  static Book& OfProcess() {
    static Book* const book = new Book;  // Never destroyed: caches may be closed at exit.
    return *book;
  }
  std::shared_ptr<LossyBlocks> Open(const void* pages, const Digest& fingerprint) {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<LossyBlocks>& known = open_[{pages, fingerprint}];
    std::shared_ptr<LossyBlocks> blocks = known.lock();
    if (!blocks) {
      blocks = std::make_shared<LossyBlocks>();
      known = blocks;
    }
    return blocks;
  }
  std::shared_ptr<LossyBlocks> Known(const void* pages, const Digest& fingerprint) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find({pages, fingerprint});
    return found == open_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<const void*, Digest>, std::weak_ptr<LossyBlocks>> open_;
};

}  // namespace

size_t LossyBlocks::FirstBytes::operator()(const BlockHash& name) const {
  size_t first = 0;
  std::memcpy(&first, name.bytes.data(), sizeof(first));
  return first;
}

std::shared_ptr<LossyBlocks> LossyBlocks::Of(const void* pages, const Digest& fingerprint) {
  return Book::OfProcess().Open(pages, fingerprint);
}

std::shared_ptr<LossyBlocks> LossyBlocks::Known(const void* pages, const Digest& fingerprint) {
  return Book::OfProcess().Known(pages, fingerprint);
}

void LossyBlocks::Add(const BlockHash& name, Rung rung) {
  if (IsExact(rung)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto before = before_.find(name);
  const std::optional<Rung> known =
      before == before_.end() ? std::nullopt : std::optional(before->second);
  Rung& least = last_.try_emplace(name, rung).first->second;
  least = *LessTrue(LessTrue(least, rung), known);
  if (last_.size() >= kRememberedMin) {
    before_ = std::exchange(last_, {});
  }
}

void LossyBlocks::Add(std::span<const BlockHash> names, const LoadReport& report) {
  for (size_t i = 0; i < std::min(names.size(), report.outcomes.size()); ++i) {
    if (const std::optional<Rung> rung = report.RungOf(i)) {
      Add(names[i], *rung);
    }
  }
}

void LossyBlocks::Expected(std::span<const BlockHash> names, Rung rung) {
  const std::lock_guard lock(mutex_);
  for (const BlockHash& name : names) {
    Pending& pending = pending_.try_emplace(name, Pending{.least = rung}).first->second;
    pending.least = *LessTrue(pending.least, rung);
    ++pending.loads;
  }
}

void LossyBlocks::Settled(std::span<const BlockHash> names) {
  const std::lock_guard lock(mutex_);
  for (const BlockHash& name : names) {
    const auto found = pending_.find(name);
    if (found != pending_.end() && --found->second.loads == 0) {
      pending_.erase(found);
    }
  }
}

std::optional<Rung> LossyBlocks::RungOf(const BlockHash& name) const {
  std::optional<Rung> least;
  for (const Rungs* const rungs : {&last_, &before_}) {
    if (const auto found = rungs->find(name); found != rungs->end()) {
      least = LessTrue(least, found->second);
    }
  }
  if (const auto found = pending_.find(name); found != pending_.end()) {
    least = LessTrue(least, found->second.least);
  }
  return least;
}

LossyBlocks::Extent LossyBlocks::PublishedAt(Rung rung, std::span<const BlockHash> names,
                                             size_t exact) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = exact; i < names.size(); ++i) {
    if (const std::optional<Rung> came = RungOf(names[i]); came && !KeepsPromise(*came, rung)) {
      return {i, came};
    }
  }
  return {names.size(), {}};
}

std::optional<Rung> LossyBlocks::LeastTrue(std::span<const BlockHash> names) const {
  const std::lock_guard lock(mutex_);
  std::optional<Rung> least;
  for (const BlockHash& name : names) {
    least = LessTrue(least, RungOf(name));
  }
  return least;
}

LossyLoad::LossyLoad(std::shared_ptr<LossyBlocks> blocks, std::span<const BlockHash> names,
                     Rung least)
    : blocks_(std::move(blocks)), names_(names.begin(), names.end()), least_(least) {
  blocks_->Expected(names_, least_);
}

void LossyLoad::GivenUp(size_t loaded) {
  for (size_t i = 0; i < std::min(loaded, names_.size()); ++i) {
    blocks_->Add(names_[i], least_);
  }
}

}  // namespace kvcast
