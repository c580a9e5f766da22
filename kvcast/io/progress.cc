#include "kvcast/io/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSilent = seconds(2);
constexpr Duration kTerminalPause = milliseconds(100);
constexpr Duration kLinePause = seconds(10);
constexpr size_t kColumns = 79;
constexpr size_t kBarLeast = 8;
constexpr size_t kBarMost = 24;
constexpr const char* kClearLine = "\r\033[K";

void WriteToStderr(const std::string& text) {
  if (!text.empty()) {
    // Where nobody can read, nobody is told.
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  }
}

// As wide as the line leaves room for; empty where that is too narrow to say anything.
std::string Bar(uint64_t bytes_done, uint64_t bytes_total, size_t line_columns) {
  constexpr std::string_view kAround = "[] ";
  if (line_columns + kAround.size() + kBarLeast > kColumns) {
    return "";
  }
  const size_t width = std::min(kBarMost, kColumns - line_columns - kAround.size());
  const double share = static_cast<double>(bytes_done) / static_cast<double>(bytes_total);
  const size_t full = std::min(width, static_cast<size_t>(share * static_cast<double>(width)));
  return "[" + std::string(full, '#') + std::string(width - full, '-') + "] ";
}

}  // namespace

// Cuts the front of a name, which is often a path, so that the line does not wrap: a terminal
// rewrites only the last row of one that does.
std::string ProgressMeter::Fitted(const std::string& line) const {
  if (!on_terminal_ || line.size() <= kColumns) {
    return line;
  }
  const size_t excess = line.size() - kColumns + 3;
  return excess < name_.size() ? "..." + line.substr(excess) : line;
}

std::string ProgressMeter::Line(uint64_t bytes_done, uint64_t bytes_total, Instant now) const {
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(bytes_done) / elapsed_s;
  std::string line = HumanBytes(bytes_done);
  if (bytes_total > 0) {
    line += " of " + HumanBytes(bytes_total);
  }
  line += ", " + HumanRate(rate);
  if (bytes_total > bytes_done && rate > 0) {
    const double left_s = static_cast<double>(bytes_total - bytes_done) / rate;
    line += ", " + HumanDuration(seconds(static_cast<int64_t>(left_s) + 1)) + " left";
  }
  const std::string name = name_ + ": ";
  const bool has_bar = on_terminal_ && bytes_total > 0;
  return name + (has_bar ? Bar(bytes_done, bytes_total, name.size() + line.size()) : "") + line;
}

std::string ProgressMeter::Update(uint64_t bytes_done, uint64_t bytes_total, Instant now) {
  const Duration pause = on_terminal_ ? kTerminalPause : kLinePause;
  if (now < start_ + kSilent || (shown_any_ && now < shown_ + pause)) {
    return "";
  }
  shown_any_ = true;
  shown_ = now;
  const std::string line = Fitted(Line(bytes_done, bytes_total, now));
  return on_terminal_ ? kClearLine + line : line + "\n";
}

std::string ProgressMeter::Finish(Instant now) {
  if (!shown_any_) {
    return "";
  }
  shown_any_ = false;
  return on_terminal_ ? kClearLine : name_ + ": done in " + HumanDuration(now - start_) + "\n";
}

std::string ProgressMeter::Abandon() {
  return std::exchange(shown_any_, false) && on_terminal_ ? kClearLine : "";
}

Progress::Progress(std::string name)
    : meter_(std::move(name), ::isatty(STDERR_FILENO) == 1, Now()) {}

Progress::~Progress() { WriteToStderr(meter_.Abandon()); }

void Progress::Done() { WriteToStderr(meter_.Finish(Now())); }

void Progress::Update(uint64_t bytes_done, uint64_t bytes_total) {
  WriteToStderr(meter_.Update(bytes_done, bytes_total, Now()));
}

}  // namespace kvcast
