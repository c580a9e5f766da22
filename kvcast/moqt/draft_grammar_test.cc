#include "kvcast/moqt/draft_grammar_test.h"

#include <algorithm>

#include "kvcast/moqt/draft_wire_test.h"

namespace kvcast::moqt::draft {
namespace {

const std::vector<Use> kToSubscriber = {Use::kPublishOk, Use::kSubscribe, Use::kUpdateSubscription};
// [10.2.3, 10.2.4] Any REQUEST_UPDATE, where other parameters' definitions say "for a
// subscription".
const std::vector<Use> kTimeouts = {Use::kPublishOk,          Use::kSubscribe,
                                    Use::kUpdateSubscription, Use::kUpdateFetch,
                                    Use::kUpdatePrefix,       Use::kUpdateAnnouncement};

}  // namespace

const std::vector<MessageShape>& Shapes() {
  using P = Part;
  static const std::vector<MessageShape> shapes = {
      {Use::kSetup, "SETUP", 0x2f00, {P::kOptions}},
      {Use::kGoAwayControl, "GOAWAY", 0x10, {P::kUri, P::kNumber, P::kGoAwayId}},
      {Use::kGoAwayRequest, "GOAWAY of a request", 0x10, {P::kUri, P::kNumber}},
      {Use::kPublishOk, "PUBLISH_OK", 0x7, {P::kParameters, P::kNoProperties}},
      {Use::kUpdateOk, "REQUEST_UPDATE_OK", 0x7, {P::kParameters, P::kNoProperties}},
      {Use::kTrackStatusOk, "TRACK_STATUS_OK", 0x7, {P::kParameters, P::kTrackProperties}},
      {Use::kNamespaceOk, "REQUEST_OK of a namespace", 0x7, {P::kParameters, P::kNoProperties}},
      {Use::kRequestError, "REQUEST_ERROR", 0x5, {P::kErrorAndRest}},
      {Use::kSubscribe, "SUBSCRIBE", 0x3, {P::kRequestId, P::kFullName, P::kParameters}},
      {Use::kSubscribeOk, "SUBSCRIBE_OK", 0x4, {P::kAlias, P::kParameters, P::kTrackProperties}},
      {Use::kUpdateSubscription, "REQUEST_UPDATE", 0x2, {P::kRequestId, P::kParameters}},
      {Use::kUpdateFetch, "REQUEST_UPDATE of a fetch", 0x2, {P::kRequestId, P::kParameters}},
      {Use::kUpdatePrefix, "REQUEST_UPDATE of a prefix", 0x2, {P::kRequestId, P::kParameters}},
      {Use::kUpdateAnnouncement,
       "REQUEST_UPDATE of a namespace",
       0x2,
       {P::kRequestId, P::kParameters}},
      {Use::kPublish,
       "PUBLISH",
       0x1d,
       {P::kRequestId, P::kFullName, P::kAlias, P::kParameters, P::kTrackProperties}},
      {Use::kPublishDone, "PUBLISH_DONE", 0xb, {P::kNumber, P::kNumber, P::kReason}},
      {Use::kFetch, "FETCH", 0x16, {P::kRequestId, P::kFetchRange, P::kParameters}},
      {Use::kFetchOk,
       "FETCH_OK",
       0x18,
       {P::kEndOfTrack, P::kEndLocation, P::kParameters, P::kTrackProperties}},
      {Use::kTrackStatus, "TRACK_STATUS", 0xd, {P::kRequestId, P::kFullName, P::kParameters}},
      {Use::kPublishNamespace,
       "PUBLISH_NAMESPACE",
       0x6,
       {P::kRequestId, P::kRequestedSpace, P::kParameters}},
      {Use::kNamespace, "NAMESPACE", 0x8, {P::kSuffix}},
      {Use::kNamespaceDone, "NAMESPACE_DONE", 0xe, {P::kSuffix}},
      {Use::kSubscribeNamespace,
       "SUBSCRIBE_NAMESPACE",
       0x50,
       {P::kRequestId, P::kRequestedSpace, P::kParameters}},
      {Use::kSubscribeTracks,
       "SUBSCRIBE_TRACKS",
       0x51,
       {P::kRequestId, P::kRequestedSpace, P::kParameters}},
      {Use::kPublishBlocked, "PUBLISH_BLOCKED", 0xf, {P::kSuffixedName}},
  };
  return shapes;
}

const MessageShape& ShapeOf(Use use) {
  return *std::ranges::find(Shapes(), use, &MessageShape::use);
}

// TRACK_STATUS_OK carries what SUBSCRIBE_OK would have carried [10.14], so EXPIRES as well.
const std::vector<ParameterRule>& ParameterRules() {
  static const std::vector<ParameterRule> rules = {
      {0x02, "OBJECT_DELIVERY_TIMEOUT", Encoding::kVarint, kTimeouts},
      {0x03,
       "AUTHORIZATION_TOKEN",
       Encoding::kToken,
       {Use::kPublish, Use::kSubscribe, Use::kUpdateSubscription, Use::kUpdateFetch,
        Use::kUpdatePrefix, Use::kUpdateAnnouncement, Use::kSubscribeNamespace,
        Use::kSubscribeTracks, Use::kPublishNamespace, Use::kTrackStatus, Use::kFetch}},
      {0x04, "RENDEZVOUS_TIMEOUT", Encoding::kVarint, {Use::kSubscribe}},
      {0x06, "SUBGROUP_DELIVERY_TIMEOUT", Encoding::kVarint, kTimeouts},
      {0x08,
       "EXPIRES",
       Encoding::kVarint,
       {Use::kSubscribeOk, Use::kPublish, Use::kPublishOk, Use::kUpdateOk, Use::kTrackStatusOk}},
      {0x09,
       "LARGEST_OBJECT",
       Encoding::kLocation,
       {Use::kSubscribeOk, Use::kPublish, Use::kUpdateOk, Use::kTrackStatusOk}},
      {0x0a, "FILL_TIMEOUT", Encoding::kVarint, {Use::kFetch}},
      {0x10,
       "FORWARD",
       Encoding::kFlag,
       {Use::kSubscribe, Use::kUpdateSubscription, Use::kPublish, Use::kPublishOk,
        Use::kSubscribeTracks}},
      {0x20,
       "SUBSCRIBER_PRIORITY",
       Encoding::kByte,
       {Use::kSubscribe, Use::kFetch, Use::kUpdateSubscription, Use::kUpdateFetch,
        Use::kPublishOk}},
      {0x21, "SUBSCRIPTION_FILTER", Encoding::kFilter, kToSubscriber},
      {0x22, "GROUP_ORDER", Encoding::kOrder, {Use::kSubscribe, Use::kPublishOk, Use::kFetch}},
      {0x32, "NEW_GROUP_REQUEST", Encoding::kVarint, kToSubscriber},
      {0x34, "TRACK_NAMESPACE_PREFIX", Encoding::kNamespace, {Use::kUpdatePrefix}},
  };
  return rules;
}

const ParameterRule* FindParameter(uint64_t type) {
  const auto found = std::ranges::find(ParameterRules(), type, &ParameterRule::type);
  return found == ParameterRules().end() ? nullptr : &*found;
}

bool MayStand(const ParameterRule& rule, Use use) {
  return std::ranges::find(rule.uses, use) != rule.uses.end();
}

std::vector<std::string> GoodValues(Encoding encoding) {
  switch (encoding) {
    case Encoding::kVarint:
      return {Num(0), Num(1000), Num(kMost)};
    case Encoding::kByte:
      return {Byte(0), Byte(128), Byte(255)};
    case Encoding::kFlag:
      return {Byte(1), Byte(0)};
    case Encoding::kOrder:
      return {Byte(1), Byte(2)};
    case Encoding::kLocation:
      return {At(0, 0), At(300, 7), At(kMost, kMost)};
    case Encoding::kToken:  // By value: aliases need a cache, and ours has no room.
      return {Sized(Num(3) + Num(0) + "tk"), Sized(Num(3) + Num(0x9d))};
    case Encoding::kFilter:
      return {Sized(Num(2)), Sized(Num(1)), Sized(Num(3) + At(5, 1)),
              Sized(Num(4) + At(5, 1) + Num(300)), Sized(Num(4) + At(kMost, 0) + Num(0))};
    case Encoding::kNamespace:
      return {Space({"q"}), Space({}), Space({"q", "r", "s"})};
  }
  return {};
}

std::string Verdict::ToString() const {
  static const char* const kNames[] = {"fine", "closes", "refused", "cancelled", "left open"};
  const std::string name = kNames[static_cast<size_t>(kind)];
  return kind == Kind::kFine ? name : name + " with " + std::to_string(code);
}

}  // namespace kvcast::moqt::draft
