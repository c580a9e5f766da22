#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvcast/base/json.h"
#include "kvcast/base/time.h"
#include "kvcast/moqt/event.h"
#include "kvcast/object/properties.h"

// What a relay says by numbers, in words. Whatever a relay wrote is made printable on the way.
namespace kvcast {

// "DOES_NOT_EXIST (0x10)"; a number that the draft does not list as it is: "0x99".
std::string WordOf(moqt::RequestCode code);
std::string WordOf(moqt::SessionCode code);
std::string WordOf(moqt::DoneCode code);
std::string WordOfReset(uint64_t code);

// Sentences about requests; `what` names one: "SUBSCRIBE of demo--clock".
std::string Refusal(const std::string& what, const moqt::RequestError& error);
std::string Cancellation(const std::string& what, const moqt::RequestCancelled& cancelled);
std::string NoAnswer(const std::string& what, Duration waited);
std::string Closing(const moqt::SessionClosed& closed);

// "MAX_CACHE_DURATION 60000, 0x3801 \"…\""; empty if there are none.
std::string TextOf(const Properties& properties);
// [{"type": 4, "name": "MAX_CACHE_DURATION", "value": 60000}, …]; bytes are in hex.
Json JsonOf(const Properties& properties);

}  // namespace kvcast
