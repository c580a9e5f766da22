#include "kvcast/base/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

std::string Number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

// Within the quotes of a label, or at the end of a HELP line, where quotes are letters like others.
std::string Escaped(std::string_view text, bool quoted) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || (quoted && c == '"')) {
      escaped += '\\';
    }
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

bool IsName(std::string_view name, std::string_view also) {
  const auto is_letter = [also](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || also.find(c) != also.npos;
  };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Two underscores in front are Prometheus' own, and "le" is the bound of a histogram's bucket.
bool IsLabelKey(std::string_view key) {
  return IsName(key, "_") && !key.starts_with("__") && key != "le";
}

std::string RenderLabels(Labels labels) {
  std::ranges::sort(labels);
  std::string text;
  for (const auto& [key, value] : labels) {
    text += (text.empty() ? "" : ",") + key + "=\"" + Escaped(value, /*quoted=*/true) + "\"";
  }
  return text;
}

std::string Line(const std::string& name, const std::string& labels, const std::string& value) {
  return name + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
}

std::string RenderHistogram(const std::string& name, const std::string& labels,
                            const Histogram& histogram) {
  const std::string comma = labels.empty() ? "" : ",";
  std::string text;
  uint64_t below = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    const bool last = i == histogram.bounds().size();
    below += histogram.bucket(i);
    const std::string bound = last ? "+Inf" : Number(histogram.bounds()[i]);
    text += Line(name + "_bucket", labels + comma + "le=\"" + bound + "\"", std::to_string(below));
  }
  text += Line(name + "_sum", labels, Number(histogram.sum()));
  return text + Line(name + "_count", labels, std::to_string(below));
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), buckets_(std::make_unique<Counter[]>(bounds_.size() + 1)) {
  KVCAST_CHECK(std::ranges::is_sorted(bounds_));
}

std::vector<double> Histogram::Exponential(double first, double factor, size_t count) {
  std::vector<double> bounds;
  for (double bound = first; bounds.size() < count; bound *= factor) {
    bounds.push_back(bound);
  }
  return bounds;
}

void Histogram::Observe(double value) {
  if (std::isnan(value)) {
    return;
  }
  const auto bound = std::ranges::lower_bound(bounds_, value);
  buckets_[static_cast<size_t>(bound - bounds_.begin())].Add();
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::count() const {
  uint64_t count = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    count += buckets_[i].value();
  }
  return count;
}

double Histogram::Quantile(double share) const {
  const double wanted = share * static_cast<double>(count());
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += buckets_[i].value();
    if (static_cast<double>(below) >= wanted) {
      return bounds_[i];
    }
  }
  return std::numeric_limits<double>::infinity();
}

void Histogram::Add(const Histogram& other) {
  KVCAST_CHECK(bounds_ == other.bounds_);
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    buckets_[i].Add(other.buckets_[i].value());
  }
  sum_.fetch_add(other.sum(), std::memory_order_relaxed);
}

void Metrics::Add(const Metrics& other) {
  for (const auto& [name, theirs] : other.families_) {
    const auto [found, is_new] = families_.try_emplace(name);
    Family& ours = found->second;
    if (is_new) {
      ours.kind = theirs.kind;
      ours.help = theirs.help;
    }
    KVCAST_CHECK(ours.kind == theirs.kind);
    for (const auto& [labels, series] : theirs.series) {
      Series& sum = ours.series[labels];
      if (series.counter) {
        sum.counter = sum.counter ? std::move(sum.counter) : std::make_unique<Counter>();
        sum.counter->Add(series.counter->value());
      } else if (series.gauge) {
        sum.gauge = sum.gauge ? std::move(sum.gauge) : std::make_unique<Gauge>();
        sum.gauge->Add(series.gauge->value());
      } else if (series.histogram) {
        sum.histogram = sum.histogram ? std::move(sum.histogram)
                                      : std::make_unique<Histogram>(series.histogram->bounds());
        sum.histogram->Add(*series.histogram);
      }
    }
  }
}

Metrics::Series& Metrics::SeriesFor(std::string_view name, std::string_view help, Kind kind,
                                    const Labels& labels) {
  KVCAST_CHECK(IsName(name, "_:"));
  KVCAST_CHECK(
      std::ranges::all_of(labels, [](const auto& each) { return IsLabelKey(each.first); }));
  const auto [family, is_new] = families_.try_emplace(std::string(name));
  if (is_new) {
    family->second.kind = kind;
    family->second.help = help;
  }
  KVCAST_CHECK(family->second.kind == kind);  // One name, one kind of metric.
  return family->second.series[RenderLabels(labels)];
}

Counter& Metrics::counter(std::string_view name, std::string_view help, const Labels& labels) {
  Series& series = SeriesFor(name, help, Kind::kCounter, labels);
  if (series.counter == nullptr) {
    series.counter = std::make_unique<Counter>();
  }
  return *series.counter;
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  Series& series = SeriesFor(name, help, Kind::kGauge, labels);
  if (series.gauge == nullptr) {
    series.gauge = std::make_unique<Gauge>();
  }
  return *series.gauge;
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help,
                              std::vector<double> bounds, const Labels& labels) {
  Series& series = SeriesFor(name, help, Kind::kHistogram, labels);
  if (series.histogram == nullptr) {
    series.histogram = std::make_unique<Histogram>(std::move(bounds));
  }
  return *series.histogram;
}

double Metrics::Value(std::string_view name, const Labels& labels) const {
  const auto family = families_.find(name);
  if (family == families_.end()) {
    return 0;
  }
  const auto series = family->second.series.find(RenderLabels(labels));
  if (series == family->second.series.end()) {
    return 0;
  }
  if (series->second.counter != nullptr) {
    return static_cast<double>(series->second.counter->value());
  }
  if (series->second.gauge != nullptr) {
    return static_cast<double>(series->second.gauge->value());
  }
  return static_cast<double>(series->second.histogram->count());
}

std::string Metrics::Render() const {
  constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
  std::string text;
  for (const auto& [name, family] : families_) {
    text += "# HELP " + name + " " + Escaped(family.help, /*quoted=*/false) + "\n# TYPE " + name +
            " " + std::string(kKinds[static_cast<size_t>(family.kind)]) + "\n";
    for (const auto& [labels, series] : family.series) {
      if (series.counter != nullptr) {
        text += Line(name, labels, std::to_string(series.counter->value()));
      } else if (series.gauge != nullptr) {
        text += Line(name, labels, std::to_string(series.gauge->value()));
      } else {
        text += RenderHistogram(name, labels, *series.histogram);
      }
    }
  }
  return text;
}

}  // namespace kvcast
