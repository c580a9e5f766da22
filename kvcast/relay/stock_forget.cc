// How what is kept and what is told of it are given up together.
#include <algorithm>
#include <vector>

#include "kvcast/relay/stock.h"

namespace kvcast::relay {
namespace {

constexpr size_t kTracksAtOnce = 1024;

}  // namespace

void Stock::TakeErased(const Store::Erased& erased, ForgetReport& report) {
  forgetting_.insert(erased.tickets.begin(), erased.tickets.end());
  report.refused = report.refused || erased.refused;
}

void Stock::CountGroup(const TrackName& track, uint64_t group, ForgetReport& report) const {
  if (const std::optional<GroupFacts> facts = store_.FindGroup(track, group)) {
    report.objects += facts->object_count;
    report.bytes += facts->payload_bytes;
  }
  ++report.groups;
}

void Stock::ForgetGroup(const TrackName& track, uint64_t group) {
  catalogs_.Unlist(track, group);
  DropKey(track, group);
  expiries_.Forget(track, group);
}

void Stock::CountAll(const ForgetScope& scope, const TrackName& track, ForgetReport& report) {
  const bool whole = scope.Covers(track);
  if (!whole && !(scope.prefix && scope.MayHold(track))) {
    return;
  }
  report.tracks += whole ? 1 : 0;
  for (auto group = store_.GroupFrom(track, 0); group;) {
    if (whole || KeyOf(track, *group) == scope.prefix) {
      CountGroup(track, *group, report);
    }
    group = *group < UINT64_MAX ? store_.GroupFrom(track, *group + 1) : std::nullopt;
  }
}

void Stock::ForgetTrack(const TrackName& track, Instant now, ForgetReport& report) {
  for (auto group = store_.GroupFrom(track, 0); group;) {
    ForgetGroup(track, *group);
    group = *group < UINT64_MAX ? store_.GroupFrom(track, *group + 1) : std::nullopt;
  }
  TakeErased(store_.Erase(track, std::nullopt, now), report);
  emptied_.push_back(track);
}

void Stock::ForgetBlock(const TrackName& track, const Digest& key, Instant now,
                        ForgetReport& report) {
  for (auto group = store_.GroupFrom(track, 0); group;) {
    if (KeyOf(track, *group) == key) {
      ForgetGroup(track, *group);
      TakeErased(store_.Erase(track, *group, now), report);
    }
    group = *group < UINT64_MAX ? store_.GroupFrom(track, *group + 1) : std::nullopt;
  }
  if (!store_.GroupFrom(track, 0)) {
    emptied_.push_back(track);
  }
}

ForgetReport Stock::ForgetAll(const ForgetScope& scope, Instant now, bool dry_run) {
  ForgetReport report;
  // A tier that is not there now may have some of it, and nobody would know when it comes back.
  report.refused = !store_.opened() || (!dry_run && std::exchange(forgetting_failed_, false));
  if (!dry_run) {
    store_.Bar([scope](const TrackName& track) { return scope.Covers(track); }, now);
  }
  std::optional<TrackName> after;
  for (std::vector<TrackName> tracks = store_.Tracks(after, kTracksAtOnce); !tracks.empty();
       tracks = store_.Tracks(after, kTracksAtOnce)) {
    for (const TrackName& track : tracks) {
      if (acks_.IsAck(track)) {
        continue;  // It tells what has become of others, and has nothing of its own.
      }
      CountAll(scope, track, report);
      if (dry_run) {
        continue;
      }
      if (scope.Covers(track)) {
        ForgetTrack(track, now, report);
      } else if (scope.prefix && scope.MayHold(track)) {
        ForgetBlock(track, *scope.prefix, now, report);
      }
    }
    after = tracks.back();
  }
  if (dry_run) {
    return report;
  }
  store_.Pump(now);
  TakeEvents(now);
  report.pending = forgetting_.size();
  return report;
}

void Stock::OnForgotten(const StoreWritten& written) {
  if (forgetting_.erase(written.ticket) > 0 && written.error) {
    forgetting_failed_ = true;
  }
}

}  // namespace kvcast::relay
