// Answers what model_differential.py asks: one config.json per line, in hex, since a text may hold
// line ends and bytes that are no text. Per line the model's fingerprint and what the config says
// KV is computed in, or "refused".
#include <iostream>
#include <string>

#include "kvcast/base/bytes.h"
#include "kvcast/base/hex.h"
#include "kvcast/kv/model_config.h"
#include "kvcast/kv/model_key.h"

namespace kvcast {
namespace {

std::string Answer(const std::string& hex) {
  const auto json = FromHex(hex);
  if (!json.ok()) {
    return "not hex";
  }
  const Result<ModelConfig> config = ModelConfig::Parse(AsText(*json));
  if (!config.ok()) {
    return "refused";
  }
  ModelDescription description;
  description.config = config->digest;
  description.groups = config->groups;
  return description.Fingerprint().ToHex() + " " +
         (config->kv_dtype.ok() ? std::string(ToString(*config->kv_dtype)) : "to be told");
}

}  // namespace
}  // namespace kvcast

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << kvcast::Answer(line) << '\n';
  }
}
