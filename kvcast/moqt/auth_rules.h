#pragma once

#include <cstddef>

#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/parameters.h"

namespace kvcast::moqt {

// We keep no tokens, so an alias cannot stand for one: AUTH_TOKEN_CACHE_OVERFLOW for one to be
// kept, UNKNOWN_AUTH_TOKEN_ALIAS for one that was. What a token is worth, and whether its type is
// known, is for the user to say.
Decoded<void> CheckTokens(const Parameters& parameters);

// Tokens are told once, with the message that brought them, and not kept after that.
Parameters WithoutTokens(const Parameters& parameters);
// What they take until then.
size_t TokenBytes(const Parameters& parameters);

}  // namespace kvcast::moqt
