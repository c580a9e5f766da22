#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/host/doctor.h"
#include "kvcast/host/doctor_report.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/version.h"

namespace kvcast {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json JsonOf(const CpuFacts& cpu) {
  return {{"model", cpu.model}, {"cores", cpu.cores},   {"cores_max", OrNull(cpu.cores_max)},
          {"aes", cpu.aes},     {"vaes", cpu.vaes},     {"sha", cpu.sha},
          {"avx2", cpu.avx2},   {"avx512", cpu.avx512}, {"avx512_vbmi", cpu.avx512_vbmi},
          {"bf16", cpu.bf16}};
}

Json JsonOf(const MemoryFacts& memory) {
  return {{"total_bytes", memory.total_bytes},
          {"available_bytes", memory.available_bytes},
          {"cgroup_bytes_max", OrNull(memory.cgroup_bytes_max)},
          {"transparent_huge_pages", memory.transparent_huge_pages},
          {"huge_pages", memory.huge_pages},
          {"huge_pages_free", memory.huge_pages_free},
          {"huge_page_bytes", memory.huge_page_bytes}};
}

Json JsonOf(const UdpFacts& udp) {
  return {{"segments", udp.segments},
          {"coalesces", udp.coalesces},
          {"buffer_bytes_wanted", udp.buffer_bytes_wanted},
          {"receive_buffer_bytes", udp.receive_buffer_bytes},
          {"send_buffer_bytes", udp.send_buffer_bytes},
          {"receive_buffer_bytes_max", OrNull(udp.receive_buffer_bytes_max)},
          {"send_buffer_bytes_max", OrNull(udp.send_buffer_bytes_max)}};
}

Json JsonOf(const UringFacts& uring) {
  return {{"available", uring.available},
          {"refusal_errno", uring.refusal},
          {"disabled_sysctl", OrNull(uring.disabled)},
          {"registered_buffers", uring.registered_buffers},
          {"missing_operations", uring.missing}};
}

Json JsonOf(const ProcessLimits& limits) {
  return {{"open_files", limits.open_files},
          {"open_files_max", limits.open_files_max},
          {"locked_bytes", limits.locked_bytes}};
}

Json JsonOf(const DiskFacts& disk) {
  return {{"directory", disk.directory.string()},
          {"file_system", disk.file_system},
          {"free_bytes", disk.free_bytes},
          {"total_bytes", disk.total_bytes},
          {"direct", disk.direct},
          {"write_bytes_per_s", disk.write_bytes_per_s},
          {"read_bytes_per_s", disk.read_bytes_per_s},
          {"sync_median_ns", disk.sync_median.count()},
          {"sync_slowest_ns", disk.sync_slowest.count()}};
}

template <typename T>
Json JsonOf(const Result<T>& facts) {
  return facts.ok() ? JsonOf(*facts) : Json({{"error", facts.error().ToString()}});
}

Json JsonOf(const std::vector<Section>& sections) {
  Json list = Json::array();
  for (const Section& section : sections) {
    for (const Finding& finding : section.findings) {
      list.push_back({{"section", section.title},
                      {"topic", finding.topic},
                      {"verdict", ToString(finding.verdict)},
                      {"measured", finding.measured},
                      {"why", finding.why},
                      {"advice", finding.advice},
                      {"commands", finding.commands},
                      {"permanent", finding.permanent}});
    }
  }
  return list;
}

}  // namespace

std::string DoctorJson(const MachineFacts& facts, const std::vector<Section>& sections) {
  Json libraries = Json::object();
  for (const LibraryVersion& library : facts.libraries) {
    libraries[library.name] = library.version;
  }
  const Json report = {{"version", Version()},
                       {"system", facts.system},
                       {"libraries", libraries},
                       {"usable", Usable(sections)},
                       {"findings", JsonOf(sections)},
                       {"facts",
                        {{"cpu", JsonOf(facts.cpu)},
                         {"memory", JsonOf(facts.memory)},
                         {"udp", JsonOf(facts.udp)},
                         {"io_uring", JsonOf(facts.uring)},
                         {"limits", JsonOf(facts.limits)},
                         {"disk", facts.disk ? JsonOf(*facts.disk) : Json()}}}};
  return JsonText(report);
}

}  // namespace kvcast
