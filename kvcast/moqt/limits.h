#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcast/base/chunk.h"
#include "kvcast/base/time.h"

namespace kvcast::moqt {

// What a session grants its peer. Nothing a peer says makes it hold more than these and the
// transport's windows.
struct Limits {
  // A larger object, or more properties, costs the peer the stream.
  uint64_t object_bytes_max = 64 * 1024 * 1024;
  size_t properties_bytes_max = 64 * 1024;
  // Where payloads that arrive are put, while it has room; else, or where there is none, on the
  // heap. Outlives the session.
  ChunkPool* payload_chunks = nullptr;

  // Objects that wait to be taken, per stream: at this many bytes the stream gets no more credit.
  // What it brings nevertheless, by the credit it has, is read up to four times that, and waits as
  // it came from there on.
  size_t stream_queue_bytes = 1024 * 1024;
  // The same over all streams: at this many, no stream gets more, or is read, whose request has
  // anything untaken.
  size_t session_queue_bytes = 64 * 1024 * 1024;
  // Objects of requests that had nothing untaken until they came: at this many bytes untaken, no
  // stream that brings objects gets more, or is read, and datagrams are dropped.
  size_t untaken_bytes_max = 256 * 1024 * 1024;
  // How long either may keep the peer from sending what other requests take at once: then what
  // waits must have fallen below the session's limit, or the request with most of it is ended.
  Duration room_patience = std::chrono::seconds(5);

  // Bytes kept for later: on streams that came before SETUP, or before their track's alias. A
  // stream that would pass them is refused.
  size_t early_bytes = 4 * 1024 * 1024;

  // Streams and datagrams that wait for the same; more are refused, or dropped. And how long they
  // may wait for their track.
  size_t waiting_streams_max = 1024;
  size_t waiting_datagrams_max = 64;
  Duration track_patience = std::chrono::seconds(10);
  // Bytes of objects that have begun and are not whole, over all streams: from here on, only those
  // get credit that lack least, as many as lack one large object together. And bytes of messages
  // and objects at which the stream that brings more is refused: more than the transport's windows
  // let in.
  size_t partial_bytes = 64 * 1024 * 1024;
  size_t partial_bytes_max = 768 * 1024 * 1024;
  // Datagrams' objects that wait to be taken, per track; more are dropped.
  size_t datagram_queue_bytes = 1024 * 1024;

  // What is remembered of all tracks, to notice when one contradicts itself. A track that would
  // pass it forgets.
  size_t rules_bytes = 16 * 1024 * 1024;

  // Requests of the peer that are open at a time; more are refused as excessive load.
  size_t requests_max = 4096;
  // Updates of one request that wait for an answer, of ours as well; more end the request.
  size_t updates_max = 16;
  // What they make us keep, as memory: names, tokens that were not told yet, and updates that wait
  // for an answer. A request that would pass it is refused as excessive load, an update as well.
  size_t request_bytes = 16 * 1024 * 1024;
  // Names of namespaces that the peer has told of and not withdrawn, with a little for each. More
  // end the request that brings them.
  size_t namespace_bytes = 8 * 1024 * 1024;
  // The same of those that it was told of by us.
  size_t told_namespace_bytes = 8 * 1024 * 1024;

  // Messages on a request's stream that wait for the transport, as memory: answers to updates and
  // namespaces told. More end the request. And the same over all requests: beyond half of it
  // no request of ours is made either.
  size_t answer_bytes = 4 * 1024 * 1024;
  size_t session_answer_bytes = 16 * 1024 * 1024;

  // Requests of ours that wait for the peer to let us open streams; more are not made.
  uint64_t requests_ahead = 1024;

  // Objects of ours that wait for the transport, per request, as memory: at `high` a sender should
  // pause, and it hears of it once they have fallen to `low`.
  size_t send_queue_high_bytes = 4 * 1024 * 1024;
  size_t send_queue_low_bytes = 1024 * 1024;

  // How long a joining fetch may wait for its subscription to come and be answered.
  Duration join_patience = std::chrono::seconds(10);

  // How long a track may be silent whose publisher is done and whose streams have not all come;
  // longer where delivery timeouts are.
  Duration end_patience = std::chrono::seconds(5);

  // How long the peer's SETUP may take.
  Duration setup_patience = std::chrono::seconds(10);
};

}  // namespace kvcast::moqt
