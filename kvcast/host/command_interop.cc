#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kvcast/host/command.h"
#include "kvcast/host/interop_case.h"
#include "kvcast/host/moq_flags.h"
#include "kvcast/host/tap_report.h"
#include "kvcast/host/version.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// What moq-interop-runner expects for a test or a transport that a client does not know.
constexpr int kExitUnsupported = 127;

struct InteropFlags {
  std::string relay = "moqt://localhost:4443";
  std::string test;
  std::string authorities;
  bool list = false;
  bool verbose = false;
  bool disable_verify = false;
};

void Print(const std::string& text) {
  fmt::print("{}", text);
  (void)std::fflush(stdout);
}

std::vector<std::string> About(const InteropFlags& flags) {
  return {"kvcast interop, kvcast/" + Version(), "Relay: " + flags.relay, "Draft: draft-18"};
}

// All of it, with the reason.
int SkipAll(const InteropFlags& flags, const std::vector<std::string>& names,
            const std::string& why) {
  Print(tap::Head(About(flags), names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    Print(tap::Skipped(i + 1, names[i], why));
  }
  return kExitUnsupported;
}

// Nothing can be tried, which the reader of the report must see too.
int FailAll(const InteropFlags& flags, const std::vector<std::string>& names, const Error& error) {
  Print(tap::Head(About(flags), names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    Print(tap::Point(i + 1, false, names[i], {{"message", error.ToString()}}));
  }
  return Failed(error);
}

Result<RelayConnection::Options> Target(const InteropFlags& flags) {
  MoqFlags moq;
  moq.relay = flags.relay;
  moq.trust.authorities = flags.authorities;
  KVCAST_TRY(RelayConnection::Options target, moq.Target());
  if (flags.disable_verify) {
    if (!std::holds_alternative<SystemTrust>(target.trust)) {
      return Error(ErrorCode::kInvalid,
                   "There is something to check the relay's certificate by, and "
                   "--tls-disable-verify says not to: choose.");
    }
    PrintProblem("warning: the relay's certificate is not checked, as --tls-disable-verify asks.");
    target.trust = InsecureSkipVerification{};
  }
  return target;
}

int RunCases(const InteropFlags& flags, const std::vector<InteropCase>& cases,
             const RelayConnection::Options& target, EventLoop& loop) {
  Print(tap::Head(About(flags), cases.size()));
  bool all_passed = true;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (flags.verbose) {
      fmt::print(stderr, "running {}\n", cases[i].name);
    }
    const Instant start = Now();
    InteropFinding finding = cases[i].run(loop, target);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Now() - start).count();
    finding.notes.insert(finding.notes.begin(), {"duration_ms", std::to_string(ms)});
    Print(tap::Point(i + 1, finding.passed, cases[i].name, finding.notes));
    all_passed = all_passed && finding.passed;
  }
  return all_passed ? kExitOk : kExitFailed;
}

int RunInterop(const InteropFlags& flags) {
  std::vector<InteropCase> cases;
  std::vector<std::string> names;
  for (const InteropCase& one : InteropCases()) {
    if (flags.list) {
      fmt::print("{}\n", one.name);
    } else if (flags.test.empty() || flags.test == one.name) {
      cases.push_back(one);
      names.emplace_back(one.name);
    }
  }
  if (flags.list) {
    return kExitOk;
  }
  if (cases.empty()) {
    return SkipAll(flags, {flags.test}, "this client has no such test");
  }
  const Result<RelayConnection::Options> target = Target(flags);
  if (!target.ok()) {
    return target.error().code() == ErrorCode::kUnsupported
               ? SkipAll(flags, names, target.error().message())
               : FailAll(flags, names, target.error());
  }
  const auto loop = EventLoop::Make();
  return loop.ok() ? RunCases(flags, cases, *target, **loop) : FailAll(flags, names, loop.error());
}

}  // namespace

void AddInteropCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "interop",
      "Test a MoQT relay, with the cases and the output of moq-interop-runner\n\n"
      "A test client as that project wants them: draft-18 over raw QUIC, results as TAP version 14 "
      "on stdout. Options may also come as the environment variables RELAY_URL, TESTCASE, "
      "TLS_DISABLE_VERIFY and VERBOSE.\n\n"
      "Exit status: 0 if all tests passed, 1 if one failed or nothing could be tried, 127 if the "
      "test or the transport is not supported: https:// (WebTransport) is not.");
  command->group(kMoqCommands);
  command->footer(
      "kvcast interop --relay moqt://relay.example:4433\n"
      "kvcast interop --relay moqt://relay.example:4433 --test setup-only\n"
      "RELAY_URL=moqt://relay.example:4433 TESTCASE=announce-subscribe kvcast interop");
  const auto flags = std::make_shared<InteropFlags>();
  command
      ->add_option("-r,--relay", flags->relay,
                   "The relay, with #FINGERPRINT to pin its certificate")
      ->type_name("URL")
      ->envname("RELAY_URL")
      ->capture_default_str();
  command->add_option("-t,--test", flags->test, "Run this test alone")
      ->type_name("NAME")
      ->envname("TESTCASE");
  command->add_flag("-l,--list", flags->list, "List the tests");
  command->add_flag("-v,--verbose", flags->verbose, "Say on stderr what is being done")
      ->envname("VERBOSE");
  command
      ->add_option("--ca", flags->authorities,
                   "The authorities to trust with the relay's certificate, in a PEM file")
      ->type_name("FILE")
      ->default_str("those this machine trusts");
  command
      ->add_flag("--tls-disable-verify", flags->disable_verify,
                 "Take any certificate: insecure, and said on stderr each time")
      ->envname("TLS_DISABLE_VERIFY");
  command->callback([flags, exit_status] { *exit_status = RunInterop(*flags); });
}

}  // namespace kvcast
