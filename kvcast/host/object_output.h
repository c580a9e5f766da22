#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/progress.h"
#include "kvcast/object/object.h"

namespace kvcast {

// What `kvcast moq` does with the objects it receives: a line for each on stdout, payloads into
// files or onto stdout, and the count of it all.
class ObjectOutput {
 public:
  struct Options {
    std::string to;  // A folder for payloads, "-" for stdout; empty: nowhere.
    bool json = false;
  };
  // Makes the folder, if there is to be one.
  static Result<ObjectOutput> Open(Options options);

  Result<void> Write(const Object& object);
  // A line about what is not there; `last` is included.
  void WriteGap(Location last, bool unknown);
  // What it came to. Text goes to stderr, JSON as one more line to stdout.
  void Finish(bool complete, const std::string& reason);

  uint64_t objects() const { return objects_; }

 private:
  explicit ObjectOutput(Options options)
      : options_(std::move(options)), progress_(std::make_unique<Progress>("Receiving")) {}
  void Print(const Object& object) const;

  Options options_;
  std::unique_ptr<Progress> progress_;
  std::optional<Instant> start_;  // When the first object came.
  uint64_t objects_ = 0;
  uint64_t bytes_ = 0;
};

// "640 KiB in 0.52 s, 1.26 MB/s"
std::string Pace(uint64_t bytes, double seconds);

}  // namespace kvcast
