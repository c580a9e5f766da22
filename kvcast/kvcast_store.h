/* The store: an engine's own keys, layout and memory. Included by kvcast.h. */
#ifndef KVCAST_KVCAST_STORE_H_
#define KVCAST_KVCAST_STORE_H_

#include "kvcast/kvcast.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kvcast_store kvcast_store;

/* What makes the bytes of one engine mean the same to another. It is part of every name: values of
 * other formats are never found. */
typedef struct kvcast_format {
  size_t struct_size;
  const char* model; /* Its name: 1 to 255 printable characters without space or @. */
  /* Whatever else would have the bytes read wrongly, in the engine's own words: weights and
   * adapter, the engine's version, dtype, order of dimensions, tensor-parallel rank. 1 to 4,096
   * bytes. */
  const void* layout;
  size_t layout_bytes;
  uint32_t block_tokens; /* 16 to 1,024. */
} kvcast_format;

KVCAST_API kvcast_code kvcast_store_open(const kvcast_node* node, const kvcast_format* format,
                                         kvcast_store** store);
/* Ends all batches; none of their memory is touched when it returns. Null is no store. */
KVCAST_API void kvcast_store_close(kvcast_store* store);

/* Memory that values are read from and written to. It stays registered, and must stay, until it is
 * unregistered, which is KVCAST_INVALID while a batch uses it. */
KVCAST_API kvcast_code kvcast_store_register(kvcast_store* store, void* base, size_t bytes,
                                             uint32_t* region);
KVCAST_API kvcast_code kvcast_store_unregister(kvcast_store* store, uint32_t region);

/* One value of a batch. A lookup reads the key only. */
typedef struct kvcast_item {
  const void* key; /* 1 to 1,024 bytes. Not needed any more when the batch is submitted. */
  size_t key_bytes;
  uint32_t region; /* Where its bytes are, or are to go. */
  uint32_t zero;
  uint64_t offset; /* From the region's beginning. */
  uint64_t bytes;  /* 1 to 2^30. A value of another size is not loaded. */
} kvcast_item;

enum { KVCAST_LOOKUP = 0, KVCAST_PUT = 1, KVCAST_GET = 2 };
enum { KVCAST_IN_MEMORY = 0, KVCAST_ON_DISK = 1, KVCAST_IN_BUCKET = 2 };
enum {
  KVCAST_KEYS_ARE_NAMES = 1 /* Keys are names of 32 bytes, from kvcast_store_chain(). */
};

typedef struct kvcast_batch {
  size_t struct_size;
  int32_t kind;
  uint32_t flags;
  const kvcast_item* items;
  size_t item_size; /* sizeof(kvcast_item). */
  size_t count;     /* Up to 65,536. */
  /* From now on. 0: 30 s. Below 0 the batch is late at once, and what is asked of it is not there.
   */
  int64_t timeout_us;
  const void* salt; /* Keeps these names apart from all others; up to 1,024 bytes. */
  size_t salt_bytes;
  int32_t durability; /* What a put is to reach. */
} kvcast_batch;

/* What became of an item. Above zero it is as it was wanted, below it is not. */
enum {
  KVCAST_ITEM_PENDING = 0,
  KVCAST_ITEM_LOADED = 1, /* Got: all of its bytes are in their place, checked. */
  KVCAST_ITEM_STORED = 2, /* Put: the node holds it, as durably as was asked. */
  KVCAST_ITEM_HELD = 3,   /* Looked up: it can be had. Put: it could be before. */
  KVCAST_ITEM_ABSENT = -1,
  KVCAST_ITEM_DAMAGED = -2,    /* What came is not what was stored. */
  KVCAST_ITEM_OTHER_SIZE = -3, /* The value has another size than the place. */
  KVCAST_ITEM_LATE = -4,       /* The deadline passed first. */
  KVCAST_ITEM_REFUSED = -5,    /* The node would not give it, take it or keep it. */
  KVCAST_ITEM_CANCELLED = -6,
  KVCAST_ITEM_LOST = -7,        /* There is no connection to the node. */
  KVCAST_ITEM_INVALID = -8,     /* Not a key, or not within registered memory. */
  KVCAST_ITEM_LOSSY = -9,       /* Of a cache's publication: it is not as true as the rung. */
  KVCAST_ITEM_NOT_DURABLE = -10 /* Of a publication: the node could not make it as durable. */
};
KVCAST_API const char* kvcast_item_text(int32_t status);

/* Begins a batch and returns at once; a lookup asks nobody, and is over within microseconds. The
 * memory of a put is read, and that of a get written to, until the batch is over. The place of a
 * value that is not loaded may have been written to. */
KVCAST_API kvcast_code kvcast_store_submit(kvcast_store* store, const kvcast_batch* batch,
                                           uint64_t* id);
/* Waits for a batch: KVCAST_OK, and it is forgotten, or KVCAST_PENDING after so long. A timeout of
 * 0 asks, and waits for nothing. Writes the first `count` statuses and, where a lookup found it,
 * sizes of values (0 for others); either may be null. */
KVCAST_API kvcast_code kvcast_store_wait(kvcast_store* store, uint64_t id, int64_t timeout_us,
                                         int32_t* statuses, uint64_t* sizes, size_t count);
/* A batch that is over and has not been waited for, the oldest; KVCAST_PENDING if there is none. */
KVCAST_API kvcast_code kvcast_store_ended(kvcast_store* store, uint64_t* id);
/* Can be read for as long as kvcast_store_ended() would give one: for poll(), epoll, asyncio. An
 * eventfd; it need not be read, and must not be closed. */
KVCAST_API int kvcast_store_fd(const kvcast_store* store);
/* When it returns the batch is over, and is waited for as any other. */
KVCAST_API kvcast_code kvcast_store_cancel(kvcast_store* store, uint64_t id);
/* Submits and waits. `statuses` and `sizes`, of batch->count each, may be null. */
KVCAST_API kvcast_code kvcast_store_run(kvcast_store* store, const kvcast_batch* batch,
                                        int32_t* statuses, uint64_t* sizes);
/* How many, from the first on, are as they were wanted: of a lookup, the longest prefix. */
KVCAST_API size_t kvcast_leading(const int32_t* statuses, size_t count);

/* Whether there is a node now. While there is none, batches end at once; it is looked for. */
KVCAST_API int kvcast_store_connected(const kvcast_store* store);

typedef struct kvcast_bytes {
  const void* data;
  size_t bytes;
} kvcast_bytes;
/* Names for blocks whose hashes say nothing of what stands before them: each covers all before it.
 * `before` is the name, 32 bytes, of the last of `blocks_before` blocks; null for none. Writes 32
 * bytes for each hash. (Keys of engines that cover the prefix already need none of this.) */
KVCAST_API kvcast_code kvcast_store_chain(const kvcast_store* store, const kvcast_bytes* hashes,
                                          size_t count, const void* before, uint64_t blocks_before,
                                          const void* salt, size_t salt_bytes, void* names);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVCAST_KVCAST_STORE_H_ */
