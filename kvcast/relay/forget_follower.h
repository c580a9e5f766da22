#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/forget_memory.h"
#include "kvcast/relay/forget_scope.h"

namespace kvcast::relay {

// Tells what of the lists that upstreams have of what they forgot is new here, and so is to go.
//
// Of a list that was followed before, also in an earlier run, that is all that is later than what
// was heard. Of one that is new, what was forgotten since something of the tenant came here: what
// was forgotten earlier is none of what is here now. Clocks may differ by so much.
class ForgetFollower {
 public:
  static constexpr uint64_t kClocksApartUs = uint64_t{10} * 60 * 1'000'000;
  static constexpr size_t kSourcesMax = 4096;  // More lists are not followed.

  explicit ForgetFollower(ForgetMemory memory)
      : memory_(std::move(memory)), heard_(memory_.followed) {}

  // Something of the tenant is here since then; 0: since before this run. True if it is the first
  // that is heard of the tenant.
  bool Hold(const std::string& tenant, uint64_t since_us);

  // What is to be forgotten together, and what can be said when it is.
  struct Batch {
    ForgetMemory::Source source;
    uint64_t until_us = 0;
    std::vector<ForgetScope> scopes;
  };
  // A version of a list has come by the upstream. Empty if there is nothing new. Errors: it is
  // none, or one too many.
  Result<Batch> OnList(const std::string& upstream, const TrackName& track, const Bytes& payload);
  // All of the batch is gone, and does not come back with a restart.
  void OnGone(const Batch& batch);

  // The node itself was told to forget it.
  const ForgetList& Note(const ForgetScope& scope, uint64_t now_us);

  const ForgetMemory& memory() const { return memory_; }
  // Whether the memory has changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }

 private:
  ForgetMemory memory_;
  std::map<ForgetMemory::Source, uint64_t> heard_;
  std::map<std::string, uint64_t> held_since_;
  bool changed_ = false;
};

}  // namespace kvcast::relay
