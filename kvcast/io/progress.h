#pragma once

#include <cstdint>
#include <string>

#include "kvcast/base/time.h"

namespace kvcast {

// Decides what to show of something that takes long, and when. Whoever waits less than two seconds
// is told nothing. After that, a terminal has one line that is rewritten, with a bar where there is
// room for one, and anything else (a file, the log of a service) gets a line every ten seconds.
//
// Pure: it is handed the time and hands back what to write, which is often nothing.
class ProgressMeter {
 public:
  ProgressMeter(std::string name, bool on_terminal, Instant start)
      : name_(std::move(name)), on_terminal_(on_terminal), start_(start) {}

  // `total` may be 0 while it is not known.
  std::string Update(uint64_t bytes_done, uint64_t bytes_total, Instant now);
  // Takes the line off a terminal; elsewhere, says how long it took if it has said anything.
  std::string Finish(Instant now);
  // The same for what failed or was given up, of which whoever knows why will speak.
  std::string Abandon();

 private:
  std::string Fitted(const std::string& line) const;
  std::string Line(uint64_t bytes_done, uint64_t bytes_total, Instant now) const;

  std::string name_;
  bool on_terminal_;
  Instant start_;
  Instant shown_{};
  bool shown_any_ = false;
};

// A ProgressMeter on stderr, with the machine's clock; abandoned when it is destroyed before
// Done().
//
//   Progress progress("Hashing model.safetensors");
//   DigestFile(path, {.progress = [&](auto done, auto total) { progress.Update(done, total); }});
//   progress.Done();
class Progress {
 public:
  explicit Progress(std::string name);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(uint64_t bytes_done, uint64_t bytes_total);
  void Done();

 private:
  ProgressMeter meter_;
};

}  // namespace kvcast
