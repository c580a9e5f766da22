#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/base/bytes.h"

// The port between a disk tier and the directory it lives in: io_uring or plain files in `io`,
// memory with faults in `sim`.
//
// The tier asks by requests, which whoever drives it takes out of it and hands to the device; what
// came of them is handed back as completions, in any order. Nothing is called back, and nothing is
// ordered but by waiting for a completion:
//
//   a read sees the writes that completed before it was asked for;
//   a sync makes those writes of its file durable that completed before it was asked for;
//   a file is created or removed durably once that has completed, and until then perhaps.
//
// Files have numbers; the device gives them names, opens them when they are first used and closes
// them when they are removed. Offsets and lengths are multiples of kDeviceBlockBytes, so that a
// device may go past the page cache; the bytes of a write come in pieces of any size and alignment,
// for the device to gather into a buffer that it has registered.
namespace kvcast {

inline constexpr uint64_t kDeviceBlockBytes = 4096;

using DeviceToken = uint64_t;
using DeviceFile = uint64_t;

struct DeviceRequest {
  enum class Kind : uint8_t {
    kList,    // All files.
    kCreate,  // A file of `length` bytes, all of them allocated. It reads as zeros.
    kRemove,  // Asked for once nothing else of the file is under way. A file that is not there has
              // been removed.
    kRead,    // `length` bytes, all within the file.
    kWrite,   // `bytes`, all within the file, no two writes to one place at the same time.
    kSync,
  };
  Kind kind = Kind::kList;
  DeviceToken token = 0;
  DeviceFile file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  Bytes bytes{};
};

struct DeviceError {
  bool no_space = false;  // Nothing is wrong but that the file system, or a quota, is full.
  std::string message;    // For a person: what the operating system said.
};

struct DeviceCompletion {
  struct File {
    DeviceFile number = 0;
    uint64_t bytes = 0;
  };
  DeviceToken token = 0;
  std::optional<DeviceError> error{};  // A read or write that was cut short is an error.
  Bytes bytes{};                       // Of a read.
  std::vector<File> files{};           // Of a list, in any order.
};

class Device {
 public:
  virtual ~Device() = default;
  virtual void Submit(DeviceRequest request) = 0;
  // A request that has come to its end, if there is one.
  virtual std::optional<DeviceCompletion> Next() = 0;
};

// What a tier wants of its device, until whoever drives it takes it out. Tokens are never reused.
class DeviceOutbox {
 public:
  DeviceToken List() { return Ask({.kind = DeviceRequest::Kind::kList}); }
  DeviceToken Create(DeviceFile file, uint64_t length) {
    return Ask({.kind = DeviceRequest::Kind::kCreate, .file = file, .length = length});
  }
  DeviceToken Remove(DeviceFile file) {
    return Ask({.kind = DeviceRequest::Kind::kRemove, .file = file});
  }
  DeviceToken Read(DeviceFile file, uint64_t offset, uint64_t length) {
    return Ask(
        {.kind = DeviceRequest::Kind::kRead, .file = file, .offset = offset, .length = length});
  }
  DeviceToken Write(DeviceFile file, uint64_t offset, Bytes bytes) {
    const uint64_t length = bytes.size();
    return Ask({.kind = DeviceRequest::Kind::kWrite,
                .file = file,
                .offset = offset,
                .length = length,
                .bytes = std::move(bytes)});
  }
  DeviceToken Sync(DeviceFile file) {
    return Ask({.kind = DeviceRequest::Kind::kSync, .file = file});
  }

  std::vector<DeviceRequest> Take() { return std::exchange(requests_, {}); }
  // How much was ever asked for.
  uint64_t asked() const { return last_; }

 private:
  DeviceToken Ask(DeviceRequest request) {
    request.token = ++last_;
    requests_.push_back(std::move(request));
    return last_;
  }

  DeviceToken last_ = 0;
  std::vector<DeviceRequest> requests_;
};

}  // namespace kvcast
