#pragma once

#include <cstddef>

#include "kvcast/base/time.h"

namespace kvcast::relay {

// What one peer may cost a node, and how the node writes its catalogs.
struct Limits {
  // Bytes that wait to be sent to one peer, of all its requests. At the first its fetches pause,
  // at the second its subscriptions are ended: live objects cannot wait.
  size_t fetch_queue_bytes = 32 * 1024 * 1024;
  size_t peer_queue_bytes = 64 * 1024 * 1024;
  // The same of a single subscription.
  size_t subscription_queue_bytes = 8 * 1024 * 1024;
  // The same of all sessions of one identity, and of all peers: beyond it, each session for which
  // anything waits has an equal part, and is treated as above when it has more; at twice as much,
  // no fetch gets more until some of it has gone. Of all peers, 0 stands for a quarter of the
  // memory for blocks.
  size_t identity_queue_bytes = 256 * 1024 * 1024;
  size_t node_queue_bytes = 0;
  // Bytes that have come of all sessions of one identity, or of all peers, and are neither whole
  // nor taken: from half of it on those who have most of it are slowed down, and at all of it they
  // are refused more, see ReceiveRoom. Of all peers, 0 stands for a quarter of the memory for
  // blocks, and for one large object at least.
  size_t identity_receive_bytes = 256 * 1024 * 1024;
  size_t node_receive_bytes = 0;
  // A fetch or a subscription of which something waits, and nothing was sent for so long, is ended.
  // Windows are opened in steps, so that who is slow may seem to stand still for a while. While
  // fetches wait for room that others take, a sixth of it is enough.
  Duration stall_patience = std::chrono::seconds(60);

  // Sessions of one identity at a time, a relay's as well: one that is beyond it is closed, so that
  // whoever has a token cannot take every connection that there is.
  size_t sessions_max = 4096;
  // What one identity may ask for, over all its sessions; a relay's is limited by bytes alone.
  // Requests, with updates, in a second, and so many at once after a pause; 0 bounds nothing.
  uint64_t requests_per_second = 20'000;
  uint64_t requests_burst = 40'000;
  // At a time: requests of all kinds, each of which has a stream; and of these publications,
  // subscriptions, fetches, and namespaces announced or prefixes followed.
  size_t streams_max = 4096;
  size_t publications_max = 4096;
  size_t subscriptions_max = 4096;
  size_t fetches_max = 4096;
  size_t namespaces_max = 1024;
  // Streams that bring objects, at a time.
  size_t data_streams_max = 16 * 1024;
  // What leads to nothing, such as requests taken back or not allowed: whoever goes on with it
  // faster than this has its session closed.
  uint64_t useless_per_second = 1000;
  uint64_t useless_burst = 10'000;

  // Tracks that we publish to one peer because it asked for all below a prefix.
  size_t published_max = 1024;
  // A prefix with more tracks below it than this is refused as too large.
  size_t prefix_tracks_max = 4096;

  // How long a subscription whose track has gone past its last group waits for more of its range,
  // counted from the last that came of it, where nobody can tell whether there is more. Streams
  // that were sent together come within that, resent and reordered, on any network that is of use;
  // a track whose own delivery timeouts are longer gets those.
  Duration range_patience = std::chrono::seconds(10);

  // How long a peer may take to answer when it is asked for a track that others want.
  Duration answer_patience = std::chrono::seconds(10);
  // How long a PUBLISH may take that crosses a SUBSCRIBE of ours, once that was refused for it.
  Duration crossing_patience = std::chrono::seconds(2);

  // How long somebody upstream may bring nothing of what was fetched, before the next is asked;
  // and how long a fetch waits in one place before what it lacks is called unknown.
  Duration upstream_patience = std::chrono::seconds(4);
  Duration miss_patience = std::chrono::seconds(10);
  // How long what is under way with an upstream that is leaving may take, once another session has
  // taken the place of that one.
  Duration move_patience = std::chrono::seconds(10);
  // Payloads that are taken from upstream beyond what the foremost who wants them has passed.
  size_t upstream_ahead_bytes = 16 * 1024 * 1024;

  // How long who wants all below a prefix waits for those upstream to be heard as well: what is
  // here would be taken for all there is.
  Duration follow_patience = std::chrono::seconds(1);
  // How long upstreams are still asked for all below a prefix that nobody wants any more, and how
  // many prefixes they are asked for at most; one identity may have as many as it leaves to others.
  Duration follow_linger = std::chrono::minutes(10);
  size_t followed_max = 4096;
  // How often it is looked whether what is asked of an upstream comes back to us.
  Duration ring_interval = std::chrono::seconds(60);

  // Tracks that one peer is asked for at a time, and the bytes of their names; it is not asked for
  // more.
  size_t asked_max = 4096;
  size_t asked_bytes = 1024 * 1024;

  // The longest that a subscription waits for a publisher (RENDEZVOUS_TIMEOUT).
  Duration rendezvous_max = std::chrono::seconds(60);

  // When those may ask again who were refused because there was no room, or no answer in time.
  Duration retry_after = std::chrono::seconds(5);

  // What a fetch is about to be sent stays in memory for so long, while it is being answered.
  Duration fetch_pin = std::chrono::seconds(10);
  // A fetch that has to be read from a tier below has as many groups behind it warmed, up to this.
  uint64_t warm_groups = 8;

  // Payloads that wait to be durable, of all peers: at this, publications that ask for it pause.
  size_t pledged_bytes = 64 * 1024 * 1024;
  // How long a publication that asked for durability is remembered after its end, for those who
  // still want to hear what it has reached.
  Duration ack_patience = std::chrono::seconds(30);

  // Catalogs; blocks of further scopes are kept and served, but not listed. A tenant may have as
  // many as it leaves to others.
  size_t scopes_max = 4096;
  // A catalog begins anew when its deltas have grown beyond its snapshot, and beyond this.
  size_t epoch_bytes_min = 256 * 1024;
};

}  // namespace kvcast::relay
