#pragma once

#include <memory>

#include "kvcast/base/log.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace kvcast {

// Writes log records to stderr, one a line, with the time in UTC in front:
//
//   time=2031-05-04T03:02:01.123Z level=warning module=store event="segment dropped" bytes=4096
//
// Any thread may write. A record is on its way when Write() returns, so that a crash loses none.
class TerminalLog : public LogSink {
 public:
  explicit TerminalLog(LogLevel least = LogLevel::kInfo);
  ~TerminalLog() override;

  LogLevel least() const override { return least_; }
  void Write(const LogRecord& record) override;

 private:
  LogLevel least_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace kvcast
