// Objects that begin, and of which the rest does not come.
#include <gtest/gtest.h>

#include "kvcast/moqt/every_shape_test.h"
#include "kvcast/moqt/sent_group_test.h"

namespace kvcast::moqt {
namespace {

using std::chrono::seconds;

class SilentStreamInEveryShape : public EveryShape {
 protected:
  static constexpr size_t kObject = 100'000;

  static SessionPair::Options Options() {
    SessionPair::Options options;
    options.cut_max = 1000;
    return options;
  }
  // So much of an object comes.
  void Begin(SessionPair& pair, size_t bytes) {
    request_ = *pair.client().Publish(Track("t"), {}, {});
    pair.Run();
    ASSERT_TRUE(
        pair.server().AcceptPublish(pair.One<PublishReceived>(pair.server()).request, {}).ok());
    pair.Run();
    SendGroup(pair.client(), request_, 0, 1, kObject);
    while (pair.server().received_bytes() < bytes && pair.Step()) {
    }
    ASSERT_GE(pair.server().received_bytes(), bytes);
    ASSERT_LT(pair.server().received_bytes(), kObject);
  }

  RequestId request_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Draft, SilentStreamInEveryShape, EveryShape::Drafts(), EveryShape::Name);

TEST_P(SilentStreamInEveryShape, IsRefusedWhenNothingComesForTooLong) {
  SessionPair pair(Options());
  Begin(pair, 10'000);
  pair.server().OnTimeout(Instant() + seconds(9));
  EXPECT_GE(pair.server().received_bytes(), 10'000u);
  ASSERT_TRUE(pair.server().deadline().has_value());
  EXPECT_EQ(*pair.server().deadline(), Instant() + seconds(10));
  pair.server().OnTimeout(Instant() + seconds(10));
  const size_t left = pair.server().received_bytes();
  EXPECT_LT(left, 1000u);  // That the stream has ended is to be taken.
  pair.Run();
  EXPECT_EQ(pair.Take<SubgroupStopped>(pair.client()).size(), 1u);
  EXPECT_FALSE(pair.server().closed());
  EXPECT_FALSE(pair.server().deadline().has_value());
  // The track goes on.
  SendGroup(pair.client(), request_, 1, 1, 100);
  pair.Run();
  EXPECT_GT(pair.server().received_bytes(), left);
}

// As long as anything comes, what has begun may have to wait for what is more urgent.
TEST_P(SilentStreamInEveryShape, IsWaitedForAsLongAsAnythingComes) {
  SessionPair pair(Options());
  Begin(pair, 10'000);
  for (int i = 1; i <= 5; ++i) {
    pair.server().OnTimeout(Instant() + seconds(9 * i));
    for (int step = 0; step < 10; ++step) {
      ASSERT_TRUE(pair.Step());
    }
    ASSERT_LT(pair.server().received_bytes(), kObject);
  }
  pair.Run();
  EXPECT_TRUE(pair.Take<SubgroupStopped>(pair.client()).empty());
  EXPECT_GE(pair.server().received_bytes(), kObject);
}

}  // namespace
}  // namespace kvcast::moqt
