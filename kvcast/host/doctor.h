#pragma once

#include <vector>

#include "kvcast/host/finding.h"
#include "kvcast/host/machine_facts.h"

namespace kvcast {

// From facts to findings: what is good, what could be better, and what to do about it. Pure, so
// that every piece of advice is tested on machines that nobody has to own.
//
// docs/guides/doctor.md explains each finding by its topic: a new one belongs there too.
std::vector<Section> Judge(const MachineFacts& facts);

Section JudgeNetwork(const Result<UdpFacts>& udp);
Section JudgeProcessor(const Result<CpuFacts>& cpu);
Section JudgeMemory(const Result<MemoryFacts>& memory);
Section JudgeKernel(const UringFacts& uring, const ProcessLimits& limits);
// `named`: somebody wants this disk to be used, so that it has to work.
Section JudgeDisk(const Result<DiskFacts>& disk, bool named);

// Whether nothing keeps kvcast from working here.
bool Usable(const std::vector<Section>& sections);

}  // namespace kvcast
