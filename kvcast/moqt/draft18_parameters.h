#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/result.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/parameters.h"

namespace kvcast::moqt::draft18 {

// The message that parameters stand in, as far as it decides which ones may. One bit each.
enum class ParameterScope : uint32_t {
  kSubscribe = 1u << 0,
  kSubscribeOk = 1u << 1,
  kPublish = 1u << 2,
  kPublishOk = 1u << 3,
  kFetch = 1u << 4,
  kFetchOk = 1u << 5,
  kTrackStatus = 1u << 6,
  kTrackStatusOk = 1u << 7,
  kUpdateSubscription = 1u << 8,
  kUpdateFetch = 1u << 9,
  kUpdatePublishNamespace = 1u << 10,
  kUpdatePrefix = 1u << 11,  // Of SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS.
  kUpdateOk = 1u << 12,
  kPublishNamespace = 1u << 13,
  kSubscribeNamespace = 1u << 14,
  kSubscribeTracks = 1u << 15,
  kNamespaceOk = 1u << 16,  // Of any of the last three.
};

// Each parameter has its own encoding, so none can be skipped: one that is unknown, stands in the
// wrong message or stands twice ends the session.
//
//   parameters := count:vi64 (type_delta:vi64 value)*count        by rising type
void WriteParameters(ByteWriter& writer, const Parameters& parameters);
Decoded<Parameters> ReadParameters(ByteReader& reader, ParameterScope scope);
// Invalid: one of them may not stand in such a message.
Result<void> CheckScope(const Parameters& parameters, ParameterScope scope);

// token := alias_type:vi64 [alias:vi64] [type:vi64 value]
std::string EncodeToken(const AuthToken& token);
// KEY_VALUE_FORMATTING_ERROR for what is no token.
Decoded<AuthToken> DecodeToken(std::string_view encoded);

}  // namespace kvcast::moqt::draft18
