#include "kvcast/host/admin_forget.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/base/json.h"
#include "kvcast/host/admin_port.h"
#include "kvcast/host/admin_secret.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/token_file.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/http_call.h"
#include "kvcast/io/loop_thread.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

using namespace std::chrono_literals;

const char* const kSecret = "kvcast_admin_secret";

relay::TokenTable::Entry HolderOf(const std::string& tenant, const std::string& may) {
  return {tenant,
          *relay::Grant::Of(std::vector<std::string>{tenant}, std::vector<std::string>{may})};
}

// A node with an admin port, which knows one who may forget for acme and one who may not.
class ForgettingNode : public testing::Test {
 protected:
  ForgettingNode() {
    NodeServer::Options options;
    options.listen = SocketAddress::Loopback(0);
    options.relay.ram_bytes = size_t{64} << 20;
    options.relay.access.required = true;
    options.relay.access.tokens.Add(Sha256::Of("forgets"), HolderOf("acme", "forget"));
    options.relay.access.tokens.Add(Sha256::Of("reads"), HolderOf("acme", "read"));
    options.keep_forgotten = [this](const relay::ForgetMemory& memory) {
      kept_ = memory;
      return Result<void>();
    };
    FillRandom(options.relay.node);
    FillRandom(options.relay.boot);
    NodeConfig config;
    config.admin = "127.0.0.1:0";
    thread_->Run([&] {
      node_ = *NodeServer::Start(thread_->loop(), options, credentials_, metrics_, nullptr);
      health_ = std::make_unique<NodeHealth>(thread_->loop(), *node_, NodeHealth::Options(),
                                             metrics_, nullptr);
      admin_ = *AdminPort::Open(thread_->loop(), config, *node_, *health_, metrics_, kSecret);
    });
  }
  ~ForgettingNode() override {
    thread_->Run([&] {
      admin_.reset();
      health_.reset();
      node_.reset();
    });
  }

  HttpAnswer Post(const std::string& token, const std::string& body) {
    return *CallHttp(admin_->local(), {"POST", "/forget", token, body}, 30s);
  }
  size_t KeptLists() {
    size_t count = 0;
    thread_->Run([&] { count = kept_.lists.size(); });
    return count;
  }

  ScratchDirectory scratch_ = *ScratchDirectory::Make();
  ServerCredentials credentials_ = *ServerCredentials::Development(scratch_.path());
  Metrics metrics_;
  relay::ForgetMemory kept_;  // The loop's.
  std::unique_ptr<LoopThread> thread_ = *LoopThread::Make();
  std::unique_ptr<NodeServer> node_;
  std::unique_ptr<NodeHealth> health_;
  std::unique_ptr<AdminPort> admin_;
};

TEST_F(ForgettingNode, AsksWhoComes) {
  EXPECT_EQ(Post("", R"({"tenant":"acme"})").status, 401);
  EXPECT_EQ(Post("wrong", R"({"tenant":"acme"})").status, 403);
  EXPECT_EQ(Post("reads", R"({"tenant":"acme"})").status, 403);
  EXPECT_EQ(Post("forgets", R"({"tenant":"globex"})").status, 403);
  EXPECT_EQ(KeptLists(), 0U);
  EXPECT_EQ(Post("forgets", R"({"tenant":"acme"})").status, 200);
  EXPECT_EQ(Post(kSecret, R"({"tenant":"globex"})").status, 200);
  EXPECT_EQ(KeptLists(), 2U);
}

TEST_F(ForgettingNode, TakesOtherTokensFromNowOn) {
  thread_->Run([&] {
    relay::TokenTable tokens;
    tokens.Add(Sha256::Of("new"), HolderOf("acme", "admin"));
    admin_->ReplaceTokens(std::move(tokens));
  });
  EXPECT_EQ(Post("forgets", R"({"tenant":"acme"})").status, 403);
  EXPECT_EQ(Post("new", R"({"tenant":"acme"})").status, 200);
}

TEST_F(ForgettingNode, RefusesWhatItDoesNotUnderstandRatherThanForgetTooMuch) {
  for (const char* body :
       {"", "[]", "{}", R"({"tenant":"A b"})", R"({"tenant":"acme","modle":"m"})",
        R"({"tenant":"acme","model":""})", R"({"tenant":"acme","prefix":""})",
        R"({"tenant":"acme","prefix":"12"})", R"({"tenant":"acme","model":5})",
        R"({"tenant":"acme","dry_run":"yes"})"}) {
    EXPECT_EQ(Post(kSecret, body).status, 400) << body;
  }
  EXPECT_EQ(KeptLists(), 0U);
  EXPECT_EQ(CallHttp(admin_->local(), {"GET", "/forget", kSecret, ""}, 30s)->status, 405);
  EXPECT_EQ(CallHttp(admin_->local(), {"POST", "/status.json", kSecret, ""}, 30s)->status, 405);
}

TEST_F(ForgettingNode, TellsWhatCameOfIt) {
  const Json told = Json::parse(Post(kSecret, R"({"tenant":"acme","dry_run":true})").body);
  EXPECT_TRUE(told["dry_run"].get<bool>());
  EXPECT_FALSE(told["complete"].get<bool>());
  EXPECT_EQ(KeptLists(), 0U);
  const Json done = Json::parse(Post(kSecret, R"({"tenant":"acme"})").body);
  EXPECT_TRUE(done["complete"].get<bool>());
  for (const char* key : {"tracks", "blocks", "objects", "bytes", "pending", "upstreams"}) {
    EXPECT_EQ(done[key].get<uint64_t>(), 0U) << key;
  }
}

TEST_F(ForgettingNode, IsFoundByTheCommandInItsState) {
  const std::string state = scratch_.path().string();
  const auto forget = [&](std::vector<const char*> more) {
    more.insert(more.begin(), {"forget", "--tenant", "acme", "--state-dir", state.c_str()});
    return RunKvcast(more);
  };
  EXPECT_EQ(forget({}).status, kExitFailed);
  EXPECT_NE(forget({}).err.find("No node with an admin port"), std::string::npos);
  ASSERT_TRUE(WriteAdminSecret(scratch_.path(), kSecret, admin_->local().ToString()).ok());
  const CommandOutcome dry = forget({"--dry-run"});
  EXPECT_EQ(dry.status, kExitOk) << dry.err;
  EXPECT_EQ(dry.out, "would forget 0 tracks of tenant acme: 0 blocks, 0 objects, 0 bytes\n");
  EXPECT_EQ(KeptLists(), 0U);
  const CommandOutcome done = forget({"--json", "--model", "llama"});
  EXPECT_EQ(done.status, kExitOk) << done.err;
  EXPECT_TRUE(Json::parse(done.out)["complete"].get<bool>());
  EXPECT_EQ(KeptLists(), 1U);
  const std::string token = (scratch_.path() / "token").string();
  ASSERT_TRUE(WriteFileAtomically(token, AsBytes("reads\n")).ok());
  const CommandOutcome refused = forget({"--token-file", token.c_str()});
  EXPECT_EQ(refused.status, kExitFailed);
  EXPECT_NE(refused.err.find("403"), std::string::npos) << refused.err;
  EXPECT_NE(forget({"--admin", "192.0.2.1:4480"}).err.find("another machine"), std::string::npos);
}

}  // namespace
}  // namespace kvcast
