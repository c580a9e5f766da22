#include "kvcast/host/config_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "kvcast/host/config_key.h"
#include "kvcast/host/text_layout.h"

namespace kvcast {
namespace {

// A basic string of TOML.
std::string TomlString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// A key that anybody may have made up.
std::string TomlKey(std::string_view text) {
  const bool bare =
      !text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
          std::string_view::npos;
  return bare ? std::string(text) : TomlString(text);
}

std::string Comment(const std::string& text) {
  std::string lines = "# " + Wrapped(text, 2);
  for (size_t at = lines.find("\n  "); at != std::string::npos; at = lines.find("\n  ", at + 1)) {
    lines.replace(at, 3, "\n# ");
  }
  return lines + "\n";
}

std::string ValueOf(const ConfigKey& key, const NodeConfig& config) {
  const std::string text = key.Get(config);
  const ConfigPlace place = key.place(const_cast<NodeConfig&>(config));
  const bool bare =
      std::holds_alternative<bool*>(place) || std::holds_alternative<ConfigCount>(place);
  return bare ? text : TomlString(text);
}

// What holds where nothing is said.
std::string DefaultOf(const ConfigKey& key) {
  NodeConfig defaults;
  const std::string value = ValueOf(key, defaults);
  if (*key.otherwise == '\0' || std::holds_alternative<bool*>(key.place(defaults))) {
    return value;
  }
  return value == "\"\"" ? key.otherwise : fmt::format("{}: {}", value, key.otherwise);
}

std::string KeyText(const ConfigKey& key, const NodeConfig& config) {
  const auto origin = config.origins.find(key.full_name());
  return Comment(std::string(key.meaning) + ".") +
         Comment(fmt::format("{}; default {}", key.value, DefaultOf(key))) +
         (origin == config.origins.end() ? "" : fmt::format("# From {}.\n", origin->second)) +
         fmt::format("{} = {}\n", key.name, ValueOf(key, config));
}

// What may be said of a tier, for people: those who give one say it.
std::string TierHelp(std::string_view section) {
  std::string text;
  for (const ConfigTierKey& key : ConfigTierKeys()) {
    if (section == key.section) {
      text += Comment(fmt::format(
          "  {} = {}: {}{}", key.name, key.value, key.meaning,
          *key.otherwise == '\0' ? std::string() : fmt::format("; default {}", key.otherwise)));
    }
  }
  return text;
}

std::string TierText(const char* section, const TierConfig& tier) {
  std::string text = fmt::format("\n# From {}.\n[[{}]]\n{} = {}\n", tier.origin, section,
                                 ConfigWhereKey(section), TomlString(tier.where));
  for (const auto& [name, value] : tier.words) {
    const std::string& word = name;  // A lambda does not take parts of a pair.
    if (IsSecretTierKey(section, word)) {
      text += Comment(name + " is said there, and not shown here.");
      continue;
    }
    const bool bare = std::ranges::any_of(ConfigTierKeys(), [&](const ConfigTierKey& key) {
      return std::string_view(key.section) == section && key.name == word &&
             std::string_view(key.value) == "true|false";
    });
    text += fmt::format("{} = {}\n", TomlKey(name), bare ? value : TomlString(value));
  }
  return text;
}

std::string ReservationsText(const std::vector<ReservationConfig>& reservations) {
  std::string text;
  for (const auto& [tenant, bytes, origin] : reservations) {
    text += fmt::format("# From {}.\n{} = {}\n", origin, TomlKey(tenant), TomlString(bytes));
  }
  return text;
}

}  // namespace

std::string ConfigKeyRow(const ConfigKey& key) {
  const std::string_view flags = key.flag;
  const std::string flag =
      flags.empty() ? "" : fmt::format(" `{}`", flags.substr(0, flags.find(',')));
  std::string unit = key.value;
  for (size_t at = unit.find('|'); at != std::string::npos; at = unit.find('|', at + 2)) {
    unit.insert(at, "\\");  // Or it would begin a column.
  }
  return fmt::format("| `{}` |{} | {} | {} | {} |", key.name, flag, unit, DefaultOf(key),
                     key.meaning);
}

std::string ConfigKeyRow(const ConfigTierKey& key) {
  std::string unit = key.value;
  for (size_t at = unit.find('|'); at != std::string::npos; at = unit.find('|', at + 2)) {
    unit.insert(at, "\\");
  }
  return fmt::format("| `{}` | {} | {} | {} |", key.name, unit, key.otherwise, key.meaning);
}

std::string ConfigText(const NodeConfig& config) {
  std::string text =
      "# The configuration of a node, for 'kvcast serve --config FILE'. Sizes are whole numbers\n"
      "# with KiB, MiB, GiB or TiB, times with ms, s, min or h; an empty text is none.\n";
  for (const ConfigSection& section : ConfigSections()) {
    const std::string_view name = section.name;
    text += "\n" + Comment(std::string(section.meaning) + ".");
    if (IsConfigList(name)) {
      text += Comment(fmt::format("[[{}]], once for each:", name)) + TierHelp(name);
      for (const TierConfig& tier : config.Listed(name)) {
        text += TierText(section.name, tier);
      }
      continue;
    }
    if (name.starts_with("reserve.")) {
      text += Comment("Each a line of TENANT = SIZE.") + fmt::format("[{}]\n", name);
      text += ReservationsText(*config.Reservations(name));
      continue;
    }
    text += fmt::format("[{}]\n", name);
    for (const ConfigKey& key : ConfigKeys()) {
      if (name == key.section) {
        text += "\n" + KeyText(key, config);
      }
    }
  }
  return text;
}

}  // namespace kvcast
