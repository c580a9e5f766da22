#include "kvcast/host/moq_words.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr size_t kPeerReasonShownMax = 1024;

struct Word {
  uint64_t number;
  std::string_view name;
};

// As the draft calls them.
constexpr Word kRequestWords[] = {
    {0x0, "INTERNAL_ERROR"},
    {0x1, "UNAUTHORIZED"},
    {0x2, "TIMEOUT"},
    {0x3, "NOT_SUPPORTED"},
    {0x4, "MALFORMED_AUTH_TOKEN"},
    {0x5, "EXPIRED_AUTH_TOKEN"},
    {0x6, "GOING_AWAY"},
    {0x9, "EXCESSIVE_LOAD"},
    {0x10, "DOES_NOT_EXIST"},
    {0x11, "INVALID_RANGE"},
    {0x12, "MALFORMED_TRACK"},
    {0x19, "DUPLICATE_SUBSCRIPTION"},
    {0x20, "UNINTERESTED"},
    {0x30, "PREFIX_OVERLAP"},
    {0x31, "NAMESPACE_TOO_LARGE"},
    {0x32, "INVALID_JOINING_REQUEST_ID"},
    {0x33, "UNSUPPORTED_EXTENSION"},
    {0x34, "REDIRECT"},
};
constexpr Word kSessionWords[] = {
    {0x0, "NO_ERROR"},
    {0x1, "INTERNAL_ERROR"},
    {0x2, "UNAUTHORIZED"},
    {0x3, "PROTOCOL_VIOLATION"},
    {0x4, "INVALID_REQUEST_ID"},
    {0x5, "DUPLICATE_TRACK_ALIAS"},
    {0x6, "KEY_VALUE_FORMATTING_ERROR"},
    {0x8, "INVALID_PATH"},
    {0x9, "MALFORMED_PATH"},
    {0x10, "GOAWAY_TIMEOUT"},
    {0x11, "CONTROL_MESSAGE_TIMEOUT"},
    {0x12, "DATA_STREAM_TIMEOUT"},
    {0x13, "AUTH_TOKEN_CACHE_OVERFLOW"},
    {0x14, "DUPLICATE_AUTH_TOKEN_ALIAS"},
    {0x15, "VERSION_NEGOTIATION_FAILED"},
    {0x16, "MALFORMED_AUTH_TOKEN"},
    {0x17, "UNKNOWN_AUTH_TOKEN_ALIAS"},
    {0x18, "EXPIRED_AUTH_TOKEN"},
    {0x19, "INVALID_AUTHORITY"},
    {0x1a, "MALFORMED_AUTHORITY"},
};
constexpr Word kDoneWords[] = {
    {0x0, "INTERNAL_ERROR"}, {0x1, "UNAUTHORIZED"},
    {0x2, "TRACK_ENDED"},    {0x3, "SUBSCRIPTION_ENDED"},
    {0x4, "GOING_AWAY"},     {0x5, "TOO_FAR_BEHIND"},
    {0x6, "EXPIRED"},        {0x8, "UPDATE_FAILED"},
    {0x9, "EXCESSIVE_LOAD"}, {0x12, "MALFORMED_TRACK"},
};
constexpr Word kResetWords[] = {
    {0x0, "INTERNAL_ERROR"},        {0x1, "CANCELLED"},          {0x2, "DELIVERY_TIMEOUT"},
    {0x3, "SESSION_CLOSED"},        {0x4, "GOING_AWAY"},         {0x5, "TOO_FAR_BEHIND"},
    {0x6, "UNKNOWN_OBJECT_STATUS"}, {0x7, "EXPIRED_AUTH_TOKEN"}, {0x9, "EXCESSIVE_LOAD"},
    {0x12, "MALFORMED_TRACK"},
};
constexpr Word kPropertyWords[] = {
    {0x02, "OBJECT_DELIVERY_TIMEOUT"},
    {0x04, "MAX_CACHE_DURATION"},
    {0x06, "SUBGROUP_DELIVERY_TIMEOUT"},
    {0x0b, "IMMUTABLE_PROPERTIES"},
    {0x0e, "DEFAULT_PUBLISHER_PRIORITY"},
    {0x22, "DEFAULT_PUBLISHER_GROUP_ORDER"},
    {0x30, "DYNAMIC_GROUPS"},
    {0x3c, "PRIOR_GROUP_ID_GAP"},
    {0x3e, "PRIOR_OBJECT_ID_GAP"},
};

std::optional<std::string_view> NameOf(std::span<const Word> words, uint64_t number) {
  for (const Word& word : words) {
    if (word.number == number) {
      return word.name;
    }
  }
  return std::nullopt;
}

std::string Named(std::span<const Word> words, uint64_t number) {
  const auto name = NameOf(words, number);
  return name ? fmt::format("{} ({:#x})", *name, number) : fmt::format("{:#x}", number);
}

std::string Quoted(std::string_view reason) {
  return reason.empty() ? "" : fmt::format(", \"{}\"", Printable(reason, kPeerReasonShownMax));
}

std::string RedirectText(const moqt::Redirect& redirect) {
  std::string text = " It says to ask ";
  text += redirect.uri.empty() ? "the same relay" : "\"" + Printable(redirect.uri, 200) + "\"";
  const TrackName& track = redirect.track;
  if (track.space().field_count() > 0 || !track.name().empty()) {
    text += " for " + Printable(track.Render(), 500);
  }
  return text + ".";
}

}  // namespace

std::string WordOf(moqt::RequestCode code) {
  return Named(kRequestWords, static_cast<uint64_t>(code));
}
std::string WordOf(moqt::SessionCode code) {
  return Named(kSessionWords, static_cast<uint64_t>(code));
}
std::string WordOf(moqt::DoneCode code) { return Named(kDoneWords, static_cast<uint64_t>(code)); }
std::string WordOfReset(uint64_t code) { return Named(kResetWords, code); }

std::string Refusal(const std::string& what, const moqt::RequestError& error) {
  std::string text =
      fmt::format("The relay refused {}: {}{}.", what, WordOf(error.code), Quoted(error.reason));
  if (error.retry_after_ms) {
    text += fmt::format(" It may be asked again in {} ms.", *error.retry_after_ms);
  }
  if (error.redirect) {
    text += RedirectText(*error.redirect);
  }
  return text;
}

std::string Cancellation(const std::string& what, const moqt::RequestCancelled& cancelled) {
  return fmt::format("The relay gave up {}: {}{}.", what, WordOfReset(cancelled.code),
                     Quoted(cancelled.reason));
}

std::string NoAnswer(const std::string& what, Duration waited) {
  return fmt::format("The relay has not answered {} within {}.", what, HumanDuration(waited));
}

std::string Closing(const moqt::SessionClosed& closed) {
  // A connection that dies has a sentence for a reason, and its code says nothing more.
  const auto code = static_cast<moqt::SessionCode>(closed.code);
  if (code == moqt::SessionCode::kInternalError && closed.reason.starts_with("QUIC: ")) {
    return "The connection is lost: " + Printable(closed.reason, kPeerReasonShownMax) + ".";
  }
  if (code == moqt::SessionCode::kInternalError && closed.reason.ends_with('.')) {
    return "The session is over: " + Printable(closed.reason, kPeerReasonShownMax);
  }
  return fmt::format("{} closed the session: {}{}.", closed.by_peer ? "The relay" : "kvcast",
                     WordOf(code), Quoted(closed.reason));
}

std::string TextOf(const Properties& properties) {
  std::string text;
  for (const Property& property : properties.List()) {
    const auto name = NameOf(kPropertyWords, property.type);
    text += text.empty() ? "" : ", ";
    text += name ? std::string(*name) : fmt::format("{:#x}", property.type);
    text += property.is_bytes() ? fmt::format(" \"{}\"", Printable(property.bytes))
                                : fmt::format(" {}", property.number);
  }
  return text;
}

Json JsonOf(const Properties& properties) {
  Json list = Json::array();
  for (const Property& property : properties.List()) {
    Json entry{{"type", property.type}};
    if (const auto name = NameOf(kPropertyWords, property.type)) {
      entry["name"] = *name;
    }
    if (property.is_bytes()) {
      entry["hex"] = ToHex(AsBytes(property.bytes));
    } else {
      entry["value"] = property.number;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace kvcast
