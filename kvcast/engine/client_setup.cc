#include "kvcast/engine/client_setup.h"

#include "kvcast/engine/version.h"

namespace kvcast {

moqt::Setup ClientSetup(const std::string& authority, const std::string& path,
                        const std::string& token) {
  moqt::Setup setup;
  setup.authority = authority;
  setup.path = path;
  setup.implementation = "kvcast/" + Version();
  if (!token.empty()) {
    setup.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, token});
  }
  return setup;
}

}  // namespace kvcast
