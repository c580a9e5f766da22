#include "kvcast/moqt/outbox.h"

#include <gtest/gtest.h>

namespace kvcast::moqt {
namespace {

TEST(Outbox, SaysNothingAfterItsSessionHasClosed) {
  Outbox outbox;
  outbox.Do(ResetStream{4, 1});
  outbox.Close(SessionClosed{3, "", false}, CloseConnection{3, ""});
  outbox.Do(ResetStream{8, 1});
  outbox.Tell(SessionClosed{1, "", true});
  EXPECT_TRUE(std::holds_alternative<ResetStream>(*outbox.NextAction()));
  EXPECT_TRUE(std::holds_alternative<CloseConnection>(*outbox.NextAction()));
  EXPECT_FALSE(outbox.NextAction());
  EXPECT_EQ(std::get<SessionClosed>(*outbox.NextEvent()).code, 3U);
  EXPECT_FALSE(outbox.NextEvent());
}

TEST(Outbox, LeavesAConnectionThatThePeerHasClosed) {
  Outbox outbox;
  outbox.Close(SessionClosed{0, "", true}, std::nullopt);
  EXPECT_FALSE(outbox.NextAction());
  EXPECT_TRUE(outbox.NextEvent());
}

}  // namespace
}  // namespace kvcast::moqt
