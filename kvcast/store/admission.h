#pragma once

#include <cstddef>

#include "kvcast/store/eviction.h"
#include "kvcast/store/ghost_list.h"

namespace kvcast {

// Whether a group that a tier does not hold comes in at all. Separate from who goes: where writing
// costs more than keeping, as on a disk that wears, it pays to let in less.
class Admission {
 public:
  virtual ~Admission() = default;

  // Asked once for each time the group is offered, and remembered as such.
  virtual bool Admits(const StoredGroup& group) = 0;
  // What is remembered, in memory, to the byte.
  virtual size_t bytes() const = 0;
};

// Everything comes in.
class AdmitAll final : public Admission {
 public:
  bool Admits(const StoredGroup&) override { return true; }
  size_t bytes() const override { return sizeof(*this); }
};

// What has been offered before comes in, as far as is remembered: groups of as many bytes as the
// tier has. Most blocks are never used again, and this way most are never written.
class AdmitSecond final : public Admission {
 public:
  explicit AdmitSecond(const EvictionLimits& limits) : seen_(limits.bytes_max, limits.ghosts_max) {}

  bool Admits(const StoredGroup& group) override;
  size_t bytes() const override { return sizeof(*this) + seen_.bytes(); }

 private:
  GhostList seen_;
};

// Both by name: "all" and "second". Invalid: there is none of this name.
Result<std::unique_ptr<Admission>> MakeAdmission(std::string_view name,
                                                 const EvictionLimits& limits);

}  // namespace kvcast
