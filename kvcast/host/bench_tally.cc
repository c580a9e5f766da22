#include "kvcast/host/bench_tally.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace kvcast {
namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Percentiles Percentiles::Of(const Histogram& histogram) {
  if (histogram.count() == 0) {
    return {};
  }
  return {histogram.count(), histogram.Quantile(0.5), histogram.Quantile(0.9),
          histogram.Quantile(0.99)};
}

Json Percentiles::ToJson() const {
  return Json{{"count", count}, {"p50_s", p50}, {"p90_s", p90}, {"p99_s", p99}};
}

double BenchFigures::hit_ratio() const { return Share(blocks_loaded, blocks_asked); }
double BenchFigures::hit_ratio_possible() const { return Share(blocks_seen, blocks_asked); }

double BenchFigures::PerSecond(uint64_t bytes) const {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

double BenchFigures::loaded_bytes_per_s() const { return PerSecond(blocks_loaded * block_bytes); }
double BenchFigures::published_bytes_per_s() const {
  return PerSecond(blocks_published * block_bytes);
}

double BenchFigures::PerGb(double cpu_s) const {
  const uint64_t bytes = (blocks_loaded + blocks_published) * block_bytes;
  return bytes == 0 ? 0 : cpu_s / (static_cast<double>(bytes) / 1e9);
}

std::string BenchFigures::Label() const {
  std::string label;
  for (const Rung rung : rungs) {
    label += (label.empty() ? "" : "+") + std::string(ToString(rung));
  }
  return label;
}

Json BenchFigures::ToJson() const {
  Json names = Json::array();
  for (const Rung rung : rungs) {
    names.push_back(std::string(ToString(rung)));
  }
  Json at = Json::object();
  for (const auto& [rung, blocks] : loaded_at) {
    at[std::string(ToString(rung))] = blocks;
  }
  Json json{{"rungs", names},
            {"seconds", seconds},
            {"requests", requests},
            {"blocks_asked", blocks_asked},
            {"blocks_seen_before", blocks_seen},
            {"blocks_found", blocks_found},
            {"blocks_loaded", blocks_loaded},
            {"blocks_loaded_at", at},
            {"blocks_computed", blocks_computed()},
            {"blocks_late", blocks_late},
            {"blocks_failed", blocks_failed},
            {"blocks_wrong", blocks_wrong},
            {"hit_ratio", hit_ratio()},
            {"hit_ratio_possible", hit_ratio_possible()},
            {"loaded_bytes_per_s", loaded_bytes_per_s()},
            {"loaded_wire_bytes_per_s", PerSecond(load_wire_bytes)},
            {"load_bytes_per_s_p50", load_bytes_per_s_p50},
            {"blocks_published", blocks_published},
            {"blocks_held_already", blocks_held},
            {"publishes_failed", publishes_failed},
            {"published_bytes_per_s", published_bytes_per_s()},
            {"published_wire_bytes_per_s", PerSecond(publish_wire_bytes)},
            {"find", find.ToJson()},
            {"load", load.ToJson()},
            {"publish", publish.ToJson()},
            {"client_cpu_s_per_gb", PerGb(client_cpu_s)},
            {"trouble", trouble}};
  json["node_cpu_s_per_gb"] = node_cpu_s ? Json(PerGb(*node_cpu_s)) : Json();
  json["error"] = error ? Json(*error) : Json();
  return json;
}

BenchFigures BenchTally::Figures(const std::vector<Rung>& rungs, size_t block_bytes) const {
  BenchFigures figures;
  figures.rungs = rungs;
  figures.block_bytes = block_bytes;
  figures.requests = requests.value();
  figures.blocks_asked = blocks_asked.value();
  figures.blocks_seen = blocks_seen.value();
  figures.blocks_found = blocks_found.value();
  figures.blocks_loaded = blocks_loaded.value();
  figures.blocks_late = blocks_late.value();
  figures.blocks_failed = blocks_failed.value();
  figures.blocks_wrong = blocks_wrong.value();
  figures.load_wire_bytes = load_wire_bytes.value();
  figures.blocks_published = blocks_published.value();
  figures.blocks_held = blocks_held.value();
  figures.publish_wire_bytes = publish_wire_bytes.value();
  figures.publishes_failed = publishes_failed.value();
  figures.find = Percentiles::Of(find_s);
  figures.load = Percentiles::Of(load_s);
  figures.publish = Percentiles::Of(publish_s);
  figures.load_bytes_per_s_p50 = Percentiles::Of(load_bytes_per_s).p50;
  if (errors.count() > 0) {
    figures.error = errors.sum() / static_cast<double>(errors.count());
  }
  for (const Rung rung : rungs) {
    figures.loaded_at.emplace_back(rung, loaded_at[static_cast<size_t>(rung)].value());
  }
  return figures;
}

}  // namespace kvcast
