// Any bytes: tokens that are read back from how we would write them, or an error within them.
#include "kvcast/base/check.h"
#include "kvcast/kv/token_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tokens = kvcast::ParseTokenList({reinterpret_cast<const char*>(data), size});
  if (!tokens.ok()) {
    KVCAST_CHECK(tokens.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  std::string text;
  for (const kvcast::Token token : *tokens) {
    text += std::to_string(token) + " ";
  }
  KVCAST_CHECK(*kvcast::ParseTokenList(text) == *tokens);
  return 0;
}
