#include "kvcast/io/worker_team.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "kvcast/io/loop_until_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;

constexpr Duration kPatience = seconds(30);

class AnyJob final : public Job {
 public:
  explicit AnyJob(std::function<void()> work) : work_(std::move(work)) {}
  void Run() override { work_(); }

 private:
  std::function<void()> work_;
};

std::unique_ptr<Job> JobOf(std::function<void()> work) {
  return std::make_unique<AnyJob>(std::move(work));
}

class Workers : public testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Make();
  std::shared_ptr<WorkerTeam> team_ = std::make_shared<WorkerTeam>(2);
  int calls_ = 0;
  std::optional<TeamExecutor> executor_{std::in_place, team_, *loop_, [this] { ++calls_; }};
};

TEST_F(Workers, DoJobsElsewhereAndTellTheLoop) {
  const std::unique_ptr<JobLine> line = executor_->Open();
  std::vector<int> results(1000);
  std::atomic<bool> here = false;
  for (int i = 0; i < 1000; ++i) {
    line->Submit(JobOf([&results, &here, i, own = std::this_thread::get_id()] {
      results[static_cast<size_t>(i)] = i;
      here = here || std::this_thread::get_id() == own;
    }));
  }
  size_t done = 0;
  ASSERT_TRUE(LoopUntil(*loop_, kPatience, [&] {
    while (line->TakeDone() != nullptr) {
      ++done;
    }
    return done == 1000 && calls_ > 0;
  }));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(results[static_cast<size_t>(i)], i);
  }
  EXPECT_FALSE(here);
  EXPECT_LE(calls_, 1000);
}

// What ends while the loop looks at what has ended is not forgotten.
TEST_F(Workers, TellOfEveryJobOnlyByCalling) {
  const std::unique_ptr<JobLine> line = executor_->Open();
  for (int round = 1; round <= 2000; ++round) {
    line->Submit(JobOf([] {}));
    ASSERT_TRUE(LoopUntil(*loop_, kPatience, [&, before = calls_] { return calls_ > before; }));
    size_t done = 0;
    while (line->TakeDone() != nullptr) {
      ++done;
    }
    ASSERT_EQ(done, 1u) << round;
  }
}

TEST_F(Workers, WorkSideBySide) {
  const std::unique_ptr<JobLine> line = executor_->Open();
  std::promise<void> first;
  std::promise<void> second;
  line->Submit(JobOf([&] {
    first.set_value();
    second.get_future().wait();
  }));
  line->Submit(JobOf([&] {
    first.get_future().wait();
    second.set_value();
  }));
  size_t done = 0;
  EXPECT_TRUE(LoopUntil(*loop_, kPatience, [&] {
    done += line->TakeDone() != nullptr ? 1U : 0U;
    return done == 2;
  }));
}

// Whose memory it is that jobs touch may free it when their line is withdrawn.
TEST_F(Workers, TouchNothingOfALineThatIsWithdrawn) {
  const std::unique_ptr<JobLine> other = executor_->Open();
  std::atomic<int> others = 0;
  for (int round = 0; round < 300; ++round) {
    const std::unique_ptr<JobLine> line = executor_->Open();
    auto memory = std::make_unique<std::vector<int>>(64);
    for (int i = 0; i < 64; ++i) {
      line->Submit(JobOf([&bytes = *memory, i] {
        for (int again = 0; again < 100; ++again) {
          bytes[static_cast<size_t>(i)] += again;
        }
      }));
      other->Submit(JobOf([&others] { ++others; }));
    }
    for (int taken = 0; taken < round % 8; ++taken) {
      line->TakeDone();
    }
    line->Withdraw();
    memory.reset();
    EXPECT_EQ(line->TakeDone(), nullptr);
  }
  int done = 0;
  EXPECT_TRUE(LoopUntil(*loop_, kPatience, [&] {
    while (other->TakeDone() != nullptr) {
      ++done;
    }
    return done == 300 * 64;
  }));
  EXPECT_EQ(others, 300 * 64);
}

TEST_F(Workers, AreWaitedForWhileTheyRun) {
  const std::unique_ptr<JobLine> line = executor_->Open();
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<bool> over = false;
  line->Submit(JobOf([&] {
    begun.set_value();
    go_on.get_future().wait();
    over = true;
  }));
  begun.get_future().wait();
  std::thread releases([&] { go_on.set_value(); });
  line->Withdraw();
  const bool was_over = over;
  releases.join();
  EXPECT_TRUE(was_over);
}

TEST_F(Workers, SayNothingToALoopThatNoLongerListens) {
  std::unique_ptr<JobLine> line = executor_->Open();
  for (int i = 0; i < 100; ++i) {
    line->Submit(JobOf([] {}));
  }
  line.reset();
  executor_.reset();
  loop_->RunOnce(Duration(0));
  loop_.reset();
  EXPECT_EQ(calls_, 0);
}

TEST_F(Workers, LeaveSignalsToOthers) {
  const std::unique_ptr<JobLine> line = executor_->Open();
  sigset_t theirs;
  line->Submit(JobOf([&] { pthread_sigmask(SIG_SETMASK, nullptr, &theirs); }));
  ASSERT_TRUE(LoopUntil(*loop_, kPatience, [&] { return line->TakeDone() != nullptr; }));
  EXPECT_EQ(sigismember(&theirs, SIGTERM), 1);
  EXPECT_EQ(sigismember(&theirs, SIGSEGV), 0);
}

TEST(WorkerTeam, IsOneForTheProcess) {
  WorkerTeam::SetThreadsOfProcess(3);
  std::shared_ptr<WorkerTeam> team = WorkerTeam::OfProcess();
  EXPECT_EQ(team, WorkerTeam::OfProcess());
  EXPECT_EQ(team->size(), 3u);
  WorkerTeam::SetThreadsOfProcess(0);
  EXPECT_EQ(WorkerTeam::OfProcess()->size(), 3u);
  team.reset();
  EXPECT_GE(WorkerTeam::OfProcess()->size(), 1u);
  EXPECT_LE(WorkerTeam::OfProcess()->size(), 8u);
}

}  // namespace
}  // namespace kvcast
