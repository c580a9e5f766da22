#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"
#include "kvcast/relay/grant.h"

namespace kvcast::relay {

// The bearer tokens that a node takes, by their SHA-256: the tokens themselves are nowhere here, so
// that nobody who reads memory, a file or a log learns one. A token is looked up by its digest,
// which takes as long for a good guess as for a bad one.
class TokenTable {
 public:
  static constexpr size_t kTokenBytesMax = 4096;

  struct Entry {
    std::string name;  // What people call its holder; limits go by it.
    Grant grant;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  void Add(const Digest& digest, Entry entry) { entries_[digest] = std::move(entry); }
  // Null for one that is not here. Longer ones are not even digested.
  const Entry* Find(std::string_view token, Digest* digest = nullptr) const;
  const Entry* Find(const Digest& digest) const;
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }

 private:
  std::map<Digest, Entry> entries_;
};

}  // namespace kvcast::relay
