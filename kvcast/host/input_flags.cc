#include "kvcast/host/input_flags.h"

#include "kvcast/kv/input_list.h"

namespace kvcast {

void InputFlags::AddTo(CLI::App& command, InputFlags& flags) {
  command
      .add_option_function<std::vector<std::string>>(
          "--input",
          [&flags](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              flags.inputs.push_back(*ParseInput(text));
            }
          },
          "An image or a sound among the tokens: the token where it begins, from 0, and the "
          "SHA-256 in hex of all that the model gets for it; several if said several times")
      ->type_name("POSITION=SHA256")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return ParseInput(text)
                   ? ""
                   : "'" + text +
                         "' is not the token where an input begins, '=', and the 64 hex "
                         "digits of its SHA-256.";
      });
}

}  // namespace kvcast
