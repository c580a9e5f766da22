#include "kvcast/relay/relay_metrics.h"

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

}  // namespace

RelayMetrics::RelayMetrics(Metrics& metrics)
    : metrics_(&metrics),
      objects_received_(
          metrics.counter("kvcast_relay_received_objects_total", "Objects that publishers sent.")),
      bytes_received_(metrics.counter("kvcast_relay_received_bytes_total", "Their payloads.")),
      objects_sent_(metrics.counter("kvcast_relay_sent_objects_total",
                                    "Objects sent for fetches and subscriptions.")),
      bytes_sent_(metrics.counter("kvcast_relay_sent_bytes_total", "Their payloads.")),
      publications(metrics.counter("kvcast_relay_publications_total", "Publications accepted.")),
      subscriptions(metrics.counter("kvcast_relay_subscriptions_total",
                                    "Subscriptions begun, whoever asked for them.")),
      subscriptions_cut(metrics.counter("kvcast_relay_subscriptions_cut_total",
                                        "Subscriptions ended because too much waited for them.")),
      fetches(metrics.counter("kvcast_relay_fetches_total", "Fetches accepted.")),
      malformed_tracks(metrics.counter("kvcast_relay_malformed_tracks_total",
                                       "Publications ended because they contradict what is kept.")),
      groups_evicted(metrics.counter("kvcast_relay_evicted_groups_total",
                                     "Groups that made room for others.")),
      objects_expired(metrics.counter("kvcast_relay_expired_objects_total",
                                      "Objects given up because their publisher wants it so.")),
      peers(metrics.gauge("kvcast_relay_peers", "Sessions that take part.")),
      blocks_listed(metrics.gauge("kvcast_relay_listed_blocks", "Blocks in all catalogs.")),
      stored_bytes(metrics.gauge("kvcast_relay_stored_bytes", "Bytes in memory, index included.")),
      stored_objects(metrics.gauge("kvcast_relay_stored_objects", "Objects in memory.")) {}

void RelayMetrics::Received(const Object& object) {
  objects_received_.Add();
  bytes_received_.Add(object.payload.size());
}

void RelayMetrics::Sent(const Object& object) {
  objects_sent_.Add();
  bytes_sent_.Add(object.payload.size());
}

void RelayMetrics::Refused(moqt::RequestCode code) {
  metrics_
      ->counter("kvcast_relay_refusals_total", "Requests refused.",
                {{"code", std::string(NameOf(code))}})
      .Add();
}

}  // namespace kvcast::relay
