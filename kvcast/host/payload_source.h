#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/io/file.h"

namespace kvcast {

// Where the payloads of what is published come from, one object after the other.
class PayloadSource {
 public:
  struct Options {
    std::vector<std::string> files;  // "-" is standard input. None: payloads are made up.
    std::optional<uint64_t> size;    // Of an object. Absent: a file is one object.
    uint64_t count = 10;             // Of objects that are made up.
    int input = 0;                   // The descriptor that "-" reads.
  };
  // Opens the first file. Invalid: standard input beside other files.
  static Result<PayloadSource> Open(Options options);

  // How many objects it will be; absent for standard input.
  std::optional<uint64_t> count() const { return count_; }
  // Nothing follows, as far as was read.
  bool over() const { return from_input_ ? input_over_ && filled_ == 0 : next_ == *count_; }
  // Whether there is a next payload, or the end: standard input may have nothing to say yet, or not
  // enough. Never waits.
  Result<bool> Ready();
  // The next payload; absent after the last. A payload that is made up is the same for the same
  // index and size, always. REQUIRES: Ready().
  Result<std::optional<Bytes>> Next();

 private:
  explicit PayloadSource(Options options) : options_(std::move(options)) {}
  Result<void> OpenFiles();
  Bytes MakeUp() const;
  std::optional<Bytes> NextOfInput();

  Options options_;
  bool from_input_ = false;
  std::optional<uint64_t> count_;
  uint64_t next_ = 0;  // Index of the next payload.
  std::vector<MappedFile> maps_;
  size_t file_ = 0;
  size_t offset_ = 0;
  std::vector<std::byte> gathered_;  // Of standard input, for the next object,
  size_t filled_ = 0;                // as far as it has come.
  bool input_over_ = false;
};

}  // namespace kvcast
