#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kvcast/base/digest.h"
#include "kvcast/base/log.h"
#include "kvcast/host/node_server.h"
#include "kvcast/host/other_shards.h"
#include "kvcast/io/http_server.h"
#include "kvcast/relay/token_table.h"

namespace kvcast {

// POST /forget of the admin port, which docs/reference/admin.md describes: whoever may forget for a
// tenant has its caches removed, or hears what that would remove. Belongs to the node's thread.
class AdminForget {
 public:
  // `secret`: who shows it may forget for everybody; empty: nobody can.
  // `others`: the node's shards beside this one, if it has more.
  AdminForget(NodeServer& node, std::string_view secret, Log log, OtherShards* others = nullptr);

  void ReplaceTokens(relay::TokenTable tokens) { tokens_ = std::move(tokens); }
  HttpAnswer Take(const HttpRequest& request);

 private:
  // Who asks, if the token is good for the tenant.
  std::optional<std::string> HolderOf(std::string_view token, const std::string& tenant) const;

  // On all shards.
  relay::ForgetReport Forget(const relay::ForgetScope& scope, relay::ForgetMode mode);

  NodeServer* node_;
  OtherShards* others_;
  std::optional<Digest> secret_;
  relay::TokenTable tokens_;
  Log log_;
};

}  // namespace kvcast
