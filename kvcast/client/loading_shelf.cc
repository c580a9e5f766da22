// What a load does with blocks that were fetched before anybody asked for them.
#include <algorithm>
#include <utility>

#include "kvcast/client/block_shelf.h"
#include "kvcast/client/loading.h"

namespace kvcast {

// As many at a time as jobs have room for, and a block: it is in memory anyway. Nobody is asked for
// those that are left.
void Loading::TakeShelved() {
  if (shelf_ != nullptr && std::exchange(shelf_version_, shelf_->version()) != shelf_->version()) {
    shelved_.clear();
    for (size_t block = NextToLoad(); !shelf_->empty() && block < wanted_end_; ++block) {
      if (IsFree(block) && shelf_->Has(blocks_[block], match_.rungs(), match_.generation())) {
        shelved_.insert(block);
      }
    }
  }
  const auto has_room = [&] { return !IsFull() || (CollectDone() && !IsFull()); };
  while (!over_ && !shelved_.empty() && *shelved_.begin() < std::min(end_block_, room_) &&
         has_room()) {
    const size_t block = *shelved_.begin();
    shelved_.erase(shelved_.begin());
    const std::optional<BlockShelf::Block> taken =
        IsFree(block) ? shelf_->Take(blocks_[block], match_.rungs(), match_.generation())
                      : std::nullopt;
    shelf_version_ = shelf_->version();
    if (taken) {
      Decode(block, *taken);
    }
    CollectDone();
  }
  FailUnshelved();
}

// What nobody offers may be gone from the shelf before it is this load's turn: to another load, or
// for what is prefetched now. Who follows waits for somebody to list it.
void Loading::FailUnshelved() {
  while (!unoffered_.empty() && !IsFree(*unoffered_.begin())) {
    unoffered_.erase(unoffered_.begin());
  }
  if (!unoffered_.empty() && !shelved_.contains(*unoffered_.begin())) {
    Fail(*unoffered_.begin(),
         {BlockOutcome::kNotHeld,
          "It had been prefetched and is gone, and nobody is known to hold it."});
  }
}

// What is wrong with it is no matter of its track: the node is asked for the block then.
void Loading::Decode(size_t block, const BlockShelf::Block& taken) {
  Result<std::shared_ptr<const Codec>> codec =
      ladder_->Decoder(taken.rung, taken.properties, pages_);
  if (!codec.ok()) {
    return;
  }
  RungChoice choice;
  choice.reason = RungChoice::Reason::kPrefetched;
  choice.block = block;
  choice.run = LoadRun{taken.track, taken.rung, taken.group, block, 1, 0};
  choices_.push_back(choice);
  const Runs::iterator run = Claim(*choice.run);
  run->second.shelved = true;
  run->second.decoder.Begin(*std::move(codec));
  for (const Object& object : taken.objects) {
    run->second.decoder.OnObject(object);
  }
  run->second.decoder.OnEnd();
  Conclude(run);
}

}  // namespace kvcast
