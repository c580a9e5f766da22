#include "kvcast/host/serve_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "kvcast/host/config_file.h"
#include "kvcast/host/config_key.h"
#include "kvcast/host/flag_words.h"

namespace kvcast {
namespace {

void AddKey(CLI::App& command, const ConfigKey& key, std::string& value, bool& turned) {
  const NodeConfig defaults;
  if (std::holds_alternative<bool*>(key.place(const_cast<NodeConfig&>(defaults)))) {
    // What is on by itself is turned off by its flag.
    command.add_flag(key.flag, turned, key.otherwise);
    return;
  }
  const std::string_view otherwise = key.otherwise;
  command.add_option(key.flag, value, key.meaning)
      ->type_name(key.value)
      ->default_str(otherwise.empty() ? key.Get(defaults) : std::string(otherwise));
}

// With what may be said of each, where it is a list of tiers.
std::string ListHelp(const ConfigSection& section) {
  std::string help = std::string(section.meaning) + "; may be given several times";
  for (const ConfigTierKey& key : ConfigTierKeys()) {
    if (std::string_view(key.section) == section.name && *key.otherwise != '\0') {
      help += fmt::format(". {}: {} (default: {})", key.name, key.meaning, key.otherwise);
    }
  }
  return help;
}

TierConfig TierOf(std::string_view text, const char* flag) {
  const FlagWords typed(text);
  TierConfig tier{std::string(typed.where), {}, flag};
  for (const FlagWord& word : typed.words) {
    if (IsSecretTierKey(std::string_view(flag).substr(2), word.name)) {
      throw CLI::ValidationError(
          flag, fmt::format("{} is not typed, where others could read it: it goes into a file, "
                            "that of --config or one for credentials=FILE",
                            word.name));
    }
    tier.words.emplace_back(word.name, word.value);
  }
  return tier;
}

ReservationConfig ReservationOf(std::string_view text, const char* flag) {
  const size_t equals = std::min(text.find('='), text.size());
  return {std::string(text.substr(0, equals)),
          std::string(text.substr(std::min(equals + 1, text.size()))), flag};
}

}  // namespace

void ServeFlags::AddTo(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--config", flags.file_,
                  "Take the configuration from this TOML file; flags have the last word. 'kvcast "
                  "config' prints one with every key")
      ->type_name("FILE");
  for (const ConfigSection& section : ConfigSections()) {
    for (const ConfigKey& key : ConfigKeys()) {
      if (std::string_view(key.section) == section.name && *key.flag != '\0') {
        AddKey(command, key, flags.values_[key.full_name()], flags.switches_[key.full_name()]);
      }
    }
    if (*section.flag != '\0') {
      command.add_option(section.flag, flags.lists_[section.name], ListHelp(section))
          ->type_name(section.value);
    }
  }
}

Result<NodeConfig> ServeFlags::Config() const {
  NodeConfig config;
  if (!file_.empty()) {
    KVCAST_TRY_VOID(TakeConfigFile(file_, config));
  }
  for (const ConfigKey& key : ConfigKeys()) {
    const std::string_view all = key.flag;
    const std::string flag(all.substr(0, all.find(',')));
    const auto value = values_.find(key.full_name());
    const auto turned = switches_.find(key.full_name());
    const bool off = turned != switches_.end() && turned->second;
    if (!off && (value == values_.end() || value->second.empty())) {
      continue;
    }
    if (const auto set = key.Set(config, off ? "false" : value->second); !set.ok()) {
      throw CLI::ValidationError(flag, set.error().message());
    }
    config.origins[key.full_name()] = flag;
  }
  const auto take = [&](const char* section, const char* flag, auto& list, auto parse) {
    const auto given = lists_.find(section);
    if (given == lists_.end() || given->second.empty()) {
      return;
    }
    list.clear();
    for (const std::string& text : given->second) {
      list.push_back(parse(text, flag));
    }
  };
  take("disk", "--disk", config.disks, TierOf);
  take("bucket", "--bucket", config.buckets, TierOf);
  take("upstream", "--upstream", config.upstreams, TierOf);
  take("reserve.memory", "--reserve", config.reservations, ReservationOf);
  take("reserve.disk", "--reserve-disk", config.disk_reservations, ReservationOf);
  take("reserve.bucket", "--reserve-bucket", config.bucket_reservations, ReservationOf);
  KVCAST_TRY_VOID(CheckLimits(config));
  return config;
}

}  // namespace kvcast
