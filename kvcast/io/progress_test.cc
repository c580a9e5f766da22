#include "kvcast/io/progress.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = Instant(seconds(1000));
constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(ProgressMeter, SaysNothingForTwoSeconds) {
  for (const bool on_terminal : {true, false}) {
    ProgressMeter meter("Hashing", on_terminal, kStart);
    EXPECT_EQ(meter.Update(kGib, 10 * kGib, kStart), "");
    EXPECT_EQ(meter.Update(kGib, 10 * kGib, kStart + milliseconds(1999)), "");
    EXPECT_EQ(meter.Finish(kStart + milliseconds(1999)), "");
  }
}

TEST(ProgressMeter, ShowsHowFarHowFastAndHowLong) {
  ProgressMeter meter("Hashing", /*on_terminal=*/false, kStart);
  EXPECT_EQ(meter.Update(2 * kGib, 10 * kGib, kStart + seconds(2)),
            "Hashing: 2 GiB of 10 GiB, 1.07 GB/s, 9 s left\n");
}

TEST(ProgressMeter, RewritesOneLineOnATerminal) {
  ProgressMeter meter("Hashing", /*on_terminal=*/true, kStart);
  EXPECT_EQ(meter.Update(2 * kGib, 10 * kGib, kStart + seconds(2)),
            "\r\033[KHashing: [####--------------------] 2 GiB of 10 GiB, 1.07 GB/s, 9 s left");
  EXPECT_EQ(meter.Update(2 * kGib, 10 * kGib, kStart + milliseconds(2050)), "");
  EXPECT_NE(meter.Update(2 * kGib, 10 * kGib, kStart + milliseconds(2100)), "");
  EXPECT_EQ(meter.Finish(kStart + seconds(3)), "\r\033[K");
}

TEST(ProgressMeter, DrawsABarOnATerminalThatFillsAndFits) {
  ProgressMeter meter("Publishing BF16-lossless", /*on_terminal=*/true, kStart);
  const std::string half = meter.Update(5 * kGib, 10 * kGib, kStart + seconds(2));
  EXPECT_NE(half.find("lossless: [#######-------] 5 GiB of"), std::string::npos) << half;
  EXPECT_LE(half.size(), std::string("\r\033[K").size() + 79);
  const std::string all = meter.Update(10 * kGib, 10 * kGib, kStart + seconds(4));
  EXPECT_EQ(all.find('-', all.find('[', 4)), std::string::npos) << all;
  const std::string none = meter.Update(0, 10 * kGib, kStart + seconds(6));
  EXPECT_EQ(none.find('#'), std::string::npos) << none;
  // There is none of what nobody knows the end of, nor in a file.
  EXPECT_EQ(meter.Update(kGib, 0, kStart + seconds(8)).find('#'), std::string::npos);
  ProgressMeter log("Publishing", /*on_terminal=*/false, kStart);
  EXPECT_EQ(log.Update(kGib, 2 * kGib, kStart + seconds(8)).find('['), std::string::npos);
}

TEST(ProgressMeter, FitsIntoATerminal) {
  ProgressMeter meter("Hashing " + std::string(100, 'x') + "/model.safetensors",
                      /*on_terminal=*/true, kStart);
  const std::string line = meter.Update(2 * kGib, 10 * kGib, kStart + seconds(2));
  EXPECT_EQ(line.size(), std::string("\r\033[K").size() + 79);
  EXPECT_NE(line.find("x/model.safetensors: 2 GiB of 10 GiB"), std::string::npos);
}

// The log of a service must not fill with it.
TEST(ProgressMeter, WritesALineEveryTenSecondsElsewhere) {
  ProgressMeter meter("Hashing", /*on_terminal=*/false, kStart);
  int lines = 0;
  for (int ms = 0; ms < 60'000; ms += 50) {
    lines += meter.Update(kGib, 10 * kGib, kStart + milliseconds(ms)).empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, 6);
  EXPECT_EQ(meter.Finish(kStart + seconds(65)), "Hashing: done in 1 min 5 s\n");
}

// "Done" above an error message would be a lie.
TEST(ProgressMeter, DoesNotCallDoneWhatWasAbandoned) {
  for (const bool on_terminal : {true, false}) {
    ProgressMeter meter("Publishing", on_terminal, kStart);
    EXPECT_EQ(meter.Abandon(), "");
    EXPECT_NE(meter.Update(kGib, 10 * kGib, kStart + seconds(2)), "");
    EXPECT_EQ(meter.Abandon(), on_terminal ? "\r\033[K" : "");
    EXPECT_EQ(meter.Finish(kStart + seconds(3)), "");
  }
}

TEST(ProgressMeter, DoesWithoutATotal) {
  ProgressMeter meter("Reading", /*on_terminal=*/false, kStart);
  EXPECT_EQ(meter.Update(4 * kGib, 0, kStart + seconds(4)), "Reading: 4 GiB, 1.07 GB/s\n");
}

TEST(Progress, IsSilentWhenThingsAreQuick) {
  testing::internal::CaptureStderr();
  {
    Progress progress("Quick");
    progress.Update(1, 2);
    progress.Done();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kvcast
