#include "kvcast/host/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "kvcast/host/model_text.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr size_t kRowNameColumns = 26;
constexpr size_t kFigureColumns = 15;
constexpr size_t kColumnsMax = 4;  // Of a table; what is more goes into another one.

std::string ShareText(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string Time(const Percentiles& of, double seconds) {
  return of.count == 0 ? "-"
                       : HumanDuration(std::chrono::duration_cast<Duration>(
                             std::chrono::duration<double>(seconds)));
}

struct FigureRow {
  std::string name;
  std::function<std::string(const BenchFigures&)> figure;
  // Rows that say nothing in any column are left out.
  std::function<bool(const BenchFigures&)> says = [](const BenchFigures&) { return true; };
};

void AddTimes(std::vector<FigureRow>& rows, const std::string& what,
              Percentiles BenchFigures::*of) {
  const auto has = [of](const BenchFigures& figures) { return (figures.*of).count > 0; };
  rows.push_back(
      {what + ", p50", [of](const BenchFigures& f) { return Time(f.*of, (f.*of).p50); }, has});
  rows.push_back({"  p90", [of](const BenchFigures& f) { return Time(f.*of, (f.*of).p90); }, has});
  rows.push_back({"  p99", [of](const BenchFigures& f) { return Time(f.*of, (f.*of).p99); }, has});
}

FigureRow CountOf(const std::string& name, uint64_t BenchFigures::*count, bool always) {
  return {name, [count](const BenchFigures& f) { return Grouped(f.*count); },
          [count, always](const BenchFigures& f) { return always || f.*count > 0; }};
}

std::vector<FigureRow> Rows() {
  using F = BenchFigures;
  std::vector<FigureRow> rows;
  rows.push_back(CountOf("prompts", &F::requests, true));
  rows.push_back(CountOf("blocks asked for", &F::blocks_asked, false));
  rows.push_back({"  loaded", [](const F& f) { return Grouped(f.blocks_loaded); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back({"  left to compute", [](const F& f) { return Grouped(f.blocks_computed()); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back(CountOf("  of them too late", &F::blocks_late, false));
  rows.push_back(CountOf("  of them gone or refused", &F::blocks_failed, false));
  rows.push_back({"hit ratio", [](const F& f) { return ShareText(f.hit_ratio()); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back({"  at best, for these",
                  [](const F& f) { return ShareText(f.hit_ratio_possible()); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back({"loaded, KV", [](const F& f) { return HumanRate(f.loaded_bytes_per_s()); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back({"  on the wire",
                  [](const F& f) { return HumanRate(f.PerSecond(f.load_wire_bytes)); },
                  [](const F& f) { return f.blocks_asked > 0; }});
  rows.push_back({"  one load, KV, p50",
                  [](const F& f) { return HumanRate(f.load_bytes_per_s_p50); },
                  [](const F& f) { return f.blocks_loaded > 0; }});
  rows.push_back(
      {"published, KV", [](const F& f) { return HumanRate(f.published_bytes_per_s()); }});
  rows.push_back(
      {"  on the wire", [](const F& f) { return HumanRate(f.PerSecond(f.publish_wire_bytes)); }});
  rows.push_back(CountOf("  failed", &F::publishes_failed, false));
  AddTimes(rows, "find", &F::find);
  AddTimes(rows, "load", &F::load);
  AddTimes(rows, "publish", &F::publish);
  rows.push_back({"CPU of engines, s/GB",
                  [](const F& f) { return fmt::format("{:.2f}", f.PerGb(f.client_cpu_s)); }});
  rows.push_back({"CPU of the node, s/GB",
                  [](const F& f) {
                    return f.node_cpu_s ? fmt::format("{:.2f}", f.PerGb(*f.node_cpu_s)) : "-";
                  },
                  [](const F& f) { return f.node_cpu_s.has_value(); }});
  rows.push_back(
      {"error of values",
       [](const F& f) { return f.error ? fmt::format("{:.2f} %", *f.error * 100) : "none"; },
       [](const F& f) { return f.error.has_value(); }});
  rows.push_back({"blocks that were wrong", [](const F& f) { return Grouped(f.blocks_wrong); },
                  [](const F& f) { return f.blocks_loaded > 0; }});
  return rows;
}

std::string TableOf(std::span<const BenchFigures> columns) {
  std::string text = fmt::format("{:<{}}", "", kRowNameColumns);
  size_t width = kFigureColumns;
  for (const BenchFigures& each : columns) {
    width = std::max(width, each.Label().size() + 2);
  }
  for (const BenchFigures& each : columns) {
    text += fmt::format("{:>{}}", each.Label(), width);
  }
  text += "\n";
  for (const FigureRow& row : Rows()) {
    if (std::ranges::any_of(columns, row.says)) {
      text += fmt::format("{:<{}}", row.name, kRowNameColumns);
      for (const BenchFigures& each : columns) {
        text += fmt::format("{:>{}}", row.figure(each), width);
      }
      text += "\n";
    }
  }
  for (const BenchFigures& each : columns) {
    for (const auto& [rung, blocks] : each.loaded_at) {
      if (each.loaded_at.size() > 1) {
        text += fmt::format("  {} blocks came as {}\n", Grouped(blocks), ToString(rung));
      }
    }
  }
  return text;
}

}  // namespace

std::string BenchReport::Opening() const {
  const LayerShape& layer = model->shape.layers().front();
  std::string text = fmt::format(
      "model    the shape of {}: {} layers, {} of {} values in {};\n"
      "         a block of {} tokens is {}\n",
      model->model.name.substr(model->model.name.find('-') + 1), model->shape.layers().size(),
      layer.value_size == 0 ? "a latent" : fmt::format("{} KV heads", layer.kv_heads),
      layer.key_size, ToString(model->values), model->shape.tokens(),
      HumanBytes(model->block_bytes()));
  text += ram_bytes > 0
              ? fmt::format("node     one of its own in this process, with {} of memory\n",
                            HumanBytes(ram_bytes))
              : fmt::format("node     {}; all is published as {}\n", node, scope);
  text += fmt::format(
      "prompts  {}: {:.1f} blocks each; {} of them were asked for before, and {} of\n"
      "         all different ones are never asked for again\n",
      trace.empty() ? "made up" : trace, sharing.prompt_blocks, ShareText(sharing.hit_ratio),
      ShareText(sharing.never_again_ratio));
  text += fmt::format("engines  {} that publish, {} that load; {:g} s for each rung{}\n",
                      publishers, readers, seconds,
                      deadline_ms ? fmt::format("; loads have {:g} ms", *deadline_ms) : "");
  return text;
}

std::string BenchReport::Table() const {
  std::string text;
  for (size_t at = 0; at < figures.size(); at += kColumnsMax) {
    text +=
        "\n" + TableOf(std::span(figures).subspan(at, std::min(kColumnsMax, figures.size() - at)));
  }
  for (const BenchFigures& each : figures) {
    if (!each.trouble.empty()) {
      text += fmt::format("\n{}: {}\n", each.Label(), each.trouble);
    }
  }
  if (interrupted) {
    text += "\nInterrupted: these are the figures up to then.\n";
  }
  return text;
}

Json BenchReport::ToJson() const {
  Json measured = Json::array();
  for (const BenchFigures& each : figures) {
    measured.push_back(each.ToJson());
  }
  return Json{{"model", model->model.name},
              {"scope", scope},
              {"block_tokens", model->shape.tokens()},
              {"block_bytes", model->block_bytes()},
              {"node", node},
              {"node_ram_bytes", ram_bytes > 0 ? Json(ram_bytes) : Json()},
              {"trace", trace.empty() ? Json() : Json(trace)},
              {"sharing",
               {{"prompt_blocks", sharing.prompt_blocks},
                {"hit_ratio", sharing.hit_ratio},
                {"never_again_ratio", sharing.never_again_ratio}}},
              {"publishers", publishers},
              {"readers", readers},
              {"deadline_ms", deadline_ms ? Json(*deadline_ms) : Json()},
              {"interrupted", interrupted},
              {"measurements", measured}};
}

}  // namespace kvcast
