#include "kvcast/relay/refusal.h"

namespace kvcast::relay {
namespace {

// What a publisher's refusal is to those behind us. That it does not let us in, or is leaving, or
// does not like what we asked, is between it and us: they are not told that it is they, or we.
moqt::RequestCode CodeForAudience(moqt::RequestCode code) {
  using Code = moqt::RequestCode;
  switch (code) {
    case Code::kTimeout:
    case Code::kExcessiveLoad:
    case Code::kDoesNotExist:
    case Code::kMalformedTrack:
    case Code::kUnsupportedExtension:
    case Code::kRedirect:
      return code;
    case Code::kGoingAway:
    case Code::kNotSupported:
      return Code::kDoesNotExist;
    default:
      return Code::kInternalError;
  }
}

// How much a refusal helps who hears it: a way to the track most, then that it may be tried again.
// Least does that one of those who were asked does not have it.
int HelpOf(const moqt::RequestError& refusal) {
  if (refusal.redirect) {
    return 3;
  }
  if (refusal.retry_after_ms) {
    return 2;
  }
  return refusal.code == moqt::RequestCode::kDoesNotExist ? 0 : 1;
}

}  // namespace

moqt::RequestError PassedOn(const moqt::RequestError& refusal, const TrackName& asked) {
  moqt::RequestError error = refusal;
  error.code = CodeForAudience(refusal.code);
  const std::optional<moqt::Redirect>& to = error.redirect;
  const bool elsewhere =
      to && (!to->uri.empty() || (to->track != asked && to->track != moqt::Redirect().track));
  if (error.code == moqt::RequestCode::kRedirect && !elsewhere) {
    error.code = moqt::RequestCode::kDoesNotExist;
    error.redirect.reset();
  }
  return error;
}

bool EndsRendezvous(const moqt::RequestError& refusal) {
  return refusal.redirect || refusal.code == moqt::RequestCode::kUnsupportedExtension ||
         refusal.code == moqt::RequestCode::kMalformedTrack;
}

const moqt::RequestError& BetterOf(const moqt::RequestError& first,
                                   const moqt::RequestError& second) {
  const int help = HelpOf(first);
  if (help != HelpOf(second)) {
    return help > HelpOf(second) ? first : second;
  }
  return help == 2 && *second.retry_after_ms < *first.retry_after_ms ? second : first;
}

}  // namespace kvcast::relay
