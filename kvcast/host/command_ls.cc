#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/host/catalog_session.h"
#include "kvcast/host/command.h"
#include "kvcast/host/held_caches.h"
#include "kvcast/host/held_values.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

void PrintModelsJson(const std::map<std::string, HeldModel>& models) {
  Json list = Json::array();
  for (const auto& [name, model] : models) {
    list.push_back({{"model", name},
                    {"prefixes", model.prefixes},
                    {"blocks", model.blocks},
                    {"values", model.values},
                    {"bytes", model.bytes},
                    {"rungs", model.rungs},
                    {"nodes", model.nodes.size()}});
  }
  fmt::print("{}", JsonText(list));
}

void PrintModels(const std::map<std::string, HeldModel>& models) {
  size_t width = std::string("model").size();
  for (const auto& [name, model] : models) {
    width = std::max(width, name.size());
  }
  fmt::print("{:<{}}  prefixes    blocks    values       bytes  nodes  rungs\n", "model", width);
  for (const auto& [name, model] : models) {
    fmt::print("{:<{}}  {:>8}  {:>8}  {:>8}  {:>10}  {:>5}{}{}\n", name, width,
               Grouped(model.prefixes), Grouped(model.blocks), Grouped(model.values),
               HumanBytes(model.bytes), model.nodes.size(), model.rungs.empty() ? "" : "  ",
               fmt::join(model.rungs, " "));
  }
}

Json JsonOf(const HeldCache& cache) {
  return {{"model", cache.model},   {"prefix", cache.prefix},  {"generation", cache.generation},
          {"rung", cache.rung},     {"node", cache.node},      {"blocks", cache.groups->size()},
          {"bytes", cache.bytes()}, {"groups", cache.blocks()}};
}

void PrintCache(const HeldCache& cache) {
  fmt::print("{:<18}{:<18}{:<18}{:<16}{:>10}  {}\n", cache.prefix.substr(0, kShortHex),
             cache.generation.substr(0, kShortHex), cache.node.substr(0, kShortHex), cache.rung,
             HumanBytes(cache.bytes()), cache.blocks());
}

Json JsonOf(const HeldValue& value) {
  return {{"model", value.model},
          {"value", value.name},
          {"generation", value.generation},
          {"node", value.node},
          {"bytes", value.bytes}};
}

void PrintValue(const HeldValue& value) {
  fmt::print("{:<18}{:<18}{:<18}{:<16}{:>10}\n", value.name.substr(0, kShortHex),
             value.generation.substr(0, kShortHex), value.node.substr(0, kShortHex), "value",
             HumanBytes(value.bytes));
}

// A line for each cache, and for each value, at each node.
void PrintOneModel(const std::vector<HeldTrack>& tracks, bool json) {
  Json list = Json::array();
  if (!json) {
    fmt::print("{:<18}{:<18}{:<18}{:<16}{:>10}  {}\n", "prefix or value", "generation", "node",
               "rung", "bytes", "blocks");
  }
  for (const HeldTrack& track : tracks) {
    if (const std::optional<HeldCache> cache = HeldCacheOf(track)) {
      json ? list.push_back(JsonOf(*cache)) : PrintCache(*cache);
    }
    for (const HeldValue& value : HeldValuesOf(track)) {
      json ? list.push_back(JsonOf(value)) : PrintValue(value);
    }
  }
  if (json) {
    fmt::print("{}", JsonText(list));
  }
}

// 0: something is held.
Result<int> RunLs(const CatalogFlags& flags) {
  KVCAST_TRY(const std::unique_ptr<CatalogSession> session, CatalogSession::Open(flags));
  const std::vector<HeldTrack> tracks = session->view().Tracks();
  const std::map<std::string, HeldModel> models = HeldModels(tracks);
  if (!flags.model.empty()) {
    PrintOneModel(tracks, flags.json);
  } else {
    flags.json ? PrintModelsJson(models) : PrintModels(models);
  }
  return models.empty() ? kExitFailed : kExitOk;
}

}  // namespace

void AddLsCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "ls",
      "List the KV caches that a node, and those behind it, hold\n\n"
      "Without a model, a line per model: how many prefixes of prompts, how many different blocks, "
      "how many values of engines that have keys of their own, the bytes of all that, on how many "
      "nodes. With one, a line per prefix, rung and node, and per value and node; values have a "
      "name made of the engine's key in place of a prefix. Hashes, generations and nodes are cut "
      "to 16 digits; --json has them whole.\n\n"
      "What is listed comes from catalogs, which nodes keep up to date as caches come and go: "
      "nothing is loaded. A credential for single tenants has to say which model.\n\n"
      "Exit status: 0 if anything is held, 1 if nothing is.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast ls --node HOST:PORT#FINGERPRINT\n"
      "kvcast ls public/tinylm@9379127396f05b09 --node HOST:PORT#FINGERPRINT --json");
  const auto flags = std::make_shared<CatalogFlags>();
  CatalogFlags::AddTo(*command, *flags,
                      "Whose caches to list, as TENANT/NAME@16-HEX-DIGITS (default: all models')");
  command->callback([flags, exit_status] {
    const Result<int> result = RunLs(*flags);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
