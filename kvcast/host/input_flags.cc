#include "kvcast/host/input_flags.h"

#include <charconv>
#include <optional>
#include <system_error>

namespace kvcast {
namespace {

// POSITION=DIGEST, the first a number and the second 64 hex digits.
std::optional<ForeignInput> InputOf(const std::string& text) {
  ForeignInput input;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, input.position);
  if (error != std::errc() || read == end || *read != '=') {
    return std::nullopt;
  }
  const Result<Digest> digest = Digest::FromHex(std::string_view(read + 1, end));
  if (!digest.ok()) {
    return std::nullopt;
  }
  input.digest = *digest;
  return input;
}

}  // namespace

void InputFlags::AddTo(CLI::App& command, InputFlags& flags) {
  command
      .add_option_function<std::vector<std::string>>(
          "--input",
          [&flags](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              flags.inputs.push_back(*InputOf(text));
            }
          },
          "An image or a sound among the tokens: the token where it begins, from 0, and the "
          "SHA-256 in hex of all that the model gets for it; several if said several times")
      ->type_name("POSITION=SHA256")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return InputOf(text) ? ""
                             : "'" + text +
                                   "' is not the token where an input begins, '=', and the 64 hex "
                                   "digits of its SHA-256.";
      });
}

}  // namespace kvcast
