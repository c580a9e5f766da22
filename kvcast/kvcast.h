/* kvcast: share KV caches between inference engines. The C interface of libkvcast.
 *
 * Two faces, which can be used side by side:
 *
 *   kvcast_store   for engines that bring their own keys, layout and host memory: values are put,
 *                  looked up and got in batches, on memory that is registered once.
 *   kvcast_cache   for engines that say what their pages hold: the blocks of a prompt are named by
 *                  their tokens, published, found and loaded at several rungs of compression, and
 *                  engines with other page layouts can use them.
 *
 * Nothing here throws, and nothing a node does makes a call fail: what cannot be had has a status
 * that says so, and is computed again. Bytes that are reported are exactly those that were stored.
 *
 * Threads: every function may be called from any thread, on one handle from several at a time; only
 * a handle that is being closed must not be used by anybody else. Handles belong to the process
 * that opened them: after fork() the child must not touch them.
 *
 * Growth: structs begin with their size, which the caller sets, as in
 *     kvcast_node node = {.struct_size = sizeof node, .address = "cache-1:4443#5f0c..."};
 * (C++ programs have kvcast.hpp, which does that for them.)
 * What is left out is zero, and zero is always a sensible default. Functions and fields are added,
 * never changed or removed, while the library's SOVERSION stays.
 *
 * Times: of any that is given, timeouts and waits too, what goes beyond an hour counts as an hour.
 *
 * docs/reference/api.md has all of it, docs/guides/embed.md begins with a program. */
#ifndef KVCAST_KVCAST_H_
#define KVCAST_KVCAST_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KVCAST_API __attribute__((visibility("default")))
#else
#define KVCAST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What this header is of; kvcast_version() is of the library that is there. */
#define KVCAST_VERSION_MAJOR 0
#define KVCAST_VERSION_MINOR 1
#define KVCAST_VERSION_PATCH 0

/* major << 16 | minor << 8 | patch */
KVCAST_API uint32_t kvcast_version(void);
KVCAST_API const char* kvcast_version_text(void);

/* How a call ended. Below zero it did nothing. */
typedef int32_t kvcast_code;
enum {
  KVCAST_OK = 0,
  KVCAST_PENDING = 1,      /* Not yet: ask again. */
  KVCAST_INVALID = -1,     /* The arguments make no sense. */
  KVCAST_NOT_FOUND = -2,   /* There is no such thing. */
  KVCAST_TOO_LARGE = -3,   /* A bound was passed. */
  KVCAST_MISMATCH = -4,    /* Two things that must agree do not. */
  KVCAST_MALFORMED = -5,   /* A file, or a text, is not as it must be. */
  KVCAST_UNSUPPORTED = -6, /* This version does not do that. */
  KVCAST_MACHINE = -7,     /* The machine, or the network, said no: a node that is not there. */
  KVCAST_NO_MEMORY = -8,
  KVCAST_INTERNAL = -9 /* A fault of ours. */
};
KVCAST_API const char* kvcast_code_text(kvcast_code code);
/* Of the last call on this thread that ended below zero: a sentence for a person. Never null; good
 * until the thread's next call. */
KVCAST_API const char* kvcast_message(void);

/* How many threads encode and decode caches, for all handles of this process together; 0, and
 * where nobody says: half the cores that it may use, from 1 to 8. Counts for handles that are
 * opened while none is open. */
KVCAST_API void kvcast_set_codec_threads(uint32_t threads);

/* Where a node is, and who asks it. */
typedef struct kvcast_node {
  size_t struct_size;
  /* HOST:PORT#FINGERPRINT, as `kvcast serve` prints it; or HOST:PORT, where an authority vouches.
   */
  const char* address;
  const char* authorities; /* A PEM file with those to trust; null: those of this machine. */
  const char* certificate; /* To show to a node that asks: PEM files, both or none. */
  const char* certificate_key;
  const char* token;      /* To send to a node that knows its clients by tokens. */
  const char* tenant;     /* Whose names these are; null: "public". */
  const void* naming_key; /* The tenant's, 32 bytes; null for "public", and only there. */
  /* How long to wait until the node is there; 0: 10 s. Below 0: not at all; a store then connects
   * when it can. */
  int64_t patience_ms;
  /* What may be remembered of what nodes hold; 0: 1 GiB. */
  uint64_t index_bytes_max;
  /* Addresses of others that will do as well, in order of preference: the next one is used when the
   * one before is not there or is lost. All are trusted, and asked, in the same way. */
  const char* const* others;
  size_t other_count;
  /* Of a cache: what of this host's memory may hold blocks that are prefetched; 0: 256 MiB. */
  uint64_t prefetch_bytes_max;
  /* Of a cache: above 0, its connection is shared with no other cache of this process. */
  int32_t own_connection;
} kvcast_node;

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "kvcast/kvcast_cache.h"   /* IWYU pragma: export */
#include "kvcast/kvcast_loading.h" /* IWYU pragma: export */
#include "kvcast/kvcast_store.h"   /* IWYU pragma: export */

#endif /* KVCAST_KVCAST_H_ */
