#pragma once

#include <cstdint>

// The draft's numbers for what went wrong. They are open sets: a peer may send one that is not
// listed here, and it then means an internal error, never the end of the session.
namespace kvcast::moqt {

// Why a session ends.
enum class SessionCode : uint64_t {
  kNoError = 0x0,
  kInternalError = 0x1,
  kUnauthorized = 0x2,
  kProtocolViolation = 0x3,
  kInvalidRequestId = 0x4,
  kDuplicateTrackAlias = 0x5,
  kKeyValueFormattingError = 0x6,
  kInvalidPath = 0x8,
  kMalformedPath = 0x9,
  kGoAwayTimeout = 0x10,
  kControlMessageTimeout = 0x11,
  kDataStreamTimeout = 0x12,
  kAuthTokenCacheOverflow = 0x13,
  kDuplicateAuthTokenAlias = 0x14,
  kVersionNegotiationFailed = 0x15,
  kMalformedAuthToken = 0x16,
  kUnknownAuthTokenAlias = 0x17,
  kExpiredAuthToken = 0x18,
  kInvalidAuthority = 0x19,
  kMalformedAuthority = 0x1a,
};

// Why a request is refused.
enum class RequestCode : uint64_t {
  kInternalError = 0x0,
  kUnauthorized = 0x1,
  kTimeout = 0x2,
  kNotSupported = 0x3,
  kMalformedAuthToken = 0x4,
  kExpiredAuthToken = 0x5,
  kGoingAway = 0x6,
  kExcessiveLoad = 0x9,
  kDoesNotExist = 0x10,
  kInvalidRange = 0x11,
  kMalformedTrack = 0x12,
  kDuplicateSubscription = 0x19,
  kUninterested = 0x20,
  kPrefixOverlap = 0x30,
  kNamespaceTooLarge = 0x31,
  kInvalidJoiningRequestId = 0x32,
  kUnsupportedExtension = 0x33,
  kRedirect = 0x34,
};

// Why a publisher sends no more.
enum class DoneCode : uint64_t {
  kInternalError = 0x0,
  kUnauthorized = 0x1,
  kTrackEnded = 0x2,
  kSubscriptionEnded = 0x3,
  kGoingAway = 0x4,
  kTooFarBehind = 0x5,
  kExpired = 0x6,
  kUpdateFailed = 0x8,
  kExcessiveLoad = 0x9,
  kMalformedTrack = 0x12,
};

// Why a stream is reset, or its sender asked to stop.
enum class ResetCode : uint64_t {
  kInternalError = 0x0,
  kCancelled = 0x1,
  kDeliveryTimeout = 0x2,
  kSessionClosed = 0x3,
  kGoingAway = 0x4,
  kTooFarBehind = 0x5,
  kUnknownObjectStatus = 0x6,
  kExpiredAuthToken = 0x7,
  kExcessiveLoad = 0x9,
  kMalformedTrack = 0x12,
};

}  // namespace kvcast::moqt
