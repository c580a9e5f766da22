#include "kvcast/host/refusal_log.h"

#include <gtest/gtest.h>

namespace kvcast {
namespace {

TEST(RefusalLog, SaysWhoAndWhyButNotMoreOftenThanPeopleCanRead) {
  LogMemory sink;
  RefusalLog log(Log(&sink, "node"));
  const Instant start = Instant() + std::chrono::hours(1);
  for (uint64_t i = 0; i < RefusalLog::kLinesMax + 7; ++i) {
    log.Note("192.0.2.7:4433", "No certificate.", start);
  }
  ASSERT_EQ(sink.records().size(), RefusalLog::kLinesMax);
  const std::string line = sink.records()[0].ToString();
  for (const char* part : {"level=warning", "192.0.2.7:4433", "No certificate."}) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }
  log.Note("192.0.2.8:1", "Expired.", start + RefusalLog::kPeriod);
  ASSERT_EQ(sink.records().size(), RefusalLog::kLinesMax + 1);
  const std::string later = sink.records().back().ToString();
  EXPECT_NE(later.find("omitted_before=7"), std::string::npos) << later;
}

}  // namespace
}  // namespace kvcast
