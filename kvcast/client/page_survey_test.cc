// How a publication learns from the engine's pages how they are coded: by jobs, beside all else.
#include "kvcast/client/page_survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/client/client_pair_test.h"
#include "kvcast/client/decode_job.h"
#include "kvcast/client/local_executor.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

constexpr uint64_t kSeeds = 40;
constexpr uint64_t kWaits = 1;  // A seed with which some jobs wait.

class PageSurveyTest : public testing::Test {
 protected:
  ClientPair& Begin(uint64_t seed, const NodeScript& script = {}) {
    pair_.reset();
    executor_.emplace(seed);
    ClientOptions options{TestKind(Rung::kBf16Lossless)};
    options.executor = &*executor_;
    options.work = work_;
    pair_.emplace(moqt::SessionPair::Options(), script, options);
    pair_->Run();
    return *pair_;
  }
  // Until nothing moves any more and all jobs are done.
  void RunAll() {
    do {
      pair_->Run();
      most_waiting_ = std::max(most_waiting_, executor_->waiting());
    } while (executor_->Step());
  }
  // What the node has of the only track that it was given.
  std::vector<std::string> Held() {
    std::vector<std::string> payloads;
    for (const auto& [track, groups] : pair_->node().tracks()) {
      for (const auto& [group, objects] : groups) {
        for (const Object& object : objects) {
          payloads.push_back(object.payload.ToString());
        }
      }
    }
    return payloads;
  }

  const std::vector<BlockHash> blocks_ = TestBlocks(kBlocks);
  const EngineMemory source_{kBlocks, /*seed=*/1};
  WorkLimits work_;
  std::optional<LocalExecutor> executor_;
  std::optional<ClientPair> pair_;
  size_t most_waiting_ = 0;
};

TEST_F(PageSurveyTest, FindsTheSameInWhateverOrderPartsAreLookedAt) {
  std::vector<std::string> first;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    work_.encode_job_bytes = seed % 2 == 0 ? 1 : 1 << 20;
    ClientPair& pair = Begin(seed);
    const OperationId publish = pair.Publish(source_, blocks_);
    RunAll();
    ASSERT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->reason, "") << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
    EXPECT_TRUE(first.empty() || Held() == first) << "seed " << seed;
    first = Held();
  }
}

// So long as that takes, whoever loads does not wait for it.
TEST_F(PageSurveyTest, HasNobodyWaitForIt) {
  // Has jobs done at once that decode, and others when it is told to.
  class DecodesFirst final : public Executor {
   public:
    std::unique_ptr<JobLine> Open() override { return std::make_unique<Line>(*this, own_.Open()); }
    void Release() {
      for (auto& [line, job] : std::exchange(held_, {})) {
        line->Submit(std::move(job));
      }
      releases_ = true;
    }
    size_t held() const { return held_.size(); }

   private:
    class Line final : public JobLine {
     public:
      Line(DecodesFirst& executor, std::unique_ptr<JobLine> own)
          : executor_(&executor), own_(std::move(own)) {}
      void Submit(std::unique_ptr<Job> job) override {
        if (executor_->releases_ || dynamic_cast<DecodeJob*>(job.get()) != nullptr) {
          own_->Submit(std::move(job));
        } else {
          executor_->held_.emplace_back(own_.get(), std::move(job));
        }
      }
      std::unique_ptr<Job> TakeDone() override { return own_->TakeDone(); }
      void Withdraw() override {
        std::erase_if(executor_->held_, [&](const auto& each) { return each.first == own_.get(); });
        own_->Withdraw();
      }

     private:
      DecodesFirst* executor_;
      std::unique_ptr<JobLine> own_;
    };
    LocalExecutor own_;
    std::vector<std::pair<JobLine*, std::unique_ptr<Job>>> held_;
    bool releases_ = false;
  };
  DecodesFirst executor;
  ClientOptions options{TestKind(Rung::kBf16)};
  options.executor = &executor;
  ClientPair pair({}, {}, options);
  const std::vector<BlockHash> others = TestBlocks(kBlocks, /*family=*/1);
  pair.node().Hold(source_, others, 0, kBlocks);
  pair.Run();
  Client::PublishTerms terms;
  terms.rung = Rung::kBf16Lossless;
  const OperationId publish = *pair.client().Publish(blocks_, source_.Pages(), terms, pair.now());
  EngineMemory target(kBlocks, /*seed=*/2);
  const OperationId load = pair.Load(target, others);
  pair.Run();
  EXPECT_GT(executor.held(), 0u);
  EXPECT_FALSE(pair.node().last_publish().has_value());  // Nobody knows yet what to offer.
  ASSERT_TRUE(pair.Loaded(load).has_value());
  EXPECT_TRUE(pair.Loaded(load)->complete());
  executor.Release();
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->listed, kBlocks);
}

TEST_F(PageSurveyTest, IsNotMadeOfWhatTheNodeHolds) {
  ClientPair& pair = Begin(kWaits);
  (void)pair.Publish(source_, blocks_);
  RunAll();
  const size_t run = executor_->run();
  const OperationId again = pair.Publish(source_, blocks_, /*generation=*/8);
  RunAll();
  ASSERT_TRUE(pair.Published(again).has_value());
  EXPECT_EQ(pair.Published(again)->skipped, kBlocks);
  EXPECT_EQ(pair.Published(again)->bytes, 0u);
  EXPECT_EQ(executor_->run(), run);
}

// Others' jobs wait behind it.
TEST_F(PageSurveyTest, HasABoundedNumberOfBytesWait) {
  work_.encode_job_bytes = 1;
  work_.encoded_bytes_max = 3 * TestShape().layers()[0].values() * kPageValueBytes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    (void)pair.Publish(source_, blocks_);
    while (!pair.node().last_publish()) {
      pair.Run();
      most_waiting_ = std::max(most_waiting_, executor_->waiting());
      ASSERT_TRUE(executor_->Step() || pair.node().last_publish());
    }
    RunAll();
  }
  EXPECT_GT(most_waiting_, 1u);
  EXPECT_LE(most_waiting_, 9u);  // Layers differ in what they have of a token: here by 3 to 1.
}

// Its pages may be freed then.
TEST_F(PageSurveyTest, IsOverWithItsPublication) {
  const std::vector<std::function<void(ClientPair&, OperationId)>> ends = {
      [](ClientPair& pair, OperationId publish) { pair.client().Cancel(publish, pair.now()); },
      [](ClientPair& pair, OperationId) {
        pair.pair().server().Close(moqt::SessionCode::kInternalError, "by the test");
        pair.pair().Run();
        pair.client().OnInput(pair.now());
      },
  };
  for (const auto& end : ends) {
    ClientPair& pair = Begin(kWaits);
    const OperationId publish = pair.Publish(source_, blocks_);
    pair.Run();
    ASSERT_FALSE(pair.node().last_publish().has_value());
    ASSERT_GT(executor_->waiting(), 1u);
    executor_->Step();
    const size_t run = executor_->run();
    end(pair, publish);
    ASSERT_TRUE(pair.Published(publish).has_value());
    EXPECT_TRUE(pair.Published(publish)->fault.has_value());
    EXPECT_FALSE(executor_->Step());
    EXPECT_EQ(executor_->run(), run);
  }
}

TEST_F(PageSurveyTest, ThatTakesLongCostsNoPatience) {
  ClientPair& pair = Begin(kWaits);
  const OperationId publish = pair.Publish(source_, blocks_);
  pair.Pass(seconds(100));
  EXPECT_FALSE(pair.Published(publish).has_value());
  RunAll();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->reason, "");
}

// What is ready is published, whenever it is said that no more will be.
TEST_F(PageSurveyTest, GoesOnWhereItsPublicationIsClosed) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ClientPair& pair = Begin(seed);
    EngineMemory engine(kBlocks, /*seed=*/5);
    engine.CopyBlock(source_, 0);
    const OperationId publish =
        *pair.client().Publish(blocks_, engine.Pages(), {{}, {}, {}, /*ready=*/1}, pair.now());
    executor_->Step();
    engine.CopyBlock(source_, 1);
    pair.client().Ready(publish, 2, pair.now());
    executor_->Step();
    pair.client().Close(publish, pair.now());
    RunAll();
    ASSERT_TRUE(pair.Published(publish).has_value()) << "seed " << seed;
    EXPECT_EQ(pair.Published(publish)->reason, "");
    EXPECT_EQ(pair.Published(publish)->blocks, 2u);
    EXPECT_EQ(pair.Published(publish)->listed, 2u);
  }
}

TEST_F(PageSurveyTest, IsInVainWhereSomebodyElsePublishesMeanwhile) {
  ClientPair& other = Begin(kWaits);
  (void)other.Publish(source_, blocks_, /*generation=*/3);
  RunAll();
  const auto held = other.node().tracks();
  ClientPair& pair = Begin(kWaits);
  const OperationId publish = pair.Publish(source_, blocks_);
  pair.Run();
  ASSERT_GT(executor_->waiting(), 0u);
  for (const auto& [track, groups] : held) {
    pair.node().Take(track, groups);
  }
  RunAll();
  ASSERT_TRUE(pair.Published(publish).has_value());
  EXPECT_EQ(pair.Published(publish)->skipped, kBlocks);
  EXPECT_EQ(pair.Published(publish)->reason, "");
  EXPECT_FALSE(pair.node().last_publish().has_value());
}

}  // namespace
}  // namespace kvcast
