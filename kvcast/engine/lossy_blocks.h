#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvcast/client/load_report.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/rung.h"

namespace kvcast {

// Which blocks an engine has had at rungs that change values, so that it does not publish them, nor
// what it computed on top of them, as more than they are.
//
// They are known by name and not by page, since engines move pages about, and a name tells with a
// block all that it was computed on: the name that the block has under the public key, whichever
// tenant it came from, as an engine may publish it as another's. What came so once counts so from
// then on: nobody can see whether the engine has computed it again. All caches of a model that are
// open on the same pages share one of these. It remembers so many of the last blocks, far more than
// pages hold.
//
// May be used from any threads.
class LossyBlocks {
 public:
  static constexpr size_t kRememberedMin = size_t{1} << 18;  // Twice as many at most.

  // Those of a model and an engine's pages, by where they begin in memory.
  static std::shared_ptr<LossyBlocks> Of(const void* pages, const Digest& fingerprint);
  // Null: nobody has these pages open for that model.
  static std::shared_ptr<LossyBlocks> Known(const void* pages, const Digest& fingerprint);

  void Add(const BlockHash& name, Rung rung);
  // Those of a prompt that were loaded so, of which the first is the report's first.
  void Add(std::span<const BlockHash> names, const LoadReport& report);
  // They may come so at any moment, until as many calls of Settled().
  void Expected(std::span<const BlockHash> names, Rung rung);
  void Settled(std::span<const BlockHash> names);

  // How much of a prompt may be published at a rung, and as what the next block came, if not all.
  struct Extent {
    size_t blocks = 0;
    std::optional<Rung> came;
  };
  // REQUIRES: `exact` blocks at most are known not to count.
  Extent PublishedAt(Rung rung, std::span<const BlockHash> names, size_t exact) const;
  // The least true rung of all of them; absent: all are as they were computed.
  std::optional<Rung> LeastTrue(std::span<const BlockHash> names) const;

 private:
  struct FirstBytes {  // Of a name, which is as good as random.
    size_t operator()(const BlockHash& name) const;
  };
  struct Pending {
    Rung least;
    size_t loads = 0;
  };
  using Rungs = std::unordered_map<BlockHash, Rung, FirstBytes>;

  std::optional<Rung> RungOf(const BlockHash& name) const;

  mutable std::mutex mutex_;
  Rungs last_;
  Rungs before_;  // Forgotten when there are enough of the last.
  std::unordered_map<BlockHash, Pending, FirstBytes> pending_;
};

// A load that nobody waits for, by which blocks may come at rungs that change values. Whatever
// becomes of it, what has come is remembered.
class LossyLoad {
 public:
  LossyLoad(std::shared_ptr<LossyBlocks> blocks, std::span<const BlockHash> names, Rung least);
  ~LossyLoad() { blocks_->Settled(names_); }
  LossyLoad(const LossyLoad&) = delete;
  LossyLoad& operator=(const LossyLoad&) = delete;

  void Ended(const LoadReport& report) { blocks_->Add(names_, report); }
  // So many blocks have come, and nobody will say at which rungs.
  void GivenUp(size_t loaded);

 private:
  std::shared_ptr<LossyBlocks> blocks_;
  std::vector<BlockHash> names_;  // From the report's first on.
  Rung least_;
};

}  // namespace kvcast
