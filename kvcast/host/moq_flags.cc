#include "kvcast/host/moq_flags.h"

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr const char* kHowToWrite =
    "A namespace's fields are joined by -, the track's name follows --, and every byte but "
    "letters, digits and _ is written as . and two hex digits: the track \"v-1\" of (\"demo\", "
    "\"clock\") is demo-clock--v.2d1.";

Error NotAName(const Error& error, const std::string& text) {
  return Error(ErrorCode::kInvalid, error.ToString() + " " + kHowToWrite).In(Printable(text, 200));
}

}  // namespace

void MoqFlags::AddTo(CLI::App& command, MoqFlags& flags) {
  command
      .add_option("RELAY", flags.relay,
                  "moqt://HOST:PORT/PATH, with #FINGERPRINT to pin its certificate; or what "
                  "'kvcast serve' prints")
      ->required();
  TrustFlags::AddTo(command, flags.trust, "--ca");
  QuicFlags::AddTo(command, flags.quic);
  command
      .add_option("--timeout", flags.timeout_s, "Give up when nothing comes for so many seconds")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{1}, uint32_t{86'400}))
      ->capture_default_str();
  command.add_flag("--json", flags.json, "Print JSON, for machines");
}

Result<RelayConnection::Options> MoqFlags::Target() const {
  KVCAST_TRY(RelayUri uri, RelayUri::Parse(relay));
  if (uri.fingerprint && !trust.authorities.empty()) {
    return Error(ErrorCode::kInvalid,
                 "A relay is known by its certificate's fingerprint or by the authority that "
                 "signed it, not by both.");
  }
  ServerTrust by = SystemTrust{};
  if (uri.fingerprint) {
    by = PinnedCertificate{*uri.fingerprint};
  } else if (!trust.authorities.empty()) {
    by = TrustedAuthorities{trust.authorities};
  }
  KVCAST_TRY(by, trust.Applied(std::move(by)));
  KVCAST_TRY(std::string token, trust.Token());
  return RelayConnection::Options{std::move(uri), std::move(by),   trust.own(), {},
                                  quic.Options(), std::move(token)};
}

Result<MoqRun> MoqFlags::Connect() const {
  KVCAST_TRY(const RelayConnection::Options target, Target());
  MoqRun run;
  KVCAST_TRY(run.loop, EventLoop::Make());
  KVCAST_TRY(run.relay, RelayConnection::Open(*run.loop, target, Deadline()));
  run.relay->ServeOnly([](const moqt::Event&) { return false; });
  KVCAST_TRY_VOID(run.relay->WatchSignals());
  return run;
}

Result<TrackName> ParseTrackArgument(const std::string& text) {
  Result<TrackName> track = TrackName::Parse(text);
  return track.ok() ? std::move(track) : NotAName(track.error(), text);
}

Result<TrackNamespace> ParseNamespaceArgument(const std::string& text) {
  Result<TrackNamespace> space = TrackNamespace::Parse(text);
  return space.ok() ? std::move(space) : NotAName(space.error(), text);
}

}  // namespace kvcast
