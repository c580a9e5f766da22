#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/moqt/auth_token.h"
#include "kvcast/moqt/codes.h"
#include "kvcast/object/track_name.h"
#include "kvcast/relay/grant.h"
#include "kvcast/relay/token_table.h"

namespace kvcast::relay {

// What a connection has proven by a certificate, before any token. Grants of one that names no
// tenant are absent: it says only that an authority knows its holder.
struct Credential {
  std::string name;  // Empty: it has shown none.
  std::optional<std::vector<Grant>> grants;
};

// Who a peer is. Limits go by its name, over all of its sessions; any of the grants will do.
struct Identity {
  std::string name;
  std::vector<Grant> grants;
  std::vector<Digest> tokens;  // Those of SETUP, to look at again when the table has changed.

  bool is_relay() const;
  // When the last of its grants is void; absent if that is never.
  std::optional<uint64_t> until_us() const;
};

// Who may do what at a node. Tokens refine what a certificate allows, and never widen it: where a
// certificate names tenants, of a token counts what both allow; where it names none, or there is
// none, the token alone decides.
//
// What a peer may not read is to it as if it were not there: Hidden() is a name that nobody can
// publish under, and a request for what is not its own is answered as one for that.
class Access {
 public:
  struct Options {
    bool required = false;  // Whoever comes must say who they are. Otherwise all may do everything.
    TokenTable tokens;
  };
  explicit Access(Options options) : options_(std::move(options)) {}

  bool required() const { return options_.required; }

  // Why a session cannot begin.
  struct Refusal {
    moqt::SessionCode code = moqt::SessionCode::kUnauthorized;
    std::string reason;
  };
  struct Welcome {
    Identity identity;
    std::optional<Refusal> refusal;
  };
  // Who it is that has shown this certificate and sent these tokens in SETUP. `unnamed` is what
  // limits go by where nobody has to say.
  Welcome Greet(const Credential& credential, std::span<const moqt::AuthToken> tokens,
                std::string unnamed, uint64_t now_us) const;
  // The same of who is here already, by the digests of the tokens.
  Welcome GreetAgain(const Credential& credential, const Identity& identity, uint64_t now_us) const;

  struct Decision {
    bool allowed = false;
    std::optional<uint64_t> until_us;  // Where the request's own token was what it took.
  };
  // `tokens` are those that the request itself carries.
  Decision Decide(const Credential& credential, const Identity& identity, Act act,
                  const TrackNamespace& space, std::string_view name,
                  std::span<const moqt::AuthToken> tokens, uint64_t now_us) const;

  static TrackNamespace Hidden();
  static bool IsHidden(const TrackNamespace& space);

 private:
  // More tokens in one message are not looked at.
  static constexpr size_t kTokensMax = 8;

  Options options_;
};

}  // namespace kvcast::relay
