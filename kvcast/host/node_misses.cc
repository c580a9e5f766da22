#include "kvcast/host/node_misses.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/digest.h"

namespace kvcast {
namespace {

constexpr size_t kTrackLettersMax = 200;

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// Its beginning and its end, where it is long: they tell tenant and model, and the rung.
std::string ShortName(const TrackName& track) {
  const std::string name = track.Render();
  return name.size() <= kTrackLettersMax
             ? name
             : name.substr(0, kTrackLettersMax - 40) + "..." + name.substr(name.size() - 37);
}

// What a tier below memory said of what is missing.
Json TierAnswer(const char* kind, const std::string& where, bool ready, size_t tier,
                const relay::Miss& miss) {
  Json answer = {{"kind", kind}, {"where", where}, {"outcome", ready ? "not_here" : "not_ready"}};
  const auto trial = std::ranges::find(miss.trials, tier, &TierTrial::tier);
  if (trial != miss.trials.end()) {
    answer["outcome"] = trial->outcome == TierTrial::Outcome::kTooLate ? "too_late" : "read_failed";
    answer["took_ms"] = Milliseconds(trial->took);
  }
  return answer;
}

// Tiers are numbered as the node has added them: disks, then buckets.
Json TierAnswers(const NodeServer& node, const relay::Miss& miss) {
  Json answers = Json::array({{{"kind", "ram"}, {"where", nullptr}, {"outcome", "not_here"}}});
  size_t tier = 0;
  for (const auto& disk : node.disks()) {
    answers.push_back(
        TierAnswer("disk", disk->directory().string(), disk->tier().ready(), tier++, miss));
  }
  for (const auto& bucket : node.buckets()) {
    answers.push_back(
        TierAnswer("bucket", bucket->options().where, bucket->tier().ready(), tier++, miss));
  }
  return answers;
}

Json UpstreamAnswers(const relay::Miss& miss) {
  Json answers = Json::array();
  for (const relay::UpstreamTrial& trial : miss.upstreams) {
    answers.push_back({{"upstream", trial.upstream},
                       {"outcome", relay::NameOf(trial.outcome)},
                       {"took_ms", Milliseconds(trial.took)}});
  }
  return answers;
}

}  // namespace

Json NodeMisses(const NodeServer& node, Instant now) {
  Json misses = Json::array();
  for (const relay::Miss& miss : node.relay().misses().misses()) {
    Json told = {{"ago_ms", Milliseconds(now - miss.at)},
                 {"peer", miss.peer},
                 {"track", ShortName(miss.track)},
                 {"track_sha256", Sha256::Of(miss.track.Render()).ToHex().substr(0, 16)},
                 {"first", miss.range.first.ToString()},
                 {"last", miss.range.last.ToString()},
                 {"reason", relay::NameOf(miss.reason)},
                 {"sent_objects", miss.sent_objects},
                 {"took_ms", Milliseconds(miss.took)},
                 {"tiers", TierAnswers(node, miss)},
                 {"upstreams", UpstreamAnswers(miss)}};
    told["missing"] = miss.missing ? Json(miss.missing->ToString()) : Json(nullptr);
    misses.push_back(std::move(told));
  }
  return misses;
}

}  // namespace kvcast
