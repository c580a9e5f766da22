#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "kvcast/base/result.h"
#include "kvcast/host/node_config.h"

namespace kvcast {

// Where a key's value is, and what kind of value it is.
struct ConfigBytes {
  uint64_t* bytes;
};
struct ConfigCount {
  uint64_t* count;
};
using ConfigPlace = std::variant<std::string*, bool*, ConfigBytes, ConfigCount, Duration*>;

// One thing that a node can be told, described once: the file, the flags of `kvcast serve`, what
// `kvcast config` prints and docs/reference/config.md all have it from here.
struct ConfigKey {
  const char* section;
  const char* name;
  const char* flag;   // As it is typed, with other spellings behind commas; empty: none.
  const char* value;  // What is to be written: SIZE, or words with | between them.
  // What holds where the value as it stands does not say it; may be empty. Of what is true unless
  // told: what the flag does, which makes it false.
  const char* otherwise;
  const char* meaning;
  ConfigPlace (*place)(NodeConfig& config);
  // Of numbers and times, these in nanoseconds.
  uint64_t least = 0;
  uint64_t most = uint64_t{1} << 50;
  // Of texts that can be wrong by themselves; may be null.
  Result<void> (*check)(std::string_view text) = nullptr;

  std::string full_name() const { return std::string(section) + "." + name; }
  // Changed by SIGHUP, while the node runs.
  bool reloads() const;

  // Invalid: it is no such value; says what would be right.
  Result<void> Set(NodeConfig& config, std::string_view text) const;
  // As Set() takes it.
  std::string Get(const NodeConfig& config) const;
};

std::span<const ConfigKey> ConfigKeys();
const ConfigKey& FindConfigKey(std::string_view full_name);  // REQUIRES: there is one.

// Of limits that go together: one that may not be more than the other, and is, is invalid.
Result<void> CheckLimits(const NodeConfig& config);

// What is said of a directory in [[disk]], of a bucket in [[bucket]] and of who is asked in
// [[upstream]], where first; flags take the same words.
struct ConfigTierKey {
  const char* section;
  const char* name;
  const char* value;
  const char* otherwise;
  const char* meaning;
  bool secret = false;  // In a file alone, and never shown.
};
std::span<const ConfigTierKey> ConfigTierKeys();
bool IsSecretTierKey(std::string_view section, std::string_view name);
// Whether a section is a list of such, and the key of it that says where each is.
bool IsConfigList(std::string_view section);
std::string_view ConfigWhereKey(std::string_view section);  // REQUIRES: it is one.

// The sections of the file, in order; these and no others.
struct ConfigSection {
  const char* name;
  const char* flag;  // Of sections that are lists; else empty.
  const char* value;
  const char* meaning;
};
std::span<const ConfigSection> ConfigSections();

}  // namespace kvcast
