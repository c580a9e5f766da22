#include <vector>

#include "kvcast/host/config_table.h"

namespace kvcast {
namespace {

constexpr uint64_t kKibibyte = 1024;
constexpr uint64_t kGibibyte = uint64_t{1} << 30;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000 * kMillisecond;
constexpr uint64_t kBytesMost = uint64_t{1} << 50;
constexpr uint64_t kCountMost = uint64_t{1} << 32;
constexpr uint64_t kTimeMost = 24 * 3600 * kSecond;

ConfigKey SizeKey(const char* section, const char* name, ConfigPlace (*place)(NodeConfig&),
                  const char* meaning, uint64_t least = 0, uint64_t most = kBytesMost) {
  return {section, name, "", "SIZE", "", meaning, place, least, most};
}
ConfigKey CountKey(const char* section, const char* name, ConfigPlace (*place)(NodeConfig&),
                   const char* meaning, uint64_t least = 0, uint64_t most = kCountMost) {
  return {section, name, "", "N", "", meaning, place, least, most};
}
ConfigKey TimeKey(const char* section, const char* name, ConfigPlace (*place)(NodeConfig&),
                  const char* meaning, uint64_t least = 0, uint64_t most = kTimeMost) {
  return {section, name, "", "TIME", "", meaning, place, least, most};
}

// Where a member of the configuration is.
#define KVCAST_BYTES(member) [](NodeConfig& c) -> ConfigPlace { return ConfigBytes{&c.member}; }
#define KVCAST_COUNT(member) [](NodeConfig& c) -> ConfigPlace { return ConfigCount{&c.member}; }
#define KVCAST_TIME(member) [](NodeConfig& c) -> ConfigPlace { return &c.member; }

std::vector<ConfigKey> NodeLimitKeys() {
  const char* const in = "limits";
  return {
      SizeKey(
          in, "fetch_queue_bytes", KVCAST_BYTES(relay.fetch_queue_bytes),
          "Bytes that wait to be sent to one peer, of all its requests: at this many its fetches "
          "pause",
          64 * kKibibyte),
      SizeKey(in, "peer_queue_bytes", KVCAST_BYTES(relay.peer_queue_bytes),
              "The same, at which its subscriptions are ended: live objects cannot wait",
              64 * kKibibyte),
      SizeKey(in, "subscription_queue_bytes", KVCAST_BYTES(relay.subscription_queue_bytes),
              "Bytes that wait for a single subscription, at which it is ended", 64 * kKibibyte),
      CountKey(in, "published_max", KVCAST_COUNT(relay.published_max),
               "Tracks that are published to one peer because it asked for all below a prefix; a "
               "relay gets all",
               1),
      CountKey(in, "prefix_tracks_max", KVCAST_COUNT(relay.prefix_tracks_max),
               "A prefix with more tracks below it than this is refused as too large", 1),
      TimeKey(
          in, "range_patience", KVCAST_TIME(relay.range_patience),
          "How long a subscription whose track has gone past its last group waits for more of its "
          "range"),
      TimeKey(in, "answer_patience", KVCAST_TIME(relay.answer_patience),
              "How long a peer may take to answer when it is asked for a track that others want",
              1 * kMillisecond),
      TimeKey(in, "crossing_patience", KVCAST_TIME(relay.crossing_patience),
              "How long a PUBLISH may take that crosses a SUBSCRIBE of ours, once that was refused "
              "for it",
              1 * kMillisecond),
      CountKey(in, "asked_max", KVCAST_COUNT(relay.asked_max),
               "Tracks that one peer is asked for at a time", 1),
      SizeKey(in, "asked_bytes", KVCAST_BYTES(relay.asked_bytes),
              "Bytes of the names of these tracks", kKibibyte),
      TimeKey(in, "rendezvous_max", KVCAST_TIME(relay.rendezvous_max),
              "The longest that a subscription waits for a publisher"),
      TimeKey(
          in, "retry_after", KVCAST_TIME(relay.retry_after),
          "When those may ask again who were refused because there was no room, or no answer in "
          "time",
          1 * kMillisecond),
      TimeKey(
          in, "fetch_pin", KVCAST_TIME(relay.fetch_pin),
          "How long what a fetch is about to be sent stays in memory while it is being answered",
          1 * kMillisecond),
      CountKey(
          in, "warm_groups", KVCAST_COUNT(relay.warm_groups),
          "How many groups behind a fetch that has to be read from a tier below are brought into "
          "memory, at most"),
      TimeKey(in, "ack_patience", KVCAST_TIME(relay.ack_patience),
              "How long a publication that asked for durability is remembered after its end"),
      CountKey(in, "scopes_max", KVCAST_COUNT(relay.scopes_max),
               "Catalogs, one per tenant and model; one tenant may have as many as it leaves to "
               "others, and empty ones give way. Blocks of further ones are kept and served, but "
               "not listed",
               1),
      SizeKey(
          in, "epoch_bytes_min", KVCAST_BYTES(relay.epoch_bytes_min),
          "A catalog begins anew when its deltas have grown beyond its snapshot, and beyond this",
          kKibibyte),
  };
}

std::vector<ConfigKey> IdentityLimitKeys() {
  const char* const in = "limits";
  return {
      SizeKey(in, "identity_queue_bytes", KVCAST_BYTES(relay.identity_queue_bytes),
              "Bytes that wait for all sessions of one identity: beyond it they share it equally, "
              "and at twice as much no fetch of theirs gets more",
              64 * kKibibyte),
      SizeKey(in, "node_queue_bytes", KVCAST_BYTES(relay.node_queue_bytes),
              "The same for all peers; 0 is a quarter of the memory for blocks"),
      SizeKey(in, "identity_receive_bytes", KVCAST_BYTES(relay.identity_receive_bytes),
              "Bytes that have come of all sessions of one identity, and are neither whole nor "
              "taken: from half of it on its sessions are slowed down that have more than an equal "
              "part, at all of it they are refused more",
              256 * kKibibyte),
      SizeKey(in, "node_receive_bytes", KVCAST_BYTES(relay.node_receive_bytes),
              "The same of all peers; 0 is a quarter of the memory for blocks, and 64MiB at least"),
      TimeKey(in, "stall_patience", KVCAST_TIME(relay.stall_patience),
              "A fetch or a subscription of which something waits, and nothing was sent for so "
              "long, is ended; after a sixth of it while fetches wait for room that others take",
              kSecond),
      CountKey(in, "sessions_max", KVCAST_COUNT(relay.sessions_max),
               "Sessions of one identity at a time, a relay's as well; more are closed. Less than "
               "connections_max, so that one token cannot keep everybody else out",
               1),
      CountKey(in, "requests_per_second", KVCAST_COUNT(relay.requests_per_second),
               "Requests of one identity, updates included; 0 bounds nothing"),
      CountKey(in, "requests_burst", KVCAST_COUNT(relay.requests_burst),
               "So many of them at once after a pause", 1),
      CountKey(in, "streams_max", KVCAST_COUNT(relay.streams_max),
               "Requests of one identity that are open at a time, of all kinds: each has a stream. "
               "A relay's are bounded by bytes alone",
               1),
      CountKey(in, "data_streams_max", KVCAST_COUNT(relay.data_streams_max),
               "One-way streams of one identity that are open at a time: each brings objects, and "
               "more are refused. A relay's are bounded by bytes alone",
               16),
      CountKey(in, "publications_max", KVCAST_COUNT(relay.publications_max),
               "Publications of one identity at a time", 1),
      CountKey(in, "subscriptions_max", KVCAST_COUNT(relay.subscriptions_max),
               "Subscriptions of one identity at a time", 1),
      CountKey(in, "fetches_max", KVCAST_COUNT(relay.fetches_max),
               "Fetches of one identity at a time", 1),
      CountKey(in, "namespaces_max", KVCAST_COUNT(relay.namespaces_max),
               "Namespaces that one identity announces, and prefixes that it follows", 1),
      CountKey(in, "useless_per_second", KVCAST_COUNT(relay.useless_per_second),
               "What leads to nothing, such as requests taken back or not allowed: faster than "
               "this, and the session is closed",
               1),
      CountKey(in, "useless_burst", KVCAST_COUNT(relay.useless_burst),
               "So much of it at once after a pause", 1),
  };
}

std::vector<ConfigKey> UpstreamLimitKeys() {
  const char* const in = "limits";
  return {
      TimeKey(in, "upstream_patience", KVCAST_TIME(relay.upstream_patience),
              "How long somebody upstream may bring nothing of what was fetched, before the next "
              "is asked",
              1 * kMillisecond),
      TimeKey(in, "miss_patience", KVCAST_TIME(relay.miss_patience),
              "How long a fetch waits in one place before what it lacks is called unknown",
              1 * kMillisecond),
      TimeKey(in, "move_patience", KVCAST_TIME(relay.move_patience),
              "How long what is under way with an upstream that is leaving may take, once the node "
              "has another session in its place",
              1 * kMillisecond),
      SizeKey(in, "upstream_ahead_bytes", KVCAST_BYTES(relay.upstream_ahead_bytes),
              "Payloads taken from upstream beyond what the foremost who wants them has passed",
              64 * kKibibyte),
      TimeKey(in, "follow_patience", KVCAST_TIME(relay.follow_patience),
              "How long who wants all below a prefix waits for those upstream to be heard as well"),
      TimeKey(in, "follow_linger", KVCAST_TIME(relay.follow_linger),
              "How long upstreams are still asked for all below a prefix that nobody wants any "
              "more"),
      CountKey(
          in, "followed_max", KVCAST_COUNT(relay.followed_max),
          "Prefixes that upstreams are asked for because somebody wants them; one identity may "
          "have as many as it leaves to others",
          1),
      TimeKey(in, "ring_interval", KVCAST_TIME(relay.ring_interval),
              "How often it is looked whether what is asked of an upstream comes back", kSecond),
  };
}

std::vector<ConfigKey> SessionObjectKeys() {
  const char* const in = "limits.session";
  return {
      SizeKey(in, "object_bytes_max", KVCAST_BYTES(session.object_bytes_max),
              "A larger object costs the peer the stream", kKibibyte),
      SizeKey(in, "properties_bytes_max", KVCAST_BYTES(session.properties_bytes_max),
              "So do more properties of one object", kKibibyte),
      SizeKey(
          in, "stream_queue_bytes", KVCAST_BYTES(session.stream_queue_bytes),
          "Objects that wait to be taken, per stream: at this many bytes it gets no more credit",
          64 * kKibibyte),
      SizeKey(in, "session_queue_bytes", KVCAST_BYTES(session.session_queue_bytes),
              "The same over all streams of a session", 64 * kKibibyte),
      SizeKey(in, "untaken_bytes_max", KVCAST_BYTES(session.untaken_bytes_max),
              "Objects of requests that had nothing untaken until they came: at this many bytes no "
              "stream of the session gets more",
              64 * kKibibyte),
      TimeKey(in, "room_patience", KVCAST_TIME(session.room_patience),
              "How long either may keep the peer from sending what other requests take at once",
              1 * kMillisecond),
      SizeKey(in, "early_bytes", KVCAST_BYTES(session.early_bytes),
              "Bytes kept for later, of streams that came before SETUP or before their track",
              64 * kKibibyte),
      CountKey(in, "waiting_streams_max", KVCAST_COUNT(session.waiting_streams_max),
               "Streams that wait for the same; more are refused", 1),
      CountKey(in, "waiting_datagrams_max", KVCAST_COUNT(session.waiting_datagrams_max),
               "Datagrams that wait for the same; more are dropped"),
      TimeKey(in, "track_patience", KVCAST_TIME(session.track_patience),
              "How long they may wait for their track", 1 * kMillisecond),
      SizeKey(in, "partial_bytes", KVCAST_BYTES(session.partial_bytes),
              "Bytes of objects that have begun and are not whole, over all streams: from here on "
              "only those get credit that lack least",
              64 * kKibibyte),
      SizeKey(in, "partial_bytes_max", KVCAST_BYTES(session.partial_bytes_max),
              "Bytes of messages and objects that are not whole, at which the stream that brings "
              "more is refused",
              64 * kKibibyte),
      SizeKey(in, "datagram_queue_bytes", KVCAST_BYTES(session.datagram_queue_bytes),
              "Objects of datagrams that wait to be taken, per track; more are dropped", kKibibyte),
      SizeKey(in, "rules_bytes", KVCAST_BYTES(session.rules_bytes),
              "What is remembered of all tracks, to notice when one contradicts itself",
              64 * kKibibyte),
  };
}

std::vector<ConfigKey> SessionRequestKeys() {
  const char* const in = "limits.session";
  return {
      CountKey(in, "requests_max", KVCAST_COUNT(session.requests_max),
               "Requests of the peer that are open at a time; more are refused as excessive load",
               1),
      CountKey(in, "updates_max", KVCAST_COUNT(session.updates_max),
               "Updates of one request that wait for an answer; more end the request", 1),
      SizeKey(in, "request_bytes", KVCAST_BYTES(session.request_bytes),
              "Memory that the names and tokens of the peer's requests take", 64 * kKibibyte),
      SizeKey(in, "namespace_bytes", KVCAST_BYTES(session.namespace_bytes),
              "Names of namespaces that the peer has told of and not withdrawn", 64 * kKibibyte),
      SizeKey(in, "told_namespace_bytes", KVCAST_BYTES(session.told_namespace_bytes),
              "The same of those that it was told of", 64 * kKibibyte),
      SizeKey(in, "answer_bytes", KVCAST_BYTES(session.answer_bytes),
              "Messages on one request that wait for the peer to read them; more end the request",
              64 * kKibibyte),
      SizeKey(in, "session_answer_bytes", KVCAST_BYTES(session.session_answer_bytes),
              "The same over all requests of a session", 64 * kKibibyte),
      CountKey(in, "requests_ahead", KVCAST_COUNT(session.requests_ahead),
               "Requests of ours that wait for the peer to let us open streams", 1),
      SizeKey(in, "send_queue_high_bytes", KVCAST_BYTES(session.send_queue_high_bytes),
              "Objects that wait to be sent, per request: at this many bytes their sender pauses",
              64 * kKibibyte),
      SizeKey(in, "send_queue_low_bytes", KVCAST_BYTES(session.send_queue_low_bytes),
              "It goes on once they have fallen to this", kKibibyte),
      TimeKey(in, "join_patience", KVCAST_TIME(session.join_patience),
              "How long a joining fetch may wait for its subscription", 1 * kMillisecond),
      TimeKey(
          in, "end_patience", KVCAST_TIME(session.end_patience),
          "How long a track may be silent whose publisher is done and whose streams have not all "
          "come",
          1 * kMillisecond),
      TimeKey(in, "setup_patience", KVCAST_TIME(session.setup_patience),
              "How long the peer's SETUP may take", 1 * kMillisecond),
  };
}

std::vector<ConfigKey> QuicLimitKeys() {
  const char* const in = "limits.quic";
  return {
      CountKey(in, "connections_max", KVCAST_COUNT(quic.connections_max),
               "Connections; clients beyond these are not answered, and try again", 1),
      CountKey(
          in, "handshakes_max", KVCAST_COUNT(quic.handshakes_max),
          "Of those, how many may still be proving who they are. At so many the oldest goes, of "
          "the network (24 bits of an IPv4 address, 56 of an IPv6 one) that has most, when "
          "another comes that has shown where it is",
          1),
      CountKey(in, "handshakes_before_retry", KVCAST_COUNT(quic.handshakes_before_retry),
               "From so many on, a client has to show first that it is where it says"),
      CountKey(in, "resets_per_second", KVCAST_COUNT(quic.resets_per_second),
               "How often peers of an earlier run are told in a second that it is over"),
      CountKey(in, "peer_streams_uni", KVCAST_COUNT(quic.connection.peer_streams_uni),
               "One-way streams that a peer may have open at a time", 16, 1048576),
      CountKey(in, "peer_streams_bidi", KVCAST_COUNT(quic.connection.peer_streams_bidi),
               "Two-way streams, one for each request, that a peer may have open at a time", 16,
               1048576),
      SizeKey(in, "stream_credit_bytes", KVCAST_BYTES(quic.connection.stream_credit_bytes),
              "What a peer may send on one stream before anything of it was taken", 16 * kKibibyte,
              1 * kGibibyte),
      SizeKey(in, "stream_credit_bytes_max", KVCAST_BYTES(quic.connection.stream_credit_bytes_max),
              "To what that grows while it is what holds the peer up", 16 * kKibibyte,
              1 * kGibibyte),
      SizeKey(in, "stream_growth_bytes_max", KVCAST_BYTES(quic.connection.stream_growth_bytes_max),
              "By how much all streams of a connection grow together", 0, 16 * kGibibyte),
      SizeKey(in, "connection_credit_bytes", KVCAST_BYTES(quic.connection.connection_credit_bytes),
              "What a peer may send on all streams before anything of it was taken", 64 * kKibibyte,
              4 * kGibibyte),
      SizeKey(in, "connection_credit_bytes_max",
              KVCAST_BYTES(quic.connection.connection_credit_bytes_max),
              "To what that grows while it is what holds the peer up", 64 * kKibibyte,
              4 * kGibibyte),
      SizeKey(in, "datagram_queue_bytes", KVCAST_BYTES(quic.connection.datagram_queue_bytes),
              "Datagrams that wait to be sent; more are dropped"),
      TimeKey(in, "idle_timeout", KVCAST_TIME(quic.connection.idle_timeout),
              "Silence for so long ends a connection", 100 * kMillisecond, 86400 * kSecond),
      TimeKey(in, "keep_alive", KVCAST_TIME(quic.connection.keep_alive),
              "How often a connection without traffic is kept alive; 0s never does", 0,
              86400 * kSecond),
      TimeKey(in, "handshake_timeout", KVCAST_TIME(quic.connection.handshake_timeout),
              "How long a handshake may take", 100 * kMillisecond, 600 * kSecond),
  };
}

#undef KVCAST_BYTES
#undef KVCAST_COUNT
#undef KVCAST_TIME

}  // namespace

void AddLimitKeys(std::vector<ConfigKey>& keys) {
  for (const auto& some : {NodeLimitKeys(), IdentityLimitKeys(), UpstreamLimitKeys(),
                           SessionObjectKeys(), SessionRequestKeys(), QuicLimitKeys()}) {
    keys.insert(keys.end(), some.begin(), some.end());
  }
}

}  // namespace kvcast
