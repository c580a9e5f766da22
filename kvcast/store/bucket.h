#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/time.h"

// The port between a bucket tier and the bucket it lives in: S3 in `io`, memory with faults in
// `sim`.
//
// The tier asks by requests, which whoever drives it takes out of it and hands to the bucket; what
// came of them is handed back as completions, in any order. Nothing is called back. Each request is
// tried once and has come to its end by its deadline, whatever the network does: to try again is
// the tier's decision, since only it knows who waits.
//
// What is in a bucket never changes: a key is put once, or again with the same bytes. A listing may
// be old: it may lack what was put a moment ago, and show what has been deleted. A request that
// failed may have been carried out all the same.
namespace kvcast {

using BucketToken = uint64_t;

struct BucketRequest {
  enum class Kind : uint8_t {
    kPut,     // `bytes`, whose CRC-32C is `checksum`: sent along where the server checks it.
    kGet,     // `length` bytes from `offset` on, all within the object; length > 0.
    kList,    // Keys that begin with `key`, in order, going on at `continuation`.
    kDelete,  // What is not there has been deleted.
  };
  Kind kind = Kind::kList;
  BucketToken token = 0;
  std::string key;
  Instant deadline{};
  uint64_t offset = 0;
  uint64_t length = 0;
  Bytes bytes{};
  uint32_t checksum = 0;
  std::string continuation{};
};

struct BucketError {
  enum class Kind : uint8_t {
    kUnreachable,  // Refused, reset, no such host, TLS failed.
    kThrottled,    // The server wants to be asked less.
    kTimeout,      // The deadline passed.
    kNotFound,     // There is no such key. Of a missing bucket this is not said.
    kAuth,         // The credentials are wrong, expired or not enough.
    kDamaged,      // What came is not what was sent: too short, or another check sum.
    kOther,
  };
  Kind kind = Kind::kOther;
  std::string message;  // For a person: what the server or the system said.
};

std::string_view ToString(BucketError::Kind kind);

struct BucketCompletion {
  struct Entry {
    std::string key;
    uint64_t bytes = 0;
  };
  BucketToken token = 0;
  std::optional<BucketError> error{};
  Bytes bytes{};                 // Of a get: as many as were asked for.
  std::vector<Entry> entries{};  // Of a list.
  std::string continuation{};    // Not empty: there is more.
};

class Bucket {
 public:
  virtual ~Bucket() = default;
  virtual void Submit(BucketRequest request) = 0;
  // A request that has come to its end, if there is one.
  virtual std::optional<BucketCompletion> Next() = 0;
};

}  // namespace kvcast
