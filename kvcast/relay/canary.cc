#include "kvcast/relay/canary.h"

#include <optional>
#include <string>
#include <variant>

#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/relay.h"

namespace kvcast::relay {
namespace {

constexpr std::string_view kSpace = "kvcast.canary";

Error Silent(const char* what) { return Error(ErrorCode::kMachine, what); }

// A session of the relay's, and the client at its other end.
class Flight {
 public:
  Flight(Relay& relay, TrackName track, Instant now)
      : relay_(&relay),
        track_(std::move(track)),
        now_(now),
        client_(moqt::Role::kClient, ClientSetup(), {}, now),
        server_(moqt::Role::kServer, {}, {}, now),
        connection_({}, client_, server_),
        peer_(relay.JoinUncounted(server_, now)) {}
  ~Flight() { relay_->LeaveUncounted(peer_, track_); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  Result<void> Publish(const Object& object) {
    KVCAST_TRY(const moqt::RequestId request, client_.Publish(track_, {}, {}));
    moqt::SubgroupHeader header;
    header.end_of_group = true;
    header.first_object = true;
    KVCAST_TRY(const moqt::StreamId stream, client_.OpenSubgroup(request, header));
    KVCAST_TRY_VOID(client_.SendObject(request, stream, object));
    KVCAST_TRY_VOID(client_.EndSubgroup(request, stream));
    KVCAST_TRY_VOID(client_.EndTrack(request, moqt::DoneCode::kTrackEnded, ""));
    Settle();
    return refusal_ ? Result<void>(*refusal_) : Result<void>();
  }

  Result<void> Fetch(const Object& wanted) {
    const LocationRange range{wanted.location, wanted.location};
    KVCAST_TRY(const moqt::RequestId request, client_.Fetch(track_, range, {}));
    Settle();
    if (refusal_) {
      return *refusal_;
    }
    while (const std::optional<moqt::Received> item = client_.Take(request)) {
      const auto* received = std::get_if<moqt::ReceivedObject>(&*item);
      if (received != nullptr && received->object.location == wanted.location) {
        return received->object.payload.ToString() == wanted.payload.ToString()
                   ? Result<void>()
                   : Result<void>(Error(ErrorCode::kMismatch,
                                        "What was fetched is not what was published."));
      }
    }
    return Silent("What was published could not be fetched.");
  }

 private:
  static moqt::Setup ClientSetup() {
    moqt::Setup setup;
    setup.path = "/";
    setup.authority = "localhost";
    return setup;
  }

  // Until nothing moves any more.
  void Settle() {
    do {
      while (connection_.Step()) {
      }
      relay_->OnInput(peer_, now_);
      while (const std::optional<moqt::Event> event = client_.NextEvent()) {
        if (const auto* refused = std::get_if<moqt::RequestRefused>(&*event)) {
          refusal_ = Error(ErrorCode::kMachine, "The node refuses it: " + refused->error.reason);
        }
      }
    } while (connection_.Step());
  }

  Relay* relay_;
  TrackName track_;
  Instant now_;
  moqt::Session client_;
  moqt::Session server_;
  moqt::MemoryConnection connection_;
  PeerId peer_;
  std::optional<Error> refusal_;
};

}  // namespace

bool Canary::IsBelow(const TrackNamespace& space) {
  return space.field_count() > 0 && space.field(0) == kSpace;
}

Result<void> Canary::Try(Instant now) {
  KVCAST_TRY(const TrackNamespace space, TrackNamespace::Of({kSpace, std::to_string(++tries_)}));
  KVCAST_TRY(const TrackName track, TrackName::Of(space, "sings"));
  Object object;
  object.payload = Bytes::Of("The canary of try " + std::to_string(tries_));
  Flight flight(*relay_, track, now);
  KVCAST_TRY_VOID(flight.Publish(object));
  return flight.Fetch(object);
}

}  // namespace kvcast::relay
