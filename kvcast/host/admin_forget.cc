#include "kvcast/host/admin_forget.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "kvcast/base/json.h"
#include "kvcast/host/forget_flags.h"
#include "kvcast/host/json_text.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

struct ForgetOrder {
  relay::ForgetScope scope;
  relay::ForgetMode mode = relay::ForgetMode::kNow;
};

HttpAnswer Saying(int status, const std::string& why) {
  return {status, "application/json", JsonText(Json{{"error", why}})};
}

Result<ForgetOrder> OrderIn(const std::string& body) {
  KVCAST_TRY(const Json json, ParseJson(body));
  if (!json.is_object()) {
    return Error(ErrorCode::kInvalid, "The order is an object: {\"tenant\": ...}.");
  }
  ForgetFlags flags;
  bool dry_run = false;
  bool again = false;
  const std::array<std::pair<const char*, std::string*>, 3> texts{
      {{"tenant", &flags.tenant}, {"model", &flags.model}, {"prefix", &flags.prefix}}};
  const std::array<std::pair<const char*, bool*>, 2> switches{
      {{"dry_run", &dry_run}, {"again", &again}}};
  for (const auto& [key, value] : json.items()) {
    bool known = false;
    for (const auto& [name, place] : texts) {
      if (key == name && value.is_string()) {
        *place = value.get<std::string>();
        known = true;
      }
    }
    for (const auto& [name, place] : switches) {
      if (key == name && value.is_boolean()) {
        *place = value.get<bool>();
        known = true;
      }
    }
    if (!known) {
      return Error(ErrorCode::kInvalid,
                   "An order has \"tenant\", \"model\" and \"prefix\", which are texts, and "
                   "\"dry_run\" and \"again\", which are true or false; nothing else.");
    }
  }
  KVCAST_TRY(relay::ForgetScope scope, flags.Scope());
  // An empty text would mean everything.
  if ((json.contains("model") && flags.model.empty()) ||
      (json.contains("prefix") && flags.prefix.empty())) {
    return Error(ErrorCode::kInvalid, "A model or a prefix that is named has a name.");
  }
  return ForgetOrder{std::move(scope), dry_run ? relay::ForgetMode::kDryRun
                                       : again ? relay::ForgetMode::kAgain
                                               : relay::ForgetMode::kNow};
}

uint64_t NowInMicroseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(WallNow().time_since_epoch()).count());
}

}  // namespace

AdminForget::AdminForget(NodeServer& node, std::string_view secret, Log log, OtherShards* others)
    : node_(&node),
      others_(others),
      tokens_(node.options().relay.access.tokens),
      log_(std::move(log)) {
  if (!secret.empty()) {
    secret_ = Sha256::Of(secret);
  }
}

std::optional<std::string> AdminForget::HolderOf(std::string_view token,
                                                 const std::string& tenant) const {
  // By digests, so that it takes as long for a good guess as for a bad one.
  if (secret_ && Sha256::Of(token) == *secret_) {
    return "who runs the node";
  }
  const relay::TokenTable::Entry* const entry = tokens_.Find(token);
  const Result<TrackNamespace> space = TrackNamespace::Of({relay::kServiceField, tenant});
  if (entry != nullptr && space.ok() &&
      entry->grant.Allows(relay::Act::kForget, *space, "", NowInMicroseconds())) {
    return "token " + entry->name;
  }
  return std::nullopt;
}

relay::ForgetReport AdminForget::Forget(const relay::ForgetScope& scope, relay::ForgetMode mode) {
  relay::ForgetReport report = node_->Forget(scope, mode);
  if (others_ == nullptr) {
    return report;
  }
  for (const auto& shard : others_->Ask<relay::ForgetReport>(
           [scope, mode](OtherShards::Shard& each) { return each.node->Forget(scope, mode); })) {
    // One that does not answer is to be asked again.
    const relay::ForgetReport also =
        shard.value_or(relay::ForgetReport{0, 0, 0, 0, 0, /*refused=*/true});
    report.tracks += also.tracks;
    report.groups += also.groups;
    report.objects += also.objects;
    report.bytes += also.bytes;
    report.pending += also.pending;
    report.refused = report.refused || also.refused;
  }
  return report;
}

HttpAnswer AdminForget::Take(const HttpRequest& request) {
  if (request.bearer().empty()) {
    return Saying(401, "Forgetting takes a token, as \"Authorization: Bearer TOKEN\".");
  }
  const Result<ForgetOrder> order = OrderIn(request.body);
  if (!order.ok()) {
    return Saying(400, order.error().ToString());
  }
  const std::optional<std::string> holder = HolderOf(request.bearer(), order->scope.tenant);
  if (!holder) {
    log_.Warning("forgetting refused", {{"tenant", order->scope.tenant}});
    return Saying(403, "This token may not forget for this tenant.");
  }
  const relay::ForgetReport report = Forget(order->scope, order->mode);
  const bool dry_run = order->mode == relay::ForgetMode::kDryRun;
  if (order->mode == relay::ForgetMode::kNow) {
    log_.Info("forgetting", {{"tenant", order->scope.tenant},
                             {"model", order->scope.model.value_or("")},
                             {"prefix", order->scope.prefix ? order->scope.prefix->ToHex() : ""},
                             {"by", *holder}});
  }
  return {200, "application/json",
          JsonText(Json{{"dry_run", dry_run},
                        {"tracks", report.tracks},
                        {"blocks", report.groups},
                        {"objects", report.objects},
                        {"bytes", report.bytes},
                        {"pending", report.pending},
                        {"refused", report.refused},
                        {"complete", !dry_run && report.complete()},
                        {"upstreams", node_->options().upstreams.size()}})};
}

}  // namespace kvcast
