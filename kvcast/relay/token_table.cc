#include "kvcast/relay/token_table.h"

namespace kvcast::relay {

const TokenTable::Entry* TokenTable::Find(std::string_view token, Digest* digest) const {
  if (token.empty() || token.size() > kTokenBytesMax) {
    return nullptr;
  }
  const Digest found = Sha256::Of(token);
  if (digest != nullptr) {
    *digest = found;
  }
  return Find(found);
}

const TokenTable::Entry* TokenTable::Find(const Digest& digest) const {
  const auto found = entries_.find(digest);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace kvcast::relay
