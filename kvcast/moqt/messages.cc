#include "kvcast/moqt/messages.h"

#include <iterator>

namespace kvcast::moqt {
namespace {

constexpr std::string_view kNames[] = {
    "SETUP",          "GOAWAY",           "REQUEST_OK",        "REQUEST_ERROR",       "SUBSCRIBE",
    "SUBSCRIBE_OK",   "PUBLISH",          "PUBLISH_DONE",      "REQUEST_UPDATE",      "FETCH",
    "FETCH_OK",       "TRACK_STATUS",     "PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "NAMESPACE",
    "NAMESPACE_DONE", "SUBSCRIBE_TRACKS", "PUBLISH_BLOCKED",
};
static_assert(std::size(kNames) == kMessageKinds);

}  // namespace

std::string_view NameOf(MessageKind kind) { return kNames[static_cast<size_t>(kind)]; }

}  // namespace kvcast::moqt
