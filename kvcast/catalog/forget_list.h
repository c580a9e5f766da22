#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"

namespace kvcast {

// What a node was told to forget of one tenant, and when by its clock: all of it, one model, or one
// prefix. Relays that have some of it from the node drop it, too; what was merely evicted there is
// not in here, and stays with them.
//
// On a track of its own beside the catalogs, each version as the only object of a group:
//
//   list  := "kvfg" version:u8 zero[3] entry+ check:8                        little-endian
//   entry := what:u8 at:u64 (length:vi64 model)? (prefix:32)?   what := 1, a model | 2, a prefix
//   check := the first 8 bytes of SHA-256 over all before it
//
// docs/reference/catalog.md is the contract.
class ForgetList {
 public:
  struct Entry {
    uint64_t at_us = 0;  // Since 1970. Rises from entry to entry.
    std::optional<std::string> model;
    std::optional<Digest> prefix;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr size_t kEntriesMax = 1024;
  static constexpr size_t kModelBytesMax = 512;
  static constexpr uint64_t kLastUs = (uint64_t{1} << 63) - 1;

  // Notes it as the latest, in place of what it makes superfluous. A list that is full lets its
  // older half be one entry, of everything until then: who has heard of that half skips it, and who
  // has not drops too much rather than too little. REQUIRES: a model has 1 to kModelBytesMax bytes.
  void Add(std::optional<std::string> model, std::optional<Digest> prefix, uint64_t now_us);

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // REQUIRES: there is an entry.
  Bytes Encode() const;
  static Result<ForgetList> Parse(const Bytes& payload);

  friend bool operator==(const ForgetList&, const ForgetList&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace kvcast
