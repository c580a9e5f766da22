#include "kvcast/host/config_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "kvcast/base/check.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

Error NoValue(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

// A value that is one of several words names them all.
bool IsOneOf(std::string_view words, std::string_view text) {
  while (!words.empty()) {
    const size_t bar = std::min(words.find('|'), words.size());
    if (words.substr(0, bar) == text) {
      return true;
    }
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

Result<void> CheckRange(const ConfigKey& key, uint64_t value, const std::string& least,
                        const std::string& most) {
  if (value < key.least || value > key.most) {
    return NoValue(fmt::format("It has to be from {} to {}", least, most));
  }
  return {};
}

Result<uint64_t> ParseCount(std::string_view text) {
  uint64_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return NoValue(fmt::format("\"{}\" is not a whole number", text));
  }
  return count;
}

// Puts a text where it belongs, as what that is.
struct Setting {
  const ConfigKey* key;
  std::string_view text;

  Result<void> operator()(std::string* place) const {
    if (std::string_view(key->value).find('|') != std::string_view::npos &&
        !IsOneOf(key->value, text)) {
      return NoValue(fmt::format("\"{}\" is none of {}", text, key->value));
    }
    if (key->check != nullptr) {
      KVCAST_TRY_VOID(key->check(text));
    }
    *place = text;
    return {};
  }
  Result<void> operator()(bool* place) const {
    if (text != "true" && text != "false") {
      return NoValue(fmt::format("\"{}\" is neither true nor false", text));
    }
    *place = text == "true";
    return {};
  }
  Result<void> operator()(ConfigBytes place) const {
    KVCAST_TRY(const uint64_t bytes, ParseBytes(text));
    KVCAST_TRY_VOID(CheckRange(*key, bytes, ExactBytes(key->least), ExactBytes(key->most)));
    *place.bytes = bytes;
    return {};
  }
  Result<void> operator()(ConfigCount place) const {
    KVCAST_TRY(const uint64_t count, ParseCount(text));
    KVCAST_TRY_VOID(CheckRange(*key, count, std::to_string(key->least), std::to_string(key->most)));
    *place.count = count;
    return {};
  }
  Result<void> operator()(Duration* place) const {
    KVCAST_TRY(const Duration duration, ParseDuration(text));
    KVCAST_TRY_VOID(CheckRange(*key, static_cast<uint64_t>(duration.count()),
                               ExactDuration(Duration(key->least)),
                               ExactDuration(Duration(key->most))));
    *place = duration;
    return {};
  }
};

struct Getting {
  std::string operator()(const std::string* place) const { return *place; }
  std::string operator()(const bool* place) const { return *place ? "true" : "false"; }
  std::string operator()(ConfigBytes place) const { return ExactBytes(*place.bytes); }
  std::string operator()(ConfigCount place) const { return std::to_string(*place.count); }
  std::string operator()(const Duration* place) const { return ExactDuration(*place); }
};

}  // namespace

bool IsSecretTierKey(std::string_view section, std::string_view name) {
  return std::ranges::any_of(ConfigTierKeys(), [&](const ConfigTierKey& key) {
    return key.secret && section == key.section && name == key.name;
  });
}

std::vector<TierConfig>& NodeConfig::Listed(std::string_view section) {
  return section == "disk" ? disks : section == "bucket" ? buckets : upstreams;
}
const std::vector<TierConfig>& NodeConfig::Listed(std::string_view section) const {
  return const_cast<NodeConfig*>(this)->Listed(section);
}

std::string_view ConfigWhereKey(std::string_view section) {
  return std::ranges::find(ConfigTierKeys(), section, &ConfigTierKey::section)->name;
}
bool IsConfigList(std::string_view section) {
  return std::ranges::find(ConfigTierKeys(), section, &ConfigTierKey::section) !=
         ConfigTierKeys().end();
}

bool ConfigKey::reloads() const {
  const std::string_view in(section);
  return (in == "tls" && !std::string_view(name).starts_with("upstream")) ||
         in.starts_with("limits") || in == "stop";
}

Result<void> ConfigKey::Set(NodeConfig& config, std::string_view text) const {
  return std::visit(Setting{this, text}, place(config));
}

std::string ConfigKey::Get(const NodeConfig& config) const {
  // What is found is only read.
  return std::visit(Getting{}, place(const_cast<NodeConfig&>(config)));
}

const ConfigKey& FindConfigKey(std::string_view full_name) {
  const auto found = std::ranges::find(ConfigKeys(), full_name, &ConfigKey::full_name);
  KVCAST_CHECK(found != ConfigKeys().end());
  return *found;
}

Result<void> CheckLimits(const NodeConfig& config) {
  struct Pair {
    const char* section;
    const char* less;
    const char* more;
    uint64_t less_value;
    uint64_t more_value;
  };
  const QuicOptions& quic = config.quic.connection;
  const Pair pairs[] = {
      {"limits", "fetch_queue_bytes", "peer_queue_bytes", config.relay.fetch_queue_bytes,
       config.relay.peer_queue_bytes},
      {"limits.session", "send_queue_low_bytes", "send_queue_high_bytes",
       config.session.send_queue_low_bytes, config.session.send_queue_high_bytes},
      {"limits.session", "partial_bytes", "partial_bytes_max", config.session.partial_bytes,
       config.session.partial_bytes_max},
      {"limits.quic", "stream_credit_bytes", "stream_credit_bytes_max", quic.stream_credit_bytes,
       quic.stream_credit_bytes_max},
      {"limits.quic", "connection_credit_bytes", "connection_credit_bytes_max",
       quic.connection_credit_bytes, quic.connection_credit_bytes_max},
  };
  for (const Pair& pair : pairs) {
    if (pair.less_value > pair.more_value) {
      return NoValue(fmt::format("{}: It is more than {}, which is {}",
                                 config.Naming(pair.section, pair.less), pair.more,
                                 ExactBytes(pair.more_value)));
    }
  }
  return {};
}

std::string NodeConfig::Naming(std::string_view section, std::string_view name) const {
  const std::string full = fmt::format("{}.{}", section, name);
  const auto origin = origins.find(full);
  if (origin != origins.end() && !origin->second.starts_with("--")) {
    return origin->second + ": " + full;
  }
  const std::string_view flag = FindConfigKey(full).flag;
  return flag.empty() ? full : std::string(flag.substr(0, flag.find(',')));
}

}  // namespace kvcast
