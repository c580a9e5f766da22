#include "kvcast/base/error.h"

#include "kvcast/base/hex.h"

namespace kvcast {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kTooLarge:
      return "too large";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kMachine:
      return "machine";
  }
  return "unknown";
}

Error Error::At(uint64_t offset) && {
  // The innermost reader knows best: a later, coarser offset does not replace it.
  if (!offset_) {
    offset_ = offset;
  }
  return std::move(*this);
}

Error Error::In(std::string_view name) && {
  // A file may be called anything, and an error is one line, on a terminal or in a log.
  const std::string outer = Harmless(name);
  name_ = name_.empty() ? outer : outer + ": " + name_;
  return std::move(*this);
}

std::string Error::ToString() const {
  std::string text;
  if (!name_.empty()) {
    text += name_ + ": ";
  }
  if (offset_) {
    text += "byte " + std::to_string(*offset_) + ": ";
  }
  return text + message_;
}

}  // namespace kvcast
