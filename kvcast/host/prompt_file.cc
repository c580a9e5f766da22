#include "kvcast/host/prompt_file.h"

#include <utility>

#include "kvcast/io/file.h"
#include "kvcast/kv/token_list.h"

namespace kvcast {
namespace {

// Nine million tokens or more. Reading takes up to twice as much memory for a moment, of whatever
// somebody pipes into it by mistake.
constexpr size_t kPromptBytesMax = 64 * 1024 * 1024;

}  // namespace

Result<std::vector<Token>> ReadPromptFile(const std::string& file) {
  const bool is_input = file == "-";
  KVCAST_TRY(const std::string text,
             is_input ? ReadStandardInput(kPromptBytesMax) : ReadFile(file, kPromptBytesMax));
  Result<std::vector<Token>> tokens = ParseTokenList(text);
  if (!tokens.ok()) {
    return std::move(tokens).error().In(is_input ? "standard input" : file);
  }
  return tokens;
}

}  // namespace kvcast
