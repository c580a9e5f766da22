#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvcast {

// What a caller may have to do differently, and no more: the message tells the rest to a person.
enum class ErrorCode : uint8_t {
  kMalformed,    // The bytes do not follow their format.
  kUnsupported,  // They do, but ask for something this version does not do.
  kTooLarge,     // A bound was passed; nothing was allocated for it.
  kMismatch,     // Two things that must agree do not: a digest, a shape, a model.
  kNotFound,     // A file or a name that was expected is not there.
  kInvalid,      // The caller's arguments make no sense together.
  kMachine,      // The operating system said no.
};

std::string_view ToString(ErrorCode code);

// A failure as a value. The message is a sentence for a person; the offset says where in the
// input, and In() adds which input it was, so that the person can look at it.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  // Where in the input the trouble begins, in bytes from its start.
  Error At(uint64_t offset) &&;
  // Which file or part of a file; outer names are put in front of inner ones.
  Error In(std::string_view name) &&;

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  std::optional<uint64_t> offset() const { return offset_; }

  // "model/config.json: byte 17: A number was expected."
  std::string ToString() const;

 private:
  ErrorCode code_;
  std::string message_;
  std::string name_;
  std::optional<uint64_t> offset_;
};

}  // namespace kvcast
