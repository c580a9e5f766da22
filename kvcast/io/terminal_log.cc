#include "kvcast/io/terminal_log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <string>

namespace kvcast {
namespace {

spdlog::level::level_enum Severity(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

TerminalLog::TerminalLog(LogLevel least)
    : least_(least),
      logger_(std::make_unique<spdlog::logger>("kvcast",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  // On a terminal a progress line may stand where the record is to begin: it is wiped.
  const std::string start = ::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
  logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      start + "time=%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
  logger_->set_level(Severity(least));
  logger_->flush_on(spdlog::level::trace);
}

TerminalLog::~TerminalLog() = default;

void TerminalLog::Write(const LogRecord& record) {
  logger_->log(Severity(record.level), record.ToString());
}

}  // namespace kvcast
