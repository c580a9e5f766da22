#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/local_node_test.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

// Held back as they are in a node, but from before it starts until after it has stopped: one that
// comes early or late would end the tests.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsHeldBack() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Does something once the node that this thread is about to run is there, and then stops it.
std::thread StopWhenReady(const std::string& ready_file, std::function<void()> before) {
  return std::thread([ready_file, before = std::move(before), node_thread = ::pthread_self()] {
    while (!std::filesystem::exists(ready_file)) {
      std::this_thread::yield();
    }
    before();
    // Not to the process: other tests have left threads. Nor does it end this one, which holds it
    // back. NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread)
    ::pthread_kill(node_thread, SIGTERM);
  });
}

// A node in this process that keeps nothing in the home of whoever runs the tests.
CommandOutcome RunServe(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"serve", "--cache-dir", "none"});
  return RunKvcast(std::move(arguments));
}

TEST(ServeCommand, SaysWhereItIsAndStopsWhenAsked) {
  const SignalsHeldBack held_back;
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const std::string ready = (scratch / "ready").string();
  std::string address;
  std::thread stopper = StopWhenReady(ready, [&] { address = *ReadFile(ready, 1000); });
  const CommandOutcome outcome =
      RunServe({"--listen", "127.0.0.1:0", "--ram", "64MiB", "--state-dir", state.c_str(),
                "--ready-file", ready.c_str()});
  stopper.join();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(ready));
  ASSERT_EQ(address.size(), address.find('#') + 66) << address;
  EXPECT_TRUE(address.starts_with("127.0.0.1:"));
  EXPECT_EQ(address.back(), '\n');
  address.pop_back();
  for (const std::string& part :
       {address, std::string("64 MiB for blocks, 60 MiB of it set aside, "), state}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in " << outcome.out;
  }
}

// Listening everywhere is no address that a client could use.
TEST(ServeCommand, SaysWhatToPutInPlaceOfEveryAddress) {
  const SignalsHeldBack held_back;
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string folder = (scratch / "certs").string();
  ASSERT_EQ(RunKvcast({"cert", "authority", folder.c_str()}).status, kExitOk);
  ASSERT_EQ(RunKvcast({"cert", "node", folder.c_str(), "--name", "a.example"}).status, kExitOk);
  const std::string certificate = folder + "/a.example.pem";
  const std::string key = folder + "/a.example.key";
  const std::string state = (scratch / "state").string();
  const std::string ready = (scratch / "ready").string();
  const std::string tokens = (scratch / "tokens").string();
  ASSERT_EQ(RunKvcast({"token", "new", "--tenant", "acme", "--tokens", tokens.c_str()}).status,
            kExitOk);
  std::thread stopper = StopWhenReady(ready, [] {});
  const CommandOutcome outcome =
      RunServe({"--listen", "0.0.0.0:0", "--ram", "64MiB", "--state-dir", state.c_str(), "--cert",
                certificate.c_str(), "--key", key.c_str(), "--tokens", tokens.c_str(),
                "--ready-file", ready.c_str()});
  stopper.join();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("only clients with one of 1 token in --tokens"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("this address whole"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("in place of 0.0.0.0"), std::string::npos) << outcome.out;
}

TEST(ServeCommand, RefusesADirectoryForLogsThatThereIsNot) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const std::string none = (scratch / "none").string();
  const CommandOutcome outcome =
      RunServe({"--listen", "127.0.0.1:0", "--ram", "64MiB", "--state-dir", state.c_str(),
                "--qlog-dir", none.c_str()});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_NE(outcome.err.find("--qlog-dir"), std::string::npos) << outcome.err;
}

TEST(ServeCommand, RefusesReservationsThatCannotBe) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const auto refusal = [&](std::initializer_list<const char*> reservations) {
    std::vector<const char*> words = {"--listen", "127.0.0.1:0", "--ram",
                                      "64MiB",    "--state-dir", state.c_str()};
    for (const char* reservation : reservations) {
      words.insert(words.end(), {"--reserve", reservation});
    }
    const CommandOutcome outcome = RunServe(words);
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_NE(outcome.err.find("--reserve"), std::string::npos) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(refusal({"acme=60MiB", "umbrella=5MiB"}).find("umbrella"), std::string::npos);
  EXPECT_NE(refusal({"acme=1MiB", "acme=2MiB"}).find("twice"), std::string::npos);
  refusal({"acme"});
  refusal({"acme=much"});
  refusal({"=1MiB"});
  refusal({"Acme/model=1MiB"});
}

// What a script waits for belongs to the node that wrote it.
TEST(ServeCommand, LeavesTheReadyFileOfAnotherNode) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const std::string ready = (scratch / "ready").string();
  const LocalNode running;
  ASSERT_TRUE(WriteFileAtomically(ready, AsBytes("another node")).ok());
  const std::string taken = running.address().host_and_port;
  const CommandOutcome outcome =
      RunServe({"--listen", taken.c_str(), "--ram", "64MiB", "--state-dir", state.c_str(),
                "--ready-file", ready.c_str()});
  EXPECT_EQ(outcome.status, kExitFailed) << outcome.out;
  EXPECT_EQ(*ReadFile(ready, 1000), "another node");
}

TEST(ServeCommand, LeavesAReadyFileThatIsNoLongerItsOwn) {
  const SignalsHeldBack held_back;
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const std::string ready = (scratch / "ready").string();
  std::thread stopper = StopWhenReady(
      ready, [&] { EXPECT_TRUE(WriteFileAtomically(ready, AsBytes("another node")).ok()); });
  const CommandOutcome outcome =
      RunServe({"--listen", "127.0.0.1:0", "--ram", "64MiB", "--state-dir", state.c_str(),
                "--ready-file", ready.c_str()});
  stopper.join();
  EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_EQ(*ReadFile(ready, 1000), "another node");
}

// A node that nobody can find must not say that it serves.
TEST(ServeCommand, DoesNotServeWithoutTheReadyFile) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const std::string pipe = (scratch / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& ready : {(scratch / "absent/ready").string(), pipe}) {
    const CommandOutcome outcome =
        RunServe({"--listen", "127.0.0.1:0", "--ram", "64MiB", "--state-dir", state.c_str(),
                  "--ready-file", ready.c_str()});
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(scratch.path().string()), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(ServeCommand, KeepsTheDevelopmentCertificateOnThisMachine) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const CommandOutcome outcome = RunServe({"--listen", "0.0.0.0:0", "--state-dir", state.c_str()});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_NE(outcome.err.find("--cert and --key"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(state));
}

// What other machines can reach has to ask who they are.
TEST(ServeCommand, ListensElsewhereOnlyIfItKnowsItsClients) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string folder = (scratch / "certs").string();
  ASSERT_EQ(RunKvcast({"cert", "authority", folder.c_str()}).status, kExitOk);
  ASSERT_EQ(RunKvcast({"cert", "node", folder.c_str(), "--name", "a.example"}).status, kExitOk);
  const std::string certificate = folder + "/a.example.pem";
  const std::string key = folder + "/a.example.key";
  const std::string state = (scratch / "state").string();
  const CommandOutcome outcome =
      RunKvcast({"serve", "--listen", "0.0.0.0:0", "--ram", "64MiB", "--state-dir", state.c_str(),
                 "--cert", certificate.c_str(), "--key", key.c_str()});
  EXPECT_EQ(outcome.status, kExitUsage);
  for (const char* part : {"0.0.0.0:0", "--tokens", "kvcast token new", "--client-ca"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in " << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST(ServeCommand, SaysWhatIsWrong) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string state = (scratch / "state").string();
  const auto run = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", state.c_str()});
    return RunServe(arguments);
  };
  EXPECT_EQ(run({"--ram", "1MiB"}).status, kExitUsage);
  const CommandOutcome large = run({"--ram", "1000000GiB"});
  EXPECT_EQ(large.status, kExitUsage);
  EXPECT_NE(large.err.find("is more than the"), std::string::npos) << large.err;
  EXPECT_EQ(run({"--ram", "4GB"}).status, kExitUsage);
  EXPECT_NE(run({"--ram", "4GB"}).err.find("as in 4GiB"), std::string::npos);
  const CommandOutcome port = run({"--listen", "127.0.0.1:70000"});
  EXPECT_NE(port.status, kExitOk);
  EXPECT_NE(port.err.find("from 0 to 65535"), std::string::npos) << port.err;
  EXPECT_EQ(run({"--certificate", "a.pem"}).status, kExitUsage);
  const CommandOutcome missing = run({"--certificate", "absent.pem", "--key", "absent.key"});
  EXPECT_EQ(missing.status, kExitFailed);
  EXPECT_NE(missing.err.find("absent"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace kvcast
