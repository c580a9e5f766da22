#include "kvcast/io/name_lookup.h"

#include <gtest/gtest.h>

#include <optional>

#include "kvcast/io/loop_until_test.h"

namespace kvcast {
namespace {

TEST(NameLookup, TellsTheLoop) {
  const auto loop = *EventLoop::Make();
  std::optional<NameLookup::Places> found;
  const NameLookup lookup(*loop, "localhost:4433",
                          [&](NameLookup::Places places) { found = std::move(places); });
  EXPECT_FALSE(found.has_value());
  ASSERT_TRUE(LoopUntil(*loop, std::chrono::seconds(30), [&] { return found.has_value(); }));
  ASSERT_TRUE(found->ok());
  EXPECT_EQ((**found).front(), SocketAddress::Loopback(4433));
}

TEST(NameLookup, TellsNobodyWhoHasLeft) {
  const auto loop = *EventLoop::Make();
  bool told = false;
  {
    const NameLookup lookup(*loop, "localhost:4433",
                            [&](const NameLookup::Places&) { told = true; });
  }
  const NameLookup other(*loop, "127.0.0.1:1", [](const NameLookup::Places&) {});
  for (int i = 0; i < 20; ++i) {
    loop->RunOnce(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace kvcast
