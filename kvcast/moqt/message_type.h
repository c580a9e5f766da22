#pragma once

#include <cstddef>
#include <cstdint>

namespace kvcast::moqt {

// Messages on control and request streams.
enum class MessageType : uint64_t {
  kRequestUpdate = 0x02,
  kSubscribe = 0x03,
  kSubscribeOk = 0x04,
  kRequestError = 0x05,
  kPublishNamespace = 0x06,
  kRequestOk = 0x07,
  kNamespace = 0x08,
  kPublishDone = 0x0b,
  kTrackStatus = 0x0d,
  kNamespaceDone = 0x0e,
  kPublishBlocked = 0x0f,
  kGoAway = 0x10,
  kFetch = 0x16,
  kFetchOk = 0x18,
  kPublish = 0x1d,
  kSubscribeNamespace = 0x50,
  kSubscribeTracks = 0x51,
  kSetup = 0x2f00,
};

// What a one-way stream begins with, besides SETUP and the many types of SUBGROUP_HEADER.
inline constexpr uint64_t kFetchHeaderType = 0x05;
inline constexpr uint64_t kPaddingStreamType = 0x132b3e28;

inline constexpr size_t kMessageBytesMax = 65535;
inline constexpr size_t kReasonBytesMax = 1024;
inline constexpr size_t kSessionUriBytesMax = 8192;

}  // namespace kvcast::moqt
