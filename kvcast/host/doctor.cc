#include "kvcast/host/doctor.h"

#include <algorithm>

namespace kvcast {

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kCouldBeBetter:
      return "could be better";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kBlocking:
      return "blocking";
  }
  return "unknown";
}

std::vector<Section> Judge(const MachineFacts& facts) {
  std::vector<Section> sections = {JudgeNetwork(facts.udp), JudgeProcessor(facts.cpu),
                                   JudgeMemory(facts.memory),
                                   JudgeKernel(facts.uring, facts.limits)};
  if (facts.disk) {
    sections.push_back(JudgeDisk(*facts.disk, facts.disk_named));
  }
  return sections;
}

bool Usable(const std::vector<Section>& sections) {
  return std::ranges::none_of(sections, [](const Section& section) {
    return std::ranges::any_of(section.findings, [](const Finding& finding) {
      return finding.verdict == Verdict::kBlocking;
    });
  });
}

}  // namespace kvcast
