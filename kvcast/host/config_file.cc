#include "kvcast/host/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "kvcast/host/config_key.h"
#include "kvcast/host/suggestion.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

// Far more than there are keys; a tenant may have many reservations.
constexpr size_t kConfigBytesMax = size_t{1} << 20;

std::string KindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date";
  }
}

// Keys of earlier versions, and what they are now.
struct FormerKey {
  std::string_view section;
  std::string_view name;
  std::string_view now;
};
constexpr FormerKey kFormerKeys[] = {
    {"tls", "upstream_hears", "'hears' of each [[upstream]], true unless it says otherwise"},
    {"tls", "upstream_forgets", "'forgets' of each [[upstream]], true unless it says otherwise"},
};

bool IsSwitch(const ConfigTierKey& key) { return std::string_view(key.value) == "true|false"; }

// "quic.congestion" is looked for below "quic" first, and then everywhere.
std::vector<std::string> NamesIn(std::string_view section) {
  std::vector<std::string> names;
  for (const ConfigKey& key : ConfigKeys()) {
    if (section == key.section) {
      names.emplace_back(key.name);
    }
  }
  for (const ConfigTierKey& key : ConfigTierKeys()) {
    if (section == key.section) {
      names.emplace_back(key.name);
    }
  }
  // Sections below it.
  for (const ConfigSection& known : ConfigSections()) {
    const std::string_view name = known.name;
    if (section.empty()) {
      names.emplace_back(name.substr(0, name.find('.')));
    } else if (name.starts_with(std::string(section) + ".")) {
      names.emplace_back(name.substr(section.size() + 1));
    }
  }
  return names;
}

class ConfigReader {
 public:
  ConfigReader(const std::string& name, NodeConfig& config) : name_(name), config_(&config) {}

  Result<void> Read(const toml::table& table) { return ReadSection(table, ""); }

 private:
  std::string At(const toml::source_region& source) const {
    return fmt::format("{}:{}", name_, source.begin.line);
  }
  std::string At(const toml::key& key) const { return At(key.source()); }

  Error Refusal(const toml::key& key, const std::string& full, const std::string& what) const {
    return Error(ErrorCode::kInvalid, fmt::format("{}: {}: {}", At(key), full, what));
  }

  Error Unknown(const toml::key& key, std::string_view section) const {
    const auto former = std::ranges::find_if(kFormerKeys, [&](const FormerKey& each) {
      return section == each.section && key.str() == each.name;
    });
    if (former != std::end(kFormerKeys)) {
      return Error(ErrorCode::kInvalid,
                   fmt::format("{}: There is no '{}' in [{}] any more: it is {}.", At(key),
                               former->name, section, former->now));
    }
    const auto meant = Suggestion(key.str(), NamesIn(section));
    const std::string where = section.empty() ? "a configuration" : fmt::format("[{}]", section);
    std::string message = fmt::format("{}: There is no '{}' in {}.", At(key), key.str(), where);
    if (meant) {
      message += fmt::format(" Did you mean '{}'?", *meant);
    } else if (const std::string home = HomeOf(key.str()); !home.empty()) {
      message += fmt::format(" It is a key of [{}].", home);
    }
    return Error(ErrorCode::kInvalid, message + " 'kvcast config' prints every key.");
  }
  // In which section there is such a key.
  static std::string HomeOf(std::string_view name) {
    for (const ConfigKey& key : ConfigKeys()) {
      if (name == key.name) {
        return key.section;
      }
    }
    return "";
  }

  Result<void> ReadSection(const toml::table& table, const std::string& section) {
    for (const auto& [key, node] : table) {
      const std::string below =
          section.empty() ? std::string(key.str()) : section + "." + std::string(key.str());
      if (section == "reserve" && config_->Reservations(below) != nullptr) {
        KVCAST_TRY_VOID(ReadReservations(key, node, below));
      } else if (section.empty() && IsConfigList(key.str())) {
        KVCAST_TRY_VOID(ReadTiers(key, node));
      } else if (IsSection(below)) {
        const toml::table* const inner = node.as_table();
        if (inner == nullptr) {
          return Refusal(key, below, "It is a section, to be written as [" + below + "]");
        }
        KVCAST_TRY_VOID(ReadSection(*inner, below));
      } else {
        KVCAST_TRY_VOID(ReadKey(key, node, section));
      }
    }
    return {};
  }

  static bool IsSection(std::string_view name) {
    return std::ranges::any_of(ConfigSections(), [&](const ConfigSection& known) {
      return known.name == name ||
             std::string_view(known.name).starts_with(std::string(name) + ".");
    });
  }

  Result<void> ReadKey(const toml::key& key, const toml::node& node, const std::string& section) {
    const auto known = std::ranges::find_if(ConfigKeys(), [&](const ConfigKey& each) {
      return section == each.section && key.str() == each.name;
    });
    if (known == ConfigKeys().end()) {
      return Unknown(key, section);
    }
    const std::optional<std::string> text = TextOf(*known, node);
    if (!text) {
      return Refusal(key, known->full_name(),
                     fmt::format("It is {}, and {} is wanted", KindOf(node), Wanted(*known)));
    }
    if (const auto set = known->Set(*config_, *text); !set.ok()) {
      return Refusal(key, known->full_name(),
                     fmt::format("{}; {} is wanted", set.error().message(), Wanted(*known)));
    }
    config_->origins[known->full_name()] = At(key);
    return {};
  }

  // What a value would be on a command line; absent if it is of another kind.
  std::optional<std::string> TextOf(const ConfigKey& key, const toml::node& node) const {
    const ConfigPlace place = key.place(*config_);
    if (std::holds_alternative<bool*>(place)) {
      return SwitchText(node);
    }
    return PlainText(node, std::holds_alternative<ConfigBytes>(place) ||
                               std::holds_alternative<ConfigCount>(place));
  }

  static std::optional<std::string> SwitchText(const toml::node& node) {
    const auto* value = node.as_boolean();
    return value == nullptr ? std::nullopt : std::optional<std::string>(**value ? "true" : "false");
  }

  // `numbers`: whether a whole number without quotes will do.
  static std::optional<std::string> PlainText(const toml::node& node, bool numbers) {
    if (const auto* text = node.as_string()) {
      return **text;
    }
    if (const auto* number = node.as_integer(); number != nullptr && numbers) {
      return std::to_string(**number);
    }
    return std::nullopt;
  }

  std::string Wanted(const ConfigKey& key) const {
    const ConfigPlace place = key.place(*config_);
    if (std::holds_alternative<bool*>(place)) {
      return "true or false";
    }
    if (std::holds_alternative<ConfigCount>(place)) {
      return "a whole number";
    }
    if (std::holds_alternative<ConfigBytes>(place)) {
      return "a size such as \"64MiB\"";
    }
    if (std::holds_alternative<Duration*>(place)) {
      return "a time such as \"2s\"";
    }
    return fmt::format("a text, {}", key.value);
  }

  Result<void> ReadReservations(const toml::key& key, const toml::node& node,
                                const std::string& section) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      return Refusal(key, section, "It is a section, to be written as [" + section + "]");
    }
    for (const auto& [tenant, size] : *table) {
      const std::optional<std::string> text = PlainText(size, /*numbers=*/true);
      if (!text) {
        return Refusal(tenant, section + "." + std::string(tenant.str()),
                       "A size such as \"64MiB\" is wanted");
      }
      config_->Reservations(section)->push_back({std::string(tenant.str()), *text, At(tenant)});
    }
    return {};
  }

  Result<void> ReadTiers(const toml::key& key, const toml::node& node) {
    const std::string section(key.str());
    const toml::array* const tiers = node.as_array();
    if (tiers == nullptr || (!tiers->empty() && !tiers->is_array_of_tables())) {
      return Refusal(key, section,
                     "There may be several: it is to be written as [[" + section + "]]");
    }
    for (const toml::node& each : *tiers) {
      KVCAST_TRY(TierConfig tier, ReadTier(section, *each.as_table()));
      config_->Listed(section).push_back(std::move(tier));
    }
    return {};
  }

  Result<TierConfig> ReadTier(const std::string& section, const toml::table& table) {
    const std::string_view where = ConfigWhereKey(section);
    TierConfig tier;
    tier.origin = At(table.source());
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      const auto known = std::ranges::find_if(ConfigTierKeys(), [&](const ConfigTierKey& each) {
        return section == each.section && name == each.name;
      });
      if (known == ConfigTierKeys().end()) {
        return Unknown(key, section);
      }
      const std::optional<std::string> text =
          IsSwitch(*known) ? SwitchText(node) : PlainText(node, key.str() == "bytes");
      if (!text) {
        return Refusal(key, section + "." + known->name,
                       fmt::format("It is {}, and {} is wanted", KindOf(node),
                                   IsSwitch(*known) ? "true or false"
                                                    : fmt::format("a text, {}", known->value)));
      }
      if (key.str() == where) {
        tier.where = *text;
      } else {
        tier.words.emplace_back(key.str(), *text);
      }
    }
    if (tier.where.empty()) {
      return Error(ErrorCode::kInvalid,
                   fmt::format("{}: [[{}]] has no '{}'", tier.origin, section, where));
    }
    return tier;
  }

  std::string name_;
  NodeConfig* config_;
};

}  // namespace

Result<void> TakeConfigText(std::string_view text, const std::string& name, NodeConfig& config) {
  try {
    const toml::table table = toml::parse(text);
    return ConfigReader(name, config).Read(table);
  } catch (const toml::parse_error& error) {
    return Error(ErrorCode::kInvalid, fmt::format("{}:{}: This is not TOML: {}", name,
                                                  error.source().begin.line, error.description()));
  }
}

Result<void> TakeConfigFile(const std::filesystem::path& file, NodeConfig& config) {
  const Result<std::string> text = ReadFile(file, kConfigBytesMax);
  return text.ok() ? TakeConfigText(*text, file.string(), config)
                   : Result<void>(Error(text.error()).In(file.string()));
}

}  // namespace kvcast
