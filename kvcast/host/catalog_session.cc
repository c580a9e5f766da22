#include "kvcast/host/catalog_session.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "kvcast/io/clock.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/relay/grant.h"

namespace kvcast {
namespace {

// How long a node that may hold nothing is given to say something.
constexpr Duration kCatalogPatience = std::chrono::milliseconds(500);
// Nodes do not say how many catalogs there are to come: so long after the last news there are none.
constexpr Duration kQuiet = std::chrono::milliseconds(300);

// Below which the catalogs are.
Result<TrackNamespace> PrefixOf(const std::string& model) {
  if (model.empty()) {
    return TrackNamespace::Of({relay::kServiceField});
  }
  KVCAST_TRY(const TrackNamespace space, TrackNamespace::Of({relay::kServiceField, model}));
  if (!ModelScope::Parse(space).ok()) {
    return Error(ErrorCode::kInvalid, "\"" + model +
                                          "\" is not a model as 'kvcast ls' and 'kvcast name' "
                                          "write them: TENANT/NAME@16-HEX-DIGITS.");
  }
  return CatalogTrack{space, {}, {}}.Prefix();
}

}  // namespace

CLI::Option* CatalogFlags::AddTo(CLI::App& command, CatalogFlags& flags, const std::string& model) {
  CLI::Option* const option = command.add_option("MODEL", flags.model, model);
  NodeFlags::AddTo(command, flags.node)->required();
  command
      .add_option("--timeout", flags.timeout_s, "Give up after so many seconds without an answer")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{1}, uint32_t{86'400}))
      ->capture_default_str();
  command.add_flag("--json", flags.json, "Print JSON, for machines");
  return option;
}

Result<std::unique_ptr<CatalogSession>> CatalogSession::Open(const CatalogFlags& flags) {
  KVCAST_TRY(const TrackNamespace prefix, PrefixOf(flags.model));
  KVCAST_TRY(const NodeAddress address, flags.node.Address());
  const Instant deadline = Now() + std::chrono::seconds(flags.timeout_s);
  std::unique_ptr<CatalogSession> session(new CatalogSession);
  KVCAST_TRY(session->loop_, EventLoop::Make());
  KVCAST_TRY(session->relay_,
             RelayConnection::Open(*session->loop_, RelayConnection::OptionsOf(address), deadline));
  session->relay_->ServeOnly([](const moqt::Event& event) {
    return std::holds_alternative<moqt::PublishReceived>(event);
  });
  KVCAST_TRY_VOID(session->relay_->WatchSignals());
  session->follower_ = std::make_unique<CatalogFollower>(
      session->relay_->session(), prefix, session->view_.MakeFeed(), kCatalogPatience);
  session->follower_->OnSetUp(Now());
  KVCAST_TRY_VOID(session->AwaitAll(deadline));
  return session;
}

Result<void> CatalogSession::AwaitAll(Instant deadline) {
  Instant quiet = Instant::max();
  for (size_t known = 0; Now() < quiet && !interrupted();) {
    const Instant before = Now();
    KVCAST_TRY_VOID(Turn(std::min(quiet, deadline)));
    const bool silent = Now() >= deadline;
    if (silent && !follower_->settled()) {
      return Error(ErrorCode::kMachine,
                   "The node has not said in time what it holds. --timeout gives it longer.");
    }
    const bool news = follower_->catalog_count() != known || quiet == Instant::max();
    known = follower_->catalog_count();
    if (follower_->settled() && news) {
      quiet = (known == 0 ? before : Now()) + kQuiet;
    }
  }
  return {};
}

Result<void> CatalogSession::Turn(Instant until) {
  const std::optional<Instant> due = follower_->deadline();
  KVCAST_TRY(const std::optional<moqt::Event> event,
             relay_->Next(due ? std::min(*due, until) : until));
  moqt::Session& session = relay_->session();
  if (!event) {
    follower_->OnTimeout(Now());
  } else if (const auto* offered = std::get_if<moqt::PublishReceived>(&*event)) {
    if (!follower_->OnOffer(*offered, Now())) {  // Somebody's cache that is being published.
      moqt::RequestError no;
      no.code = moqt::RequestCode::kUninterested;
      (void)session.RefuseRequest(offered->request, no).ok();
    }
  } else {
    follower_->OnEvent(*event, Now());
  }
  if (!follower_->refusal().empty()) {
    return Error(ErrorCode::kMachine, follower_->refusal());
  }
  return {};
}

}  // namespace kvcast
