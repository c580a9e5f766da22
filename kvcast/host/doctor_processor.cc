#include <fmt/format.h>

#include "kvcast/host/doctor.h"

namespace kvcast {
namespace {

Finding Cores(const CpuFacts& cpu) {
  const double granted = cpu.cores_max.value_or(cpu.cores);
  Finding finding{
      "Cores", Verdict::kGood,
      cpu.cores_max && granted < cpu.cores
          ? fmt::format("{} cores, of which a control group grants {:.3g}", cpu.cores, granted)
          : fmt::format("{} cores", cpu.cores),
      "A node gives each core its own share of sessions and objects, and compression "
      "runs beside them."};
  if (granted < 2) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.advice =
        "Give kvcast two cores or more: with one, compression and the network take turns. Look at "
        "taskset -p $$, CPUQuota= and AllowedCPUs= of the unit, or --cpus of the container.";
  }
  return finding;
}

Finding Encryption(const CpuFacts& cpu) {
  Finding finding{"Encryption", Verdict::kGood,
                  cpu.vaes ? "AES in hardware, with VAES" : "AES in hardware",
                  "QUIC encrypts every byte; at full speed that is a third of a node's work."};
  if (!cpu.aes) {
    finding.verdict = Verdict::kMissing;
    finding.measured = "no AES in hardware";
    finding.advice =
        "If this is a virtual machine, let it see its host's processor (for QEMU: -cpu host). "
        "Otherwise encryption will bound every transfer.";
  }
  return finding;
}

Finding Compression(const CpuFacts& cpu) {
  Finding finding{"Compression", Verdict::kGood, "AVX-512 with VBMI",
                  "Caches are compressed and decompressed by vector instructions, with tables held "
                  "in registers where the processor can look them up there."};
  if (!cpu.avx512_vbmi) {
    finding.verdict = cpu.avx2 ? Verdict::kCouldBeBetter : Verdict::kMissing;
    finding.measured = cpu.avx2 ? "AVX2, at about half the speed of AVX-512 with VBMI"
                                : "no AVX2: about a tenth of the speed of AVX-512 with VBMI";
    finding.advice =
        "Nothing to install: this is the processor. In a virtual machine, let it see its host's "
        "(for QEMU: -cpu host). Where decoding is too slow, ask for rungs that cost less: FP8 or "
        "Int8.";
  }
  return finding;
}

Finding Hashing(const CpuFacts& cpu) {
  Finding finding{"Hashing", Verdict::kGood, "SHA-256 in hardware",
                  "Names of blocks and digests of weights are SHA-256."};
  if (!cpu.sha) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured = "no SHA-256 in hardware";
    finding.advice =
        "The first start with a model takes several times as long, because its weights are hashed "
        "once; after that it hardly shows. In a virtual machine, let it see its host's processor.";
  }
  return finding;
}

}  // namespace

Section JudgeProcessor(const Result<CpuFacts>& cpu) {
  Section section{"Processor", {}};
  if (!cpu.ok()) {
    section.findings.push_back({"Processor", Verdict::kCouldBeBetter, cpu.error().ToString(),
                                "What it can do decides how fast kvcast encrypts and compresses.",
                                "Mount /proc, then run the doctor again."});
    return section;
  }
  section.findings = {Cores(*cpu), Encryption(*cpu), Compression(*cpu), Hashing(*cpu)};
  return section;
}

}  // namespace kvcast
