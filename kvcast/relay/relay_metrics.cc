#include "kvcast/relay/relay_metrics.h"

#include <chrono>
#include <string>

namespace kvcast::relay {
namespace {

std::string_view NameOf(moqt::RequestCode code) {
  using Code = moqt::RequestCode;
  switch (code) {
    case Code::kUnauthorized:
      return "unauthorized";
    case Code::kDoesNotExist:
      return "does_not_exist";
    case Code::kNamespaceTooLarge:
      return "namespace_too_large";
    case Code::kInvalidRange:
      return "invalid_range";
    case Code::kExcessiveLoad:
      return "excessive_load";
    default:
      return "other";
  }
}

// Counters of the store's own, each with the one that shows it.
std::vector<std::pair<uint64_t StoreCounts::*, Counter*>> StoreCountersOf(Metrics& metrics) {
  std::vector<std::pair<uint64_t StoreCounts::*, Counter*>> counters;
  const auto add = [&](uint64_t StoreCounts::*count, const char* name, const char* help) {
    counters.emplace_back(count, &metrics.counter(name, help));
  };
  add(&StoreCounts::ram_hits, "kvcast_store_memory_hits_total", "Objects given from memory.");
  add(&StoreCounts::lower_hits, "kvcast_store_lower_hits_total",
      "Objects given from a tier below memory.");
  add(&StoreCounts::misses, "kvcast_store_misses_total", "Objects asked for and not to be had.");
  add(&StoreCounts::timeouts, "kvcast_store_timeouts_total",
      "Those of them for which a tier took too long.");
  add(&StoreCounts::promoted, "kvcast_store_promoted_objects_total",
      "Objects that came up into memory.");
  add(&StoreCounts::demoted, "kvcast_store_demoted_groups_total",
      "Groups that went from memory to a tier below.");
  add(&StoreCounts::not_demoted, "kvcast_store_not_demoted_groups_total",
      "Groups that memory evicted and no tier took.");
  add(&StoreCounts::demotions_failed, "kvcast_store_failed_demotions_total",
      "Groups that were lost on their way down.");
  add(&StoreCounts::expired, "kvcast_store_expired_objects_total",
      "Objects read from below that may be kept no longer.");
  add(&StoreCounts::write_failures, "kvcast_store_write_failures_total",
      "Writes that were to be durable, and failed.");
  return counters;
}

}  // namespace

UpstreamTallies::UpstreamTallies(Metrics& metrics, const bool& muted)
    : fetches(metrics.counter("kvcast_upstream_fetches_total",
                              "Ranges asked for upstream, each time one was."),
              muted),
      objects(metrics.counter("kvcast_upstream_objects_total", "Objects that came of them."),
              muted),
      bytes(metrics.counter("kvcast_upstream_bytes_total", "Their payloads."), muted),
      coalesced(metrics.counter("kvcast_upstream_coalesced_total",
                                "Fetches that found what they lack on its way already."),
                muted),
      failures(metrics.counter(
                   "kvcast_upstream_failures_total",
                   "Ranges that were asked for, and refused, broken off, or not answered in time."),
               muted),
      prefixes_refused(
          metrics.counter("kvcast_upstream_refused_prefixes_total",
                          "Prefixes of which an upstream was to tell, and does not; each time."),
          muted),
      tracks_blocked(metrics.counter(
                         "kvcast_upstream_blocked_tracks_total",
                         "Tracks that an upstream has no room to publish to this node; each time."),
                     muted),
      offers_refused(metrics.counter("kvcast_upstream_refused_offers_total",
                                     "Catalogs and namespaces that an upstream has no room for; "
                                     "each time."),
                     muted) {}

ReceptionTallies::ReceptionTallies(Metrics& metrics, const bool& muted)
    : bytes(metrics.gauge("kvcast_relay_receiving_bytes",
                          "Bytes that have come of all peers, and are neither whole nor taken.")),
      refused(metrics.counter("kvcast_relay_refused_receptions_total",
                              "What publishers sent and there was no room for, of their identity "
                              "or of the node: streams refused, and requests ended."),
              muted) {}

RelayMetrics::RelayMetrics(Metrics& metrics)
    : metrics_(&metrics),
      objects_received_(
          metrics.counter("kvcast_relay_received_objects_total", "Objects that publishers sent."),
          muted_),
      bytes_received_(metrics.counter("kvcast_relay_received_bytes_total", "Their payloads."),
                      muted_),
      objects_sent_(metrics.counter("kvcast_relay_sent_objects_total",
                                    "Objects sent for fetches and subscriptions."),
                    muted_),
      bytes_sent_(metrics.counter("kvcast_relay_sent_bytes_total", "Their payloads."), muted_),
      fetch_seconds_(metrics.histogram(
          "kvcast_relay_fetch_seconds",
          "From a fetch that was accepted until all of it was handed to its connection.",
          Histogram::Exponential(0.0001, 4, 10))),
      publications(metrics.counter("kvcast_relay_publications_total", "Publications accepted."),
                   muted_),
      subscriptions(metrics.counter("kvcast_relay_subscriptions_total",
                                    "Subscriptions begun, whoever asked for them."),
                    muted_),
      subscriptions_cut(metrics.counter("kvcast_relay_subscriptions_cut_total",
                                        "Subscriptions ended because too much waited for them."),
                        muted_),
      tracks_blocked(metrics.counter("kvcast_relay_blocked_tracks_total",
                                     "Tracks below a prefix that were not published to who wants "
                                     "them, since that one has too many; each time."),
                     muted_),
      fetches(metrics.counter("kvcast_relay_fetches_total", "Fetches accepted."), muted_),
      fetches_cut(metrics.counter("kvcast_relay_fetches_cut_total",
                                  "Fetches ended because nothing of them was taken for too long."),
                  muted_),
      unauthorized(metrics.counter("kvcast_relay_unauthorized_total",
                                   "Requests and sessions that their credential did not cover."),
                   muted_),
      prefixes_refused(
          metrics.counter("kvcast_relay_refused_prefixes_total",
                          "Prefixes refused because upstreams are asked for too many."),
          muted_),
      malformed_tracks(metrics.counter("kvcast_relay_malformed_tracks_total",
                                       "Publications ended because they contradict what is kept."),
                       muted_),
      groups_evicted(
          metrics.counter("kvcast_relay_evicted_groups_total", "Groups that made room for others."),
          muted_),
      objects_expired(metrics.counter("kvcast_relay_expired_objects_total",
                                      "Objects given up because their publisher wants it so."),
                      muted_),
      blocks_unlisted(metrics.counter("kvcast_relay_unlisted_blocks_total",
                                      "Blocks that no catalog has room to list."),
                      muted_),
      upstream(metrics, muted_),
      peers(metrics.gauge("kvcast_relay_peers", "Sessions that take part.")),
      blocks_listed(metrics.gauge("kvcast_relay_listed_blocks", "Blocks in all catalogs.")),
      stored_bytes(metrics.gauge("kvcast_relay_stored_bytes", "Bytes in memory, index included.")),
      stored_objects(metrics.gauge("kvcast_relay_stored_objects", "Objects in memory.")),
      demoting_bytes_(metrics.gauge("kvcast_store_demoting_bytes",
                                    "Payloads on their way from memory to a tier below.")),
      reads_waiting_(metrics.gauge("kvcast_store_reads_waiting",
                                   "Objects asked for that a tier below is to read.")) {
  store_counters_ = StoreCountersOf(metrics);
}

void RelayMetrics::Show(const StoreCounts& counts, uint64_t demoting_bytes, size_t reads_waiting) {
  for (const auto& [count, counter] : store_counters_) {
    counter->Add(muted_ ? 0 : counts.*count - shown_.*count);
  }
  shown_ = counts;
  if (muted_) {
    return;
  }
  demoting_bytes_.Set(static_cast<int64_t>(demoting_bytes));
  reads_waiting_.Set(static_cast<int64_t>(reads_waiting));
}

void RelayMetrics::Received(const Object& object) {
  objects_received_.Add();
  bytes_received_.Add(object.payload.size());
}

void RelayMetrics::Sent(const Object& object) {
  objects_sent_.Add();
  bytes_sent_.Add(object.payload.size());
}

void RelayMetrics::Fetched(Duration took) {
  if (!muted_) {
    fetch_seconds_.Observe(std::chrono::duration<double>(took).count());
  }
}

void RelayMetrics::Missed(std::string_view reason) {
  if (!muted_) {
    metrics_
        ->counter("kvcast_relay_missed_fetches_total", "Fetches that got less than they asked for.",
                  {{"reason", std::string(reason)}})
        .Add();
  }
}

void RelayMetrics::Refused(moqt::RequestCode code) {
  if (muted_) {
    return;
  }
  metrics_
      ->counter("kvcast_relay_refusals_total", "Requests refused.",
                {{"code", std::string(NameOf(code))}})
      .Add();
}

}  // namespace kvcast::relay
