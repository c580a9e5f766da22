#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcast {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

std::string_view ToString(LogLevel level);

// One key=value of a log line. Values are numbers, booleans and short names.
//
// There is deliberately no way to log a list of numbers: tokens are a user's prompt, and prompts
// are never logged, not even as ids.
class LogField {
 public:
  LogField(std::string_view key, std::string_view value) : key_(key), text_(value) {}
  LogField(std::string_view key, const char* value) : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, const std::string& value)
      : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, bool value) : LogField(key, value ? "true" : "false") {}
  LogField(std::string_view key, double value);
  template <std::integral T>
  LogField(std::string_view key, T value) : key_(key), text_(std::to_string(value)) {}
  LogField(std::string_view key, std::span<const uint32_t> tokens) = delete;
  LogField(std::string_view key, const std::vector<uint32_t>& tokens) = delete;

  const std::string& key() const { return key_; }
  const std::string& text() const { return text_; }

 private:
  std::string key_;
  std::string text_;
};

// What happened, in the past tense, and the numbers that go with it.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string module;
  std::string event;
  std::vector<LogField> fields;

  // `level=warning module=store event="segment dropped" bytes=4096`. A value is quoted when it
  // holds more than name characters; what a terminal would obey is escaped.
  std::string ToString() const;
};

// Where log records go. Owned by whoever runs the code: `io` writes them to the terminal, a test
// keeps them. Called from one thread, or the implementation says otherwise.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Records below this are not worth making.
  virtual LogLevel least() const = 0;
  virtual void Write(const LogRecord& record) = 0;
};

// What a module holds to log with: a sink that may be absent, and the module's name.
class Log {
 public:
  Log() = default;
  Log(LogSink* sink, std::string_view module) : sink_(sink), module_(module) {}

  void Write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields = {}) const;
  void Debug(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    Write(LogLevel::kDebug, event, fields);
  }
  void Info(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    Write(LogLevel::kInfo, event, fields);
  }
  void Warning(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    Write(LogLevel::kWarning, event, fields);
  }
  void Error(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    Write(LogLevel::kError, event, fields);
  }

 private:
  LogSink* sink_ = nullptr;
  std::string module_;
};

// Keeps what was logged, for a test to look at.
class LogMemory : public LogSink {
 public:
  LogLevel least() const override { return LogLevel::kDebug; }
  void Write(const LogRecord& record) override { records_.push_back(record); }
  const std::vector<LogRecord>& records() const { return records_; }

 private:
  std::vector<LogRecord> records_;
};

}  // namespace kvcast
