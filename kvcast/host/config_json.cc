#include "kvcast/host/config_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kvcast/host/config_key.h"

namespace kvcast {
namespace {

Json JsonOf(const ConfigKey& key, const NodeConfig& config) {
  const ConfigPlace place = key.place(const_cast<NodeConfig&>(config));
  if (const auto* flag = std::get_if<bool*>(&place)) {
    return **flag;
  }
  if (const auto* count = std::get_if<ConfigCount>(&place)) {
    return *count->count;
  }
  return key.Get(config);
}

Json JsonOf(std::string_view section, const TierConfig& tier) {
  Json json = {{std::string(ConfigWhereKey(section)), tier.where}};
  for (const auto& [name, value] : tier.words) {
    json[name] = IsSecretTierKey(section, name) ? Json() : Json(value);
  }
  return json;
}

}  // namespace

Json ConfigJson(const NodeConfig& config) {
  Json json = Json::object();
  for (const ConfigSection& section : ConfigSections()) {
    const std::string name = section.name;
    if (IsConfigList(name)) {
      json[name] = Json::array();
      for (const TierConfig& tier : config.Listed(name)) {
        json[name].push_back(JsonOf(name, tier));
      }
      continue;
    }
    json[name] = Json::object();
    if (name.starts_with("reserve.")) {
      for (const auto& [tenant, bytes, origin] : *config.Reservations(name)) {
        json[name][tenant] = bytes;
      }
      continue;
    }
    for (const ConfigKey& key : ConfigKeys()) {
      if (name == key.section) {
        json[name][key.name] = JsonOf(key, config);
      }
    }
  }
  json["origins"] = config.origins;
  return json;
}

}  // namespace kvcast
