#include "kvcast/host/forget_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/json_text.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kForgetFileBytesMax = size_t{1} << 30;

Error NoForgetFile(const std::string& what) {
  return Error(ErrorCode::kMalformed,
               what +
                   " Remove the file, and relays below are told no more what this node was "
                   "told to forget before.");
}

Result<void> TakeLists(const Json& lists, relay::ForgetMemory& memory) {
  for (const auto& [tenant, hex] : lists.items()) {
    const auto bytes = hex.is_string() ? FromHex(hex.get<std::string>())
                                       : Result<std::vector<std::byte>>(NoForgetFile("No list."));
    if (!bytes.ok()) {
      return NoForgetFile("A list is no text in hex.");
    }
    KVCAST_TRY(memory.lists[tenant], ForgetList::Parse(Bytes::Copy(*bytes)));
  }
  return {};
}

Result<void> TakeFollowed(const Json& followed, relay::ForgetMemory& memory) {
  for (const Json& each : followed) {
    const auto text = [&](const char* key) {
      return each.is_object() && each.contains(key) && each[key].is_string()
                 ? each[key].get<std::string>()
                 : std::string();
    };
    const auto node = FromHex(text("node"));
    NodeId id{};
    if (!node.ok() || node->size() != id.size() || !each.contains("at") ||
        !each["at"].is_number_unsigned()) {
      return NoForgetFile("What was followed is not told.");
    }
    std::ranges::copy(*node, id.begin());
    memory.followed[{text("upstream"), id, text("tenant")}] = each["at"].get<uint64_t>();
  }
  return {};
}

}  // namespace

Result<relay::ForgetMemory> ReadForgetFile(const std::filesystem::path& path) {
  relay::ForgetMemory memory;
  const Result<std::string> text = ReadRegularFile(path, kForgetFileBytesMax);
  if (!text.ok()) {
    return text.error().code() == ErrorCode::kNotFound ? Result<relay::ForgetMemory>(memory)
                                                       : Result<relay::ForgetMemory>(text.error());
  }
  const auto parse = [&]() -> Result<void> {
    KVCAST_TRY(const Json json, ParseJson(*text));
    if (!json.is_object() || !json.contains("lists") || !json["lists"].is_object() ||
        !json.contains("followed") || !json["followed"].is_array()) {
      return NoForgetFile("This is not what a node keeps of forgetting.");
    }
    KVCAST_TRY_VOID(TakeLists(json["lists"], memory));
    return TakeFollowed(json["followed"], memory);
  };
  if (Result<void> parsed = parse(); !parsed.ok()) {
    return std::move(parsed).error().In(path.string());
  }
  return memory;
}

Result<void> WriteForgetFile(const std::filesystem::path& path, const relay::ForgetMemory& memory) {
  Json lists = Json::object();
  for (const auto& [tenant, list] : memory.lists) {
    lists[tenant] = ToHex(AsBytes(list.Encode().ToString()));
  }
  Json followed = Json::array();
  for (const auto& [source, at] : memory.followed) {
    const auto& [upstream, node, tenant] = source;
    followed.push_back(
        {{"upstream", upstream}, {"node", ToHex(node)}, {"tenant", tenant}, {"at", at}});
  }
  const Json all = {{"lists", std::move(lists)}, {"followed", std::move(followed)}};
  return WriteFileAtomically(path, AsBytes(JsonText(all)), 0600);
}

}  // namespace kvcast
