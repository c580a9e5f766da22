#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "kvcast/base/bytes.h"
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
    int out = 1;  // The descriptor that "-" writes to.
  };
  // Makes the folder, if there is to be one.
  static Result<ObjectOutput> Open(Options options);

  // Never waits for who reads stdout.
  Result<void> Write(const Object& object);
  // Writes what could not be written before, as far as it can be now.
  Result<void> Continue();
  // Something waits to be written: nothing more should be, until Continue() has changed that.
  // Nobody says when; look again after kLook.
  bool blocked() const { return !waiting_.empty(); }
  static constexpr Duration kLook = std::chrono::milliseconds(1);

  // A line about what is not there; `last` is included.
  void WriteGap(Location last, bool unknown);
  // A line about a subgroup that was broken off: objects of it may be missing.
  void WriteBroken(uint64_t group, std::optional<uint64_t> subgroup);
  // What it came to. Text goes to stderr, JSON as one more line to stdout.
  void Finish(bool complete, const std::string& reason);

  uint64_t objects() const { return objects_; }

 private:
  explicit ObjectOutput(Options options)
      : options_(std::move(options)), progress_(std::make_unique<Progress>("Receiving")) {}
  void Print(const Object& object) const;

  Options options_;
  std::unique_ptr<Progress> progress_;
  bool may_block_ = false;        // "-" is no file.
  std::deque<Bytes> waiting_;     // Payloads for "-",
  size_t piece_ = 0;              // of whose first these pieces were written,
  size_t offset_ = 0;             // and these bytes of the next.
  std::optional<Instant> start_;  // When the first object came.
  uint64_t objects_ = 0;
  uint64_t bytes_ = 0;
};

// "640 KiB in 0.52 s, 1.26 MB/s"
std::string Pace(uint64_t bytes, double seconds);

}  // namespace kvcast
