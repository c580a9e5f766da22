/* An engine with its own keys, layout and memory, in C: puts blocks into a node, or gets them.
 *
 *   share_blocks put HOST:PORT#FINGERPRINT [BLOCKS [TIMEOUT_MS]]
 *   share_blocks get HOST:PORT#FINGERPRINT [BLOCKS [TIMEOUT_MS]]
 *
 * What a block holds follows from its number, so that another process can tell whether it got what
 * was put. Ends with 0 if every block is as it was wanted. */
#include <errno.h>
#include <kvcast/kvcast.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 600 * 1000, KEY_BYTES = 32, BLOCKS_MAX = 256 };

static uint8_t byte_of(size_t block, size_t at) {
  return (uint8_t)((block + 1) * 2654435761u * (at + 1) >> 11);
}

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, kvcast_message());
  return 2;
}

/* An engine would do something else meanwhile: the descriptor goes into whatever loop it has. */
static int await(kvcast_store* store, uint64_t batch) {
  struct pollfd waits = {kvcast_store_fd(store), POLLIN, 0};
  uint64_t ended = 0;
  while (kvcast_store_ended(store, &ended) == KVCAST_PENDING) {
    if (poll(&waits, 1, -1) < 0 && errno != EINTR) {
      return 0;
    }
  }
  return ended == batch;
}

/* Puts or gets them all, and says what came of each: how many are as they were wanted. */
static size_t move(kvcast_store* store, kvcast_batch batch, const uint8_t* memory) {
  static int32_t statuses[BLOCKS_MAX];
  uint64_t id = 0;
  size_t good = 0;
  size_t wrong = 0;
  if (kvcast_store_submit(store, &batch, &id) != KVCAST_OK || !await(store, id) ||
      kvcast_store_wait(store, id, 0, statuses, NULL, batch.count) != KVCAST_OK) {
    fail("cannot move blocks");
    return 0;
  }
  for (size_t i = 0; i < batch.count; ++i) {
    printf("block %zu: %s\n", i, kvcast_item_text(statuses[i]));
    good += statuses[i] > 0;
    for (size_t at = 0; statuses[i] == KVCAST_ITEM_LOADED && at < BLOCK_BYTES; ++at) {
      wrong += memory[i * BLOCK_BYTES + at] != byte_of(i, at);
    }
  }
  printf("%zu of %zu blocks, %zu wrong bytes\n", good, batch.count, wrong);
  return wrong == 0 ? good : 0;
}

/* All of the engine's memory is registered once; items say where in it. */
static int run(kvcast_store* store, int getting, size_t blocks, long timeout_ms) {
  static uint8_t keys[BLOCKS_MAX][KEY_BYTES];
  static kvcast_item items[BLOCKS_MAX];
  static int32_t statuses[BLOCKS_MAX];
  uint8_t* memory = calloc(blocks, BLOCK_BYTES);
  uint32_t region = 0;
  if (memory == NULL || kvcast_store_register(store, memory, blocks * BLOCK_BYTES, &region)) {
    return fail("cannot register memory");
  }
  for (size_t i = 0; i < blocks; ++i) {
    snprintf((char*)keys[i], KEY_BYTES, "the engine's hash %zu", i);
    items[i] = (kvcast_item){.key = keys[i],
                             .key_bytes = KEY_BYTES,
                             .region = region,
                             .offset = i * BLOCK_BYTES,
                             .bytes = BLOCK_BYTES};
    for (size_t at = 0; !getting && at < BLOCK_BYTES; ++at) {
      memory[i * BLOCK_BYTES + at] = byte_of(i, at);
    }
  }
  kvcast_batch batch = {.struct_size = sizeof batch,
                        .kind = KVCAST_LOOKUP,
                        .items = items,
                        .item_size = sizeof items[0],
                        .count = blocks,
                        .timeout_us = timeout_ms * 1000};
  if (kvcast_store_run(store, &batch, statuses, NULL) != KVCAST_OK) {
    return fail("cannot look up");
  }
  printf("the first %zu of %zu blocks can be had\n", kvcast_leading(statuses, blocks), blocks);
  fflush(stdout);

  batch.kind = getting ? KVCAST_GET : KVCAST_PUT;
  const int all = move(store, batch, memory) == blocks;
  kvcast_store_unregister(store, region);
  free(memory);
  return all ? 0 : 1;
}

int main(int argc, char** argv) {
  const size_t blocks = argc > 3 ? strtoul(argv[3], NULL, 10) : 8;
  const long timeout_ms = argc > 4 ? strtol(argv[4], NULL, 10) : 10000;
  const int getting = argc > 1 && strcmp(argv[1], "get") == 0;
  if (argc < 3 || (!getting && strcmp(argv[1], "put") != 0) || blocks == 0 || blocks > BLOCKS_MAX) {
    fprintf(stderr, "usage: %s put|get NODE [BLOCKS [TIMEOUT_MS]]\n", argv[0]);
    return 64;
  }
  const char layout[] = "example 1; bytes by number; no weights";
  kvcast_node node = {.struct_size = sizeof node, .address = argv[2]};
  kvcast_format format = {.struct_size = sizeof format,
                          .model = "example",
                          .layout = layout,
                          .layout_bytes = sizeof layout - 1,
                          .block_tokens = 16};
  kvcast_store* store = NULL;
  if (kvcast_store_open(&node, &format, &store) != KVCAST_OK) {
    return fail("cannot open the store");
  }
  const int ended = run(store, getting, blocks, timeout_ms);
  kvcast_store_close(store);
  return ended;
}
