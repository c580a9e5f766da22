#include "kvcast/base/log.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace kvcast {
namespace {

TEST(Log, RecordsWhatHappenedAsKeysAndValues) {
  LogMemory memory;
  const Log log(&memory, "store");
  log.Warning("segment dropped",
              {{"bytes", 4096}, {"tier", "disk"}, {"share", 0.25}, {"last", true}});
  ASSERT_EQ(memory.records().size(), 1u);
  EXPECT_EQ(memory.records()[0].ToString(),
            "level=warning module=store event=\"segment dropped\" bytes=4096 tier=disk share=0.25 "
            "last=true");
}

// One event is one line, whatever a peer put into a name.
TEST(Log, EscapesWhatAPeerSent) {
  LogMemory memory;
  Log(&memory, "moqt").Info("refused", {{"reason", "a\nlevel=error \"x\""}});
  EXPECT_EQ(memory.records()[0].ToString(),
            "level=info module=moqt event=refused reason=\"a\\x0alevel=error \\x22x\\x22\"");
}

TEST(Log, WithoutASinkIsSilent) { Log().Error("nobody listens"); }

// A prompt cannot be logged even as token ids: no such field can be made.
TEST(LogField, CannotBeMadeFromTokens) {
  static_assert(!std::is_constructible_v<LogField, std::string_view, std::vector<uint32_t>>);
  static_assert(!std::is_constructible_v<LogField, std::string_view, std::span<const uint32_t>>);
  static_assert(std::is_constructible_v<LogField, std::string_view, uint32_t>);
}

}  // namespace
}  // namespace kvcast
