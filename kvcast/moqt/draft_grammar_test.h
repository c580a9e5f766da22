#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

// What draft-18 says a control message is made of, as data: the table of bad inputs is generated
// from it. Numbers in brackets are the draft's sections.
namespace kvcast::moqt::draft {

// A message in one of its uses: an answer is named for what it answers, an update for what it
// changes.
enum class Use : uint8_t {
  kSetup,
  kGoAwayControl,
  kGoAwayRequest,
  kPublishOk,
  kUpdateOk,
  kTrackStatusOk,
  kNamespaceOk,  // Of SUBSCRIBE_NAMESPACE, SUBSCRIBE_TRACKS and PUBLISH_NAMESPACE.
  kRequestError,
  kSubscribe,
  kSubscribeOk,
  kUpdateSubscription,
  kUpdateFetch,
  kUpdatePrefix,
  kUpdateAnnouncement,  // Of PUBLISH_NAMESPACE.
  kPublish,
  kPublishDone,
  kFetch,
  kFetchOk,
  kTrackStatus,
  kPublishNamespace,
  kNamespace,
  kNamespaceDone,
  kSubscribeNamespace,
  kSubscribeTracks,
  kPublishBlocked,
};

enum class Part : uint8_t {
  kRequestId,        // vi64 [10.1]
  kNumber,           // vi64 of any value
  kAlias,            // vi64 [11.1]
  kFullName,         // Namespace, vi64 length, name [2.4.1]
  kRequestedSpace,   // Namespace that is asked for or announced [2.4.1, 3.2]
  kSuffix,           // Namespace below a prefix
  kSuffixedName,     // The same with a track's name
  kParameters,       // vi64 count, parameters [10.2]
  kTrackProperties,  // Key-value pairs to the end [2.5]
  kNoProperties,     // Nothing [10.5]
  kOptions,          // Key-value pairs to the end [10.3]
  kFetchRange,       // Fetch Type and what it says [10.12]
  kEndOfTrack,       // 8 bits, 0 or 1 [10.13]
  kEndLocation,      // Location [10.13]
  kUri,              // vi64 length of at most 8,192, bytes [10.4]
  kGoAwayId,         // vi64 [10.4]
  kReason,           // vi64 length of at most 1,024, bytes [1.4.4]
  kErrorAndRest,     // Error Code, Retry Interval, Reason, and Redirect for code 0x34 [10.6]
};

struct MessageShape {
  Use use;
  const char* name;
  uint64_t type;
  std::vector<Part> parts;
};
const std::vector<MessageShape>& Shapes();
const MessageShape& ShapeOf(Use use);

enum class Encoding : uint8_t {
  kVarint,
  kByte,
  kFlag,
  kOrder,
  kLocation,
  kToken,
  kFilter,
  kNamespace
};

struct ParameterRule {
  uint64_t type;
  const char* name;
  Encoding encoding;
  std::vector<Use> uses;  // [10.2.2 to 10.2.14]
};
const std::vector<ParameterRule>& ParameterRules();
const ParameterRule* FindParameter(uint64_t type);
bool MayStand(const ParameterRule& rule, Use use);

// Valid values of each encoding, encoded.
std::vector<std::string> GoodValues(Encoding encoding);

// What a receiver makes of an input.
struct Verdict {
  enum class Kind : uint8_t {
    kFine,       // Nothing is wrong with it.
    kCloses,     // The session, with `code`.
    kRefused,    // By REQUEST_ERROR with `code`.
    kCancelled,  // The request or stream is given up, with `code`.
    kLeftOpen,   // The draft does not say.
  };
  Kind kind = Kind::kFine;
  uint64_t code = 0;

  friend bool operator==(const Verdict&, const Verdict&) = default;
  std::string ToString() const;
};

inline constexpr Verdict kFine{Verdict::Kind::kFine, 0};
inline constexpr Verdict kLeftOpen{Verdict::Kind::kLeftOpen, 0};
inline constexpr Verdict kViolation{Verdict::Kind::kCloses, 0x3};
inline constexpr Verdict kInvalidRequestId{Verdict::Kind::kCloses, 0x4};
inline constexpr Verdict kDuplicateAlias{Verdict::Kind::kCloses, 0x5};
inline constexpr Verdict kFormatting{Verdict::Kind::kCloses, 0x6};
inline constexpr Verdict kInvalidPath{Verdict::Kind::kCloses, 0x8};
inline constexpr Verdict kMalformedPath{Verdict::Kind::kCloses, 0x9};
inline constexpr Verdict kCacheOverflow{Verdict::Kind::kCloses, 0x13};
inline constexpr Verdict kUnknownTokenAlias{Verdict::Kind::kCloses, 0x17};
inline constexpr Verdict kInvalidAuthority{Verdict::Kind::kCloses, 0x19};
inline constexpr Verdict kMalformedAuthority{Verdict::Kind::kCloses, 0x1a};
inline constexpr Verdict kDoesNotExist{Verdict::Kind::kRefused, 0x10};
inline constexpr Verdict kInvalidRange{Verdict::Kind::kRefused, 0x11};
inline constexpr Verdict kBadJoin{Verdict::Kind::kRefused, 0x32};
inline constexpr Verdict kUnsupportedExtension{Verdict::Kind::kRefused, 0x33};
inline constexpr Verdict kMalformedTrack{Verdict::Kind::kCancelled, 0x12};
inline constexpr Verdict kRefusedAsMalformed{Verdict::Kind::kRefused, 0x12};
inline constexpr Verdict kTooMuch{Verdict::Kind::kCancelled, 0x9};
inline constexpr Verdict kGivenUp{Verdict::Kind::kCancelled, 0x1};

}  // namespace kvcast::moqt::draft
