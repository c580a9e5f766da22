#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/catalog_session.h"
#include "kvcast/host/command.h"
#include "kvcast/host/held_caches.h"
#include "kvcast/host/held_values.h"
#include "kvcast/host/json_text.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

struct StatFlags {
  CatalogFlags catalog;
  std::string prefix;
};

// One prefix's blocks: where each of them is, and as what.
struct StatBlock {
  std::string key;
  std::vector<std::pair<const HeldCache*, uint64_t>> places;  // With its bytes there.
};

// What goes by one name: a prefix at all rungs and nodes, or a value at all nodes.
struct Named {
  std::vector<HeldCache> caches;
  std::vector<HeldValue> values;
};

// Invalid: several begin so.
Result<Named> NamedBy(const std::vector<HeldTrack>& tracks, const std::string& digits) {
  Named named;
  std::set<std::string> names;
  for (const HeldTrack& track : tracks) {
    std::optional<HeldCache> cache = HeldCacheOf(track);
    if (cache && cache->prefix.starts_with(digits)) {
      names.insert(cache->prefix);
      named.caches.push_back(*std::move(cache));
    }
    for (HeldValue& value : HeldValuesOf(track)) {
      if (value.name.starts_with(digits)) {
        names.insert(value.name);
        named.values.push_back(std::move(value));
      }
    }
  }
  if (names.size() > 1) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("{} {} begin with \"{}\": give more digits, such as {}.", names.size(),
                             named.values.empty()   ? "prefixes"
                             : named.caches.empty() ? "values"
                                                    : "prefixes and values",
                             digits, names.begin()->substr(0, kShortHex)));
  }
  return named;
}

std::map<uint64_t, StatBlock> BlocksOf(const std::vector<HeldCache>& caches) {
  std::map<uint64_t, StatBlock> blocks;
  for (const HeldCache& cache : caches) {
    for (const auto& [group, block] : *cache.groups) {
      StatBlock& stat = blocks[group];
      stat.key = block.key.ToHex();
      stat.places.emplace_back(&cache, block.bytes);
    }
  }
  return blocks;
}

void PrintJson(const std::vector<HeldCache>& caches) {
  Json list = Json::array();
  for (const auto& [group, block] : BlocksOf(caches)) {
    Json places = Json::array();
    for (const auto& [cache, bytes] : block.places) {
      places.push_back({{"rung", cache->rung},
                        {"node", cache->node},
                        {"generation", cache->generation},
                        {"bytes", bytes}});
    }
    list.push_back({{"block", group}, {"key", block.key}, {"places", places}});
  }
  fmt::print("{}", JsonText(Json{{"model", caches.front().model},
                                 {"prefix", caches.front().prefix},
                                 {"blocks", list}}));
}

void PrintText(const std::vector<HeldCache>& caches) {
  fmt::print("model    {}\nprefix   {}\n\n", caches.front().model, caches.front().prefix);
  fmt::print("{:>5}  {:<18}{:<16}{:>10}  {:<18}{}\n", "block", "key", "rung", "bytes", "node",
             "generation");
  for (const auto& [group, block] : BlocksOf(caches)) {
    for (const auto& [cache, bytes] : block.places) {
      fmt::print("{:>5}  {:<18}{:<16}{:>10}  {:<18}{}\n", group, block.key.substr(0, kShortHex),
                 cache->rung, HumanBytes(bytes), cache->node.substr(0, kShortHex),
                 cache->generation.substr(0, kShortHex));
    }
  }
}

void PrintJson(const std::vector<HeldValue>& values) {
  Json places = Json::array();
  for (const HeldValue& value : values) {
    places.push_back(
        {{"node", value.node}, {"generation", value.generation}, {"bytes", value.bytes}});
  }
  fmt::print("{}", JsonText(Json{{"model", values.front().model},
                                 {"value", values.front().name},
                                 {"places", places}}));
}

void PrintText(const std::vector<HeldValue>& values) {
  fmt::print("model    {}\nvalue    {}\n\n", values.front().model, values.front().name);
  fmt::print("{:>10}  {:<18}{}\n", "bytes", "node", "generation");
  for (const HeldValue& value : values) {
    fmt::print("{:>10}  {:<18}{}\n", HumanBytes(value.bytes), value.node.substr(0, kShortHex),
               value.generation.substr(0, kShortHex));
  }
}

Result<void> RunStat(const StatFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<CatalogSession> session, CatalogSession::Open(flags.catalog));
  KVCAST_TRY(const Named named, NamedBy(session->view().Tracks(), flags.prefix));
  if (!named.caches.empty()) {
    flags.catalog.json ? PrintJson(named.caches) : PrintText(named.caches);
    return {};
  }
  if (!named.values.empty()) {
    flags.catalog.json ? PrintJson(named.values) : PrintText(named.values);
    return {};
  }
  return Error(ErrorCode::kNotFound,
               fmt::format("Nobody holds a prefix or a value of {} that begins with \"{}\". "
                           "'kvcast ls {}' lists those that there are.",
                           flags.catalog.model, flags.prefix, flags.catalog.model));
}

// Says what is wrong; empty if nothing is.
std::string HexProblem(const std::string& text) {
  const bool hex = !text.empty() && text.size() <= 2 * Digest::kBytes &&
                   text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return hex ? "" : "'" + text + "' is not the beginning of a hash in small hex digits.";
}

}  // namespace

void AddStatCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "stat",
      "Say of one published prefix where each of its blocks is\n\n"
      "A line per block, rung and node: its key, which is the hash that 'kvcast name' prints for "
      "it, its bytes, and by which act of publishing it came. Blocks that the publisher found at "
      "the node already stand under the prefix that brought them.\n\n"
      "Of a value, which engines keep under a key of their own, it says which nodes hold it.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast stat public/tinylm@9379127396f05b09 d2f42374 --node HOST:PORT#FINGERPRINT");
  const auto flags = std::make_shared<StatFlags>();
  CatalogFlags::AddTo(*command, flags->catalog, "Whose cache, as 'kvcast ls' writes it")
      ->required();
  command
      ->add_option("PREFIX", flags->prefix,
                   "The prefix's hash, or the value's name, or enough of its first digits, as "
                   "'kvcast ls' writes it")
      ->required()
      ->check(HexProblem);
  command->callback([flags, exit_status] {
    const Result<void> result = RunStat(*flags);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
