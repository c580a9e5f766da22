#include "kvcast/host/doctor.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <ostream>

#include "kvcast/base/source_folder_test.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kGib = uint64_t{1} << 30;

// A machine that leaves nothing to be desired.
MachineFacts GoodMachine() {
  MachineFacts facts;
  facts.cpu->cores = 8;
  facts.cpu->aes = facts.cpu->vaes = facts.cpu->sha = true;
  facts.cpu->avx2 = facts.cpu->avx512 = facts.cpu->avx512_vbmi = true;
  facts.memory->total_bytes = 64 * kGib;
  facts.memory->available_bytes = 60 * kGib;
  facts.memory->transparent_huge_pages = "madvise";
  facts.udp->segments = facts.udp->coalesces = true;
  facts.udp->buffer_bytes_wanted = 8 * kMib;
  facts.udp->receive_buffer_bytes = facts.udp->send_buffer_bytes = 8 * kMib;
  facts.uring.available = facts.uring.registered_buffers = true;
  facts.uring.registered_buffer_bytes = 64 * kMib;
  facts.limits = {1024, 1 << 20, 8 * kMib};
  DiskFacts disk;
  disk.directory = "/var/lib/kvcast";
  disk.file_system = "xfs";
  disk.free_bytes = 900 * kGib;
  disk.total_bytes = 1000 * kGib;
  disk.direct = true;
  disk.write_bytes_per_s = 2e9;
  disk.read_bytes_per_s = 4e9;
  disk.sync_median = milliseconds(1);
  disk.sync_slowest = milliseconds(2);
  facts.disk = disk;
  facts.disk_named = true;
  return facts;
}

std::vector<Finding> NotGood(const MachineFacts& facts) {
  std::vector<Finding> findings;
  for (const Section& section : Judge(facts)) {
    for (const Finding& finding : section.findings) {
      if (finding.verdict != Verdict::kGood) {
        findings.push_back(finding);
      }
    }
  }
  return findings;
}

TEST(Doctor, LeavesAGoodMachineAlone) {
  EXPECT_TRUE(NotGood(GoodMachine()).empty());
  EXPECT_TRUE(Usable(Judge(GoodMachine())));
}

TEST(Doctor, SaysOfEverythingWhatWasMeasuredAndWhyItMatters) {
  for (const Section& section : Judge(GoodMachine())) {
    for (const Finding& finding : section.findings) {
      EXPECT_FALSE(finding.measured.empty()) << finding.topic;
      EXPECT_FALSE(finding.why.empty()) << finding.topic;
      EXPECT_TRUE(finding.advice.empty()) << finding.topic;
    }
  }
}

// One thing wrong with a machine, and what the doctor has to say to it.
struct Ailment {
  const char* name;
  std::function<void(MachineFacts&)> inflict;
  const char* topic;
  Verdict verdict;
  const char* advice;  // A part of the advice or of a command.
};
void PrintTo(const Ailment& ailment, std::ostream* out) { *out << ailment.name; }

const Ailment kAilments[] = {
    {"NoUdp", [](auto& m) { m.udp = Error(ErrorCode::kMachine, "refused"); }, "UDP",
     Verdict::kBlocking, "loopback"},
    {"NoSegmentation", [](auto& m) { m.udp->segments = false; }, "UDP segmentation (GSO)",
     Verdict::kMissing, "4.18"},
    {"NoCoalescing", [](auto& m) { m.udp->coalesces = false; }, "UDP coalescing (GRO)",
     Verdict::kMissing, "5.0"},
    {"SmallReceiveBuffer", [](auto& m) { m.udp->receive_buffer_bytes = 212992; }, "Receive buffer",
     Verdict::kCouldBeBetter, "sysctl -w net.core.rmem_max=8388608"},
    {"SmallSendBuffer", [](auto& m) { m.udp->send_buffer_bytes = 212992; }, "Send buffer",
     Verdict::kCouldBeBetter, "sysctl -w net.core.wmem_max=8388608"},
    {"NoProc", [](auto& m) { m.cpu = Error(ErrorCode::kMachine, "no /proc"); }, "Processor",
     Verdict::kCouldBeBetter, "Mount /proc"},
    {"OneCore", [](auto& m) { m.cpu->cores = 1; }, "Cores", Verdict::kCouldBeBetter, "taskset"},
    {"SmallQuota", [](auto& m) { m.cpu->cores_max = 1.5; }, "Cores", Verdict::kCouldBeBetter,
     "CPUQuota="},
    {"NoAes", [](auto& m) { m.cpu->aes = false; }, "Encryption", Verdict::kMissing, "-cpu host"},
    {"NoVbmi", [](auto& m) { m.cpu->avx512_vbmi = false; }, "Compression", Verdict::kCouldBeBetter,
     "-cpu host"},
    {"NoVectors", [](auto& m) { m.cpu->avx512_vbmi = m.cpu->avx2 = false; }, "Compression",
     Verdict::kMissing, "Int8"},
    {"NoSha", [](auto& m) { m.cpu->sha = false; }, "Hashing", Verdict::kCouldBeBetter,
     "first start"},
    {"NoMeminfo", [](auto& m) { m.memory = Error(ErrorCode::kMachine, "no /proc"); }, "Memory",
     Verdict::kCouldBeBetter, "Mount /proc"},
    {"LittleMemory", [](auto& m) { m.memory->available_bytes = kGib; }, "Memory",
     Verdict::kCouldBeBetter, "4 GiB"},
    {"SmallGroup", [](auto& m) { m.memory->cgroup_bytes_max = kGib; }, "Memory",
     Verdict::kCouldBeBetter, "MemoryMax="},
    {"NoHugePages", [](auto& m) { m.memory->transparent_huge_pages = "never"; }, "Huge pages",
     Verdict::kCouldBeBetter, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"},
    {"KernelWithoutHugePages", [](auto& m) { m.memory->transparent_huge_pages = ""; }, "Huge pages",
     Verdict::kCouldBeBetter, "CONFIG_TRANSPARENT_HUGEPAGE"},
    {"UringSwitchedOff",
     [](auto& m) {
       m.uring = {};
       m.uring.refusal = EPERM;
       m.uring.disabled = 2;
     },
     "io_uring", Verdict::kMissing, "sysctl -w kernel.io_uring_disabled=0"},
    {"UringFiltered",
     [](auto& m) {
       m.uring = {};
       m.uring.refusal = EPERM;
       m.uring.disabled = 0;
     },
     "io_uring", Verdict::kMissing, "seccomp"},
    {"UringWithoutMemory",
     [](auto& m) {
       m.uring = {};
       m.uring.refusal = ENOMEM;
     },
     "io_uring", Verdict::kMissing, "ulimit -l"},
    {"KernelWithoutUring",
     [](auto& m) {
       m.uring = {};
       m.uring.refusal = ENOSYS;
     },
     "io_uring", Verdict::kMissing, "CONFIG_IO_URING"},
    {"OldUring", [](auto& m) { m.uring.missing = {"send without copying"}; }, "io_uring",
     Verdict::kCouldBeBetter, "6.1"},
    {"NoPinning", [](auto& m) { m.uring.registered_buffers = false; }, "Pinned buffers",
     Verdict::kCouldBeBetter, "LimitMEMLOCK=infinity"},
    {"FewFiles", [](auto& m) { m.limits.open_files_max = 1024; }, "Open files",
     Verdict::kCouldBeBetter, "ulimit -n 4096"},
    {"NoDisk", [](auto& m) { m.disk = Error(ErrorCode::kMachine, "read-only"); }, "Disk",
     Verdict::kBlocking, "--disk DIR"},
    {"NoDirectAccess", [](auto& m) { (*m.disk)->direct = false; }, "Direct access",
     Verdict::kMissing, "xfs"},
    {"SlowReads", [](auto& m) { (*m.disk)->read_bytes_per_s = 2e8; }, "Speed",
     Verdict::kCouldBeBetter, "NVMe"},
    {"SlowWrites", [](auto& m) { (*m.disk)->write_bytes_per_s = 2e8; }, "Speed",
     Verdict::kCouldBeBetter, "iostat"},
    {"SlowSyncs", [](auto& m) { (*m.disk)->sync_median = milliseconds(20); }, "Durability",
     Verdict::kCouldBeBetter, "loss of power"},
    {"MemoryAsDisk", [](auto& m) { (*m.disk)->file_system = "tmpfs"; }, "File system",
     Verdict::kCouldBeBetter, "restart"},
    {"RemoteDisk", [](auto& m) { (*m.disk)->file_system = "nfs"; }, "File system",
     Verdict::kCouldBeBetter, "bucket"},
    {"FullDisk", [](auto& m) { (*m.disk)->free_bytes = kGib; }, "Space", Verdict::kCouldBeBetter,
     "du -xh --max-depth=1 '/var/lib/kvcast'"},
    {"FullDiskOfAnOddName",
     [](auto& m) {
       (*m.disk)->free_bytes = kGib;
       (*m.disk)->directory = "/tom's disk";
     },
     "Space", Verdict::kCouldBeBetter, R"('/tom'\''s disk')"},
};

class DoctorAilment : public testing::TestWithParam<Ailment> {};

// Exactly one finding for one ailment: advice that comes without a cause is not believed for long.
TEST_P(DoctorAilment, IsFoundWithItsAdvice) {
  MachineFacts facts = GoodMachine();
  GetParam().inflict(facts);
  const std::vector<Finding> findings = NotGood(facts);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.topic, GetParam().topic);
  EXPECT_EQ(finding.verdict, GetParam().verdict);
  std::string advice = finding.advice;
  for (const auto* commands : {&finding.commands, &finding.permanent}) {
    for (const std::string& command : *commands) {
      advice += "\n" + command;
    }
  }
  EXPECT_NE(advice.find(GetParam().advice), std::string::npos) << advice;
  EXPECT_EQ(Usable(Judge(facts)), GetParam().verdict != Verdict::kBlocking);
}

INSTANTIATE_TEST_SUITE_P(All, DoctorAilment, testing::ValuesIn(kAilments),
                         [](const auto& ailment) { return std::string(ailment.param.name); });

// A command that helps until the next start comes with one that helps for good.
TEST(Doctor, MakesSettingsPermanent) {
  for (const Ailment& ailment : kAilments) {
    MachineFacts facts = GoodMachine();
    ailment.inflict(facts);
    for (const Finding& finding : NotGood(facts)) {
      for (const std::string& command : finding.commands) {
        EXPECT_TRUE(!finding.permanent.empty() || command.starts_with("du ")) << command;
      }
    }
  }
}

// Memory in them could not be given back for anything else, so a node uses none.
TEST(Doctor, DoesNotTakeReservedHugePagesInstead) {
  MachineFacts facts = GoodMachine();
  facts.memory->transparent_huge_pages = "never";
  facts.memory->huge_pages = facts.memory->huge_pages_free = 512;
  ASSERT_EQ(NotGood(facts).size(), 1u);
  EXPECT_EQ(NotGood(facts)[0].topic, "Huge pages");
}

// Whoever stands in a directory that is not theirs has not asked for anything impossible.
TEST(Doctor, DoesNotInsistOnADiskThatNobodyNamed) {
  MachineFacts facts = GoodMachine();
  facts.disk = Error(ErrorCode::kMachine, "read-only");
  facts.disk_named = false;
  EXPECT_TRUE(Usable(Judge(facts)));
  ASSERT_EQ(NotGood(facts).size(), 1u);
  EXPECT_EQ(NotGood(facts)[0].measured, "not tested: read-only");
}

// The report sends its reader there.
TEST(Doctor, HasAGuideThatExplainsEveryTopic) {
  const auto guide = ReadFile(std::string(kSourceFolder) + "/docs/guides/doctor.md", 1 << 20);
  ASSERT_TRUE(guide.ok()) << guide.error().ToString();
  for (const Section& section : Judge(GoodMachine())) {
    for (const Finding& finding : section.findings) {
      EXPECT_NE(guide->find(finding.topic), std::string::npos) << finding.topic;
    }
  }
}

TEST(Doctor, SkipsTheDiskWhenToldTo) {
  MachineFacts facts = GoodMachine();
  facts.disk.reset();
  for (const Section& section : Judge(facts)) {
    EXPECT_FALSE(section.title.starts_with("Disk"));
  }
}

}  // namespace
}  // namespace kvcast
