#include <fmt/format.h>

#include "kvcast/host/doctor.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

Finding Segmentation(const UdpFacts& udp) {
  Finding finding{"UDP segmentation (GSO)", Verdict::kGood, "one system call sends many datagrams",
                  "QUIC sends datagrams of about 1,450 bytes. Handing them to the kernel one by "
                  "one costs more time than encrypting them."};
  if (!udp.segments) {
    finding.verdict = Verdict::kMissing;
    finding.measured = "the kernel does not cut one send into many datagrams";
    finding.advice =
        "Linux has this since 4.18, also for plain container runtimes. A sandbox that emulates "
        "the kernel (gVisor, for one) does not: run kvcast outside of it, or on its host's "
        "network.";
  }
  return finding;
}

Finding Coalescing(const UdpFacts& udp) {
  Finding finding{"UDP coalescing (GRO)", Verdict::kGood, "one system call receives many datagrams",
                  "The receiving side of the same: without it a node spends its time in the kernel "
                  "and not on objects."};
  if (!udp.coalesces) {
    finding.verdict = Verdict::kMissing;
    finding.measured = "every datagram is received by a system call of its own";
    finding.advice =
        "Linux has this since 5.0. If the kernel is newer, something between it and kvcast, a "
        "sandbox or a filter, takes datagrams apart.";
  }
  return finding;
}

// Both buffers are the same story with different names.
Finding Buffer(std::string_view side, std::string_view setting, uint64_t granted, uint64_t wanted,
               std::string_view why) {
  Finding finding{fmt::format("{} buffer", side), Verdict::kGood,
                  fmt::format("{} granted", HumanBytes(granted)), std::string(why)};
  if (granted < wanted) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.measured =
        fmt::format("{} of the {} that kvcast asks for", HumanBytes(granted), HumanBytes(wanted));
    finding.advice = fmt::format("Raise {}, as root and outside of containers.", setting);
    finding.commands = {fmt::format("sysctl -w {}={}", setting, wanted)};
    finding.permanent = {
        fmt::format("echo '{} = {}' >> /etc/sysctl.d/60-kvcast.conf", setting, wanted)};
  }
  return finding;
}

}  // namespace

Section JudgeNetwork(const Result<UdpFacts>& udp) {
  Section section{"Network", {}};
  if (!udp.ok()) {
    section.findings.push_back({"UDP", Verdict::kBlocking, udp.error().ToString(),
                                "kvcast speaks QUIC, and QUIC is UDP.",
                                "Allow this process UDP sockets: look for a missing loopback "
                                "interface (ip link set lo up), a seccomp filter or a unit with "
                                "RestrictAddressFamilies=."});
    return section;
  }
  section.findings = {
      Segmentation(*udp), Coalescing(*udp),
      Buffer("Receive", "net.core.rmem_max", udp->receive_buffer_bytes, udp->buffer_bytes_wanted,
             "What arrives while kvcast is busy waits here, and what does not fit is lost and sent "
             "again. 8 MiB hold what one fast peer sends in a few milliseconds."),
      Buffer("Send", "net.core.wmem_max", udp->send_buffer_bytes, udp->buffer_bytes_wanted,
             "A full buffer stops a sender until the network card has caught up, so a small one "
             "leaves gaps on a fast link.")};
  return section;
}

}  // namespace kvcast
