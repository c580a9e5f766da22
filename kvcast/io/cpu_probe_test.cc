#include "kvcast/io/cpu_probe.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

CpuFacts Probe(const char* cpuinfo) {
  const ScratchDirectory root = *ScratchDirectory::Make();
  std::filesystem::create_directory(root / "proc");
  std::ofstream(root / "proc/cpuinfo") << cpuinfo;
  return *ProbeCpu(root.path());
}

TEST(CpuProbe, KnowsThisMachine) {
  const auto facts = ProbeCpu();
  ASSERT_TRUE(facts.ok());
  EXPECT_GE(facts->cores, 1u);
}

TEST(CpuProbe, ReadsWhatTheKernelLetsProgramsUse) {
  const CpuFacts facts = Probe(
      "processor\t: 0\nmodel name\t: Some Processor\n"
      "flags\t\t: fpu aes avx2 avx512f avx512bw avx512vbmi vaes sha_ni avx512_bf16\n");
  EXPECT_EQ(facts.model, "Some Processor");
  EXPECT_TRUE(facts.aes && facts.vaes && facts.sha && facts.avx2 && facts.avx512 &&
              facts.avx512_vbmi && facts.bf16);
}

// A flag is a word, not a part of one: "vaes" is not "aes".
TEST(CpuProbe, DoesNotReadFlagsIntoOthers) {
  const CpuFacts facts = Probe("flags\t\t: fpu vaes avx512vbmi avx512f xavx2\n");
  EXPECT_FALSE(facts.aes || facts.avx2 || facts.avx512 || facts.avx512_vbmi || facts.sha);
}

TEST(CpuProbe, ReadsArmToo) {
  const CpuFacts facts = Probe("Features\t: fp asimd aes sha2 bf16\n");
  EXPECT_TRUE(facts.aes && facts.sha && facts.bf16);
}

TEST(CpuProbe, FailsWithoutProc) {
  const ScratchDirectory root = *ScratchDirectory::Make();
  EXPECT_FALSE(ProbeCpu(root.path()).ok());
}

}  // namespace
}  // namespace kvcast
