#include "kvcast/host/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kvcast/host/doctor.h"
#include "kvcast/host/text_layout.h"
#include "kvcast/host/version.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr size_t kVerdictColumns = 17;
constexpr size_t kTopicColumns = 24;

class Painter {
 public:
  explicit Painter(bool coloured) : coloured_(coloured) {}

  std::string Bold(std::string_view text) const { return Paint("1", text); }
  std::string InColourOf(Verdict verdict, std::string_view text) const {
    switch (verdict) {
      case Verdict::kGood:
        return Paint("32", text);
      case Verdict::kCouldBeBetter:
        return Paint("33", text);
      case Verdict::kMissing:
      case Verdict::kBlocking:
        return Paint("31", text);
    }
    return std::string(text);
  }

 private:
  std::string Paint(std::string_view code, std::string_view text) const {
    return coloured_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
  }

  bool coloured_;
};

std::string Heading(const MachineFacts& facts) {
  std::string machine = fmt::format("kvcast {} on {}", Version(), facts.system);
  if (facts.cpu.ok()) {
    machine += fmt::format(", {}, {} cores", facts.cpu->model, facts.cpu->cores);
  }
  if (facts.memory.ok()) {
    machine += ", " + HumanBytes(facts.memory->total_bytes);
  }
  std::string libraries;
  for (const LibraryVersion& library : facts.libraries) {
    libraries +=
        fmt::format("{}{} {}", libraries.empty() ? "with " : ", ", library.name, library.version);
  }
  return Wrapped(machine + "\n" + libraries, 0) + "\n";
}

std::string List(const std::vector<Section>& sections, const Painter& paint) {
  const size_t indent = 2 + kVerdictColumns + kTopicColumns;
  std::string list;
  for (const Section& section : sections) {
    list += "\n" + paint.Bold(section.title) + "\n";
    for (const Finding& finding : section.findings) {
      const std::string verdict = Padded(ToString(finding.verdict), kVerdictColumns);
      list += "  " + paint.InColourOf(finding.verdict, verdict) +
              Padded(finding.topic, kTopicColumns) + Wrapped(finding.measured, indent) + "\n";
    }
  }
  return list;
}

// Ends in a full stop, as errors of ours already do.
std::string AsSentence(const std::string& text) { return text.ends_with('.') ? text : text + '.'; }

std::string Help(const Finding& finding, const std::string& title, const Painter& paint) {
  std::string text = Wrapped(title + ": " + AsSentence(finding.measured), 4) + "\n";
  if (text.starts_with(title)) {  // Unless it had to be broken.
    text.replace(0, title.size(), paint.InColourOf(finding.verdict, title));
  }
  text = "\n  " + text;
  text += "    " + Wrapped(finding.why, 4) + "\n";
  text += "    " + Wrapped(finding.advice, 4) + "\n";
  for (const std::string& command : finding.commands) {
    text += "      now:      " + command + "\n";
  }
  for (const std::string& command : finding.permanent) {
    text += "      for good: " + command + "\n";
  }
  return text;
}

using Troubles = std::vector<std::pair<std::string, const Finding*>>;  // Under which title.

Troubles WhatIsNotGood(const std::vector<Section>& sections) {
  Troubles troubles;
  for (const Section& section : sections) {
    for (const Finding& finding : section.findings) {
      if (finding.verdict != Verdict::kGood) {
        const bool same = section.title.starts_with(finding.topic);
        troubles.emplace_back(same ? finding.topic : section.title + ", " + finding.topic,
                              &finding);
      }
    }
  }
  std::ranges::stable_sort(
      troubles, [](const auto& a, const auto& b) { return a.second->verdict > b.second->verdict; });
  return troubles;
}

std::string Conclusion(size_t troubles, bool usable) {
  if (!usable) {
    return "\nkvcast cannot work like this: see what is blocking above.\n";
  }
  if (troubles == 0) {
    return "\nAll is good: there is nothing to do.\n";
  }
  return fmt::format(
      "\n{} to improve; kvcast works as it is. Each is explained in "
      "docs/guides/doctor.md.\n",
      troubles == 1 ? "One thing" : fmt::format("{} things", troubles));
}

}  // namespace

std::string DoctorReport(const MachineFacts& facts, const std::vector<Section>& sections,
                         bool coloured) {
  const Painter paint(coloured);
  std::string report = Heading(facts) + List(sections, paint);
  const Troubles troubles = WhatIsNotGood(sections);
  if (!troubles.empty()) {
    report += "\n" + paint.Bold("What would help") + "\n";
  }
  for (const auto& [title, finding] : troubles) {
    report += Help(*finding, title, paint);
  }
  return report + Conclusion(troubles.size(), Usable(sections));
}

}  // namespace kvcast
