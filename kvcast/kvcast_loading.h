/* The cache, while nobody waits: loads and publications that an engine begins, and asks for when it
 * likes. Included by kvcast.h. */
#ifndef KVCAST_KVCAST_LOADING_H_
#define KVCAST_KVCAST_LOADING_H_

#include "kvcast/kvcast_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of what was begun below and is not gone: `tag` becomes that of a load that has come further, or
 * of whatever is over, since this last said so. KVCAST_PENDING: none has. */
KVCAST_API kvcast_code kvcast_cache_news(kvcast_cache* cache, uint64_t* tag);
/* A descriptor that can be read while kvcast_cache_news() would give a tag: for select, poll and
 * epoll. The cache's own: not to be closed, and it need not be read. */
KVCAST_API int kvcast_cache_fd(const kvcast_cache* cache);

/* A load that goes on by itself. Its pages may be written to until it is gone; blocks that have
 * come stay as they are. One call at a time, from any thread. */
typedef struct kvcast_loading kvcast_loading;

/* As kvcast_cache_load(), and waits for nothing; `terms` may be null. The prompt and the terms may
 * go when it returns. The cache must stay open until the load is gone. */
KVCAST_API kvcast_code kvcast_cache_begin_load(kvcast_cache* cache, const kvcast_prompt* prompt,
                                               const kvcast_terms* terms, kvcast_loading** loading);
/* The first so many of the prompt's tokens are in their pages by now, and can be used. */
KVCAST_API uint64_t kvcast_loading_tokens(const kvcast_loading* loading);
/* Pages of the first so many of the prompt's tokens may be written to now; it never becomes less.
 * What has no room is not asked for. Waits for nothing. */
KVCAST_API void kvcast_loading_room(kvcast_loading* loading, uint64_t tokens);
/* Ends it as soon as can be; what has come counts. Waits for nothing. */
KVCAST_API void kvcast_loading_cancel(kvcast_loading* loading);
/* How it ended, as kvcast_cache_load() tells it: the load is gone then, and no page is touched any
 * more. KVCAST_PENDING: it goes on. wait_us: how long to wait for that; 0: not at all; below 0: to
 * its end. `blocks` may be null where `count` is null or 0, and is as in
 * kvcast_cache_load_blocks(). */
KVCAST_API kvcast_code kvcast_loading_wait(kvcast_loading* loading, int64_t wait_us,
                                           kvcast_report* report, kvcast_block* blocks,
                                           size_t block_size, size_t* count);
/* Gives it up: it is gone, and no page is touched after this returns. Null is none. */
KVCAST_API void kvcast_loading_abandon(kvcast_loading* loading);

/* Blocks on their way into this host's memory. One call at a time, from any thread. */
typedef struct kvcast_prefetch kvcast_prefetch;

/* A prompt, or as much of it as is known, that will be loaded soon: the blocks that can be had are
 * brought here, behind all that somebody waits for, and the node has them at hand then, too. A load
 * of this cache takes them from here, once. No page is touched, and the prompt need not have any.
 * The terms are those of the load to come, and choose the best rung that there is; where they have
 * follow_us or begin_us, blocks that nobody holds yet are waited for, to timeout_us. There is room
 * for prefetch_bytes_max (kvcast_node): what was brought before gives way, and what does not fit is
 * left out from the end. Blocks that a load of this cache asks for are left to it; that ends the
 * prefetch if no others are left. Waits for nothing; `terms` may be null. The cache must stay open
 * until the prefetch is gone. */
KVCAST_API kvcast_code kvcast_cache_begin_prefetch(kvcast_cache* cache, const kvcast_prompt* prompt,
                                                   const kvcast_terms* terms,
                                                   kvcast_prefetch** prefetch);
/* How it ended: it is gone then. KVCAST_PENDING: it goes on. wait_us as in kvcast_loading_wait().
 * Of the report: blocks and tokens that are here, with those that are skipped; bytes that came;
 * `held` blocks were here before, or left to a load. */
KVCAST_API kvcast_code kvcast_prefetch_wait(kvcast_prefetch* prefetch, int64_t wait_us,
                                            kvcast_report* report);
/* Nothing more is fetched, and it is gone; what has come stays here. Null is none. */
KVCAST_API void kvcast_prefetch_abandon(kvcast_prefetch* prefetch);

/* A prompt that is published while it is being computed: each block is sent once it is ready, for
 * other engines to follow. One call at a time, from any thread. */
typedef struct kvcast_publication kvcast_publication;

/* Nothing is ready, and no page is read yet. Waits for nothing; of the terms only rung, durability,
 * generation and tag count. The cache must stay open until the publication is gone. */
KVCAST_API kvcast_code kvcast_cache_begin(kvcast_cache* cache, const kvcast_prompt* prompt,
                                          const kvcast_terms* terms,
                                          kvcast_publication** publication);
/* The first so many tokens are computed: blocks that are whole by then are sent, and must not
 * change any more. Waits for nothing. */
KVCAST_API kvcast_code kvcast_publication_ready(kvcast_publication* publication, uint64_t tokens);
/* No more tokens will be. Waits until the node lists the blocks that are ready; timeout_us as in
 * kvcast_terms. The publication is gone when it returns, whatever it returns, and no page is read.
 */
KVCAST_API kvcast_code kvcast_publication_finish(kvcast_publication* publication,
                                                 int64_t timeout_us, kvcast_report* report);
/* The same in two: no more tokens will be. Waits for nothing. */
KVCAST_API kvcast_code kvcast_publication_close(kvcast_publication* publication);
/* How it ended, once it is closed: it is gone then. KVCAST_PENDING: it goes on. wait_us as in
 * kvcast_loading_wait(). */
KVCAST_API kvcast_code kvcast_publication_wait(kvcast_publication* publication, int64_t wait_us,
                                               kvcast_report* report);
/* Gives it up; the node keeps what it has. No page is read after it returns. Null is none. */
KVCAST_API void kvcast_publication_abandon(kvcast_publication* publication);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVCAST_KVCAST_LOADING_H_ */
