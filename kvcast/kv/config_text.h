#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"
#include "kvcast/base/result.h"

namespace kvcast {

inline constexpr uint64_t kConfigCountMax = 65536;

inline Error MalformedConfig(std::string message) {
  return Error(ErrorCode::kMalformed, std::move(message));
}

// A configuration, or the text part of a larger one, read member by member.
class ConfigText {
 public:
  // `json` is the file that `config` was parsed from, and `part` the member of it that `config` is;
  // empty for all of it.
  ConfigText(const Json& config, std::string_view json, std::string_view part)
      : config_(config), json_(json), part_(part) {}

  // A member that is there and not null.
  const Json* Find(std::string_view name) const {
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  // The name of a member that is there, not null, and of a kind by its name and value.
  template <typename Kind>
  std::optional<std::string> FirstWhere(const Kind& is_of_kind) const {
    for (const auto& member : config_.items()) {
      if (!member.value().is_null() && is_of_kind(std::string_view(member.key()), member.value())) {
        return member.key();
      }
    }
    return std::nullopt;
  }

  // Whether this is a part of a larger configuration. Such parts leave out what their family's code
  // knows.
  bool IsPart() const { return !part_.empty(); }

  // A member that is a string; empty for any other.
  std::string_view Word(std::string_view name) const {
    const Json* found = Find(name);
    return found != nullptr && found->is_string() ? found->get_ref<const std::string&>()
                                                  : std::string_view();
  }

  // What a name is without regard to the case of ASCII letters.
  static std::string Folded(std::string_view name) {
    std::string folded(name);
    for (char& c : folded) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return folded;
  }
  std::string Family() const { return Folded(Word("model_type")); }

  // Where a member stands in the file, for errors.
  uint64_t Place(std::string_view name) const {
    return part_.empty() ? JsonPlace(json_, {name}) : JsonPlace(json_, {part_, name});
  }
  // The same for an element of a member that is a list.
  uint64_t Place(std::string_view name, size_t index) const {
    const std::string at = std::to_string(index);
    return part_.empty() ? JsonPlace(json_, {name, at}) : JsonPlace(json_, {part_, name, at});
  }

  // A whole number, 0 included.
  Result<std::optional<uint64_t>> Whole(std::string_view name) const {
    Result<std::optional<uint64_t>> count = JsonCount(config_, name);
    if (!count.ok()) {
      return std::move(count).error().At(Place(name));
    }
    return count;
  }

  // The first of several names for one count, within [1, max].
  Result<std::optional<uint32_t>> Count(std::initializer_list<std::string_view> names,
                                        uint64_t max = kConfigCountMax) const {
    for (const std::string_view name : names) {
      KVCAST_TRY(const std::optional<uint64_t> count, Whole(name));
      if (count && (*count < 1 || *count > max)) {
        return MalformedConfig("\"" + std::string(name) + "\" must lie between 1 and " +
                               std::to_string(max) + "; it is " + std::to_string(*count) + ".")
            .At(Place(name));
      }
      if (count) {
        return std::optional(static_cast<uint32_t>(*count));
      }
    }
    return std::optional<uint32_t>();
  }

  Result<uint32_t> NeededCount(std::initializer_list<std::string_view> names,
                               uint64_t max = kConfigCountMax) const {
    KVCAST_TRY(const std::optional<uint32_t> count, Count(names, max));
    if (!count) {
      return LeftOut({*names.begin()});
    }
    return *count;
  }

  // What to do about members that are needed and not there. REQUIRES: at least one.
  Error LeftOut(const std::vector<std::string_view>& names) const {
    std::string all;
    for (size_t i = 0; i < names.size(); ++i) {
      all += i == 0 ? "" : i + 1 < names.size() ? ", " : " and ";
      all += "\"" + std::string(names[i]) + "\"";
    }
    const std::string_view elsewhere =
        FirstOf({"", "llm_config", "language_config", "thinker_config"});
    const bool one = names.size() == 1;
    return Error(ErrorCode::kUnsupported,
                 all + (one ? " is left out, and " : " are left out, and ") +
                     (elsewhere.empty()
                          ? std::string("the model's own code knows what kvcast does not")
                          : "kvcast does not look into \"" + std::string(elsewhere) + "\"") +
                     (one ? ": write in the one that the engine uses."
                          : ": write in those that the engine uses."))
        .At(Place(names.front()));
  }

  // The first of several names that is there, or the first of all.
  std::string_view FirstOf(std::initializer_list<std::string_view> names) const {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](std::string_view name) { return Find(name) != nullptr; });
    return found == names.end() ? *names.begin() : *found;
  }

  Result<std::optional<bool>> Flag(std::string_view name) const {
    const Json* found = Find(name);
    if (found == nullptr) {
      return std::optional<bool>();
    }
    if (!found->is_boolean()) {
      return MalformedConfig("\"" + std::string(name) + "\" must be true or false.")
          .At(Place(name));
    }
    return std::optional(found->get<bool>());
  }

 private:
  const Json& config_;
  std::string_view json_;
  std::string_view part_;
};

}  // namespace kvcast
