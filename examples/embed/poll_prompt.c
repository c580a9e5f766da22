/* An engine with a loop of its own, in C: begins to publish a prompt, or to load it, and goes on
 * with its loop until a descriptor says that something has come of it.
 *
 *   poll_prompt publish|load NODE MODEL_FOLDER LAYERS KV_HEADS HEAD_SIZE
 *
 * What a page holds follows from its place, so that another process can tell whether it got what
 * was published. Ends with 0 if all of the prompt's blocks went where they were to go. */
#include <errno.h>
#include <kvcast/kvcast.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_TOKENS = 16, PAGES = 40, PROMPT_TOKENS = 600, LAYERS_MAX = 128, TAG = 42 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, kvcast_message());
  return 2;
}

/* BF16 between 1 and 2: any that engines compute would do. */
static uint16_t value_at(size_t plane, size_t at) {
  return (uint16_t)(0x3f80 | ((plane * 17 + at * 13) & 0x7f));
}

/* One turn of the engine's loop, which waits for much else, too: true if there is news of ours. */
static int turn(kvcast_cache* cache) {
  struct pollfd waits = {kvcast_cache_fd(cache), POLLIN, 0};
  uint64_t tag = 0;
  if (poll(&waits, 1, -1) < 0 && errno != EINTR) {
    return 0;
  }
  return kvcast_cache_news(cache, &tag) == KVCAST_OK && tag == TAG;
}

static int publish(kvcast_cache* cache, const kvcast_prompt* prompt, const kvcast_terms* terms) {
  kvcast_publication* publication = NULL;
  kvcast_report report = {.struct_size = sizeof report};
  kvcast_code code = kvcast_cache_begin(cache, prompt, terms, &publication);
  if (code != KVCAST_OK) {
    return fail("cannot begin to publish");
  }
  for (uint64_t computed = PAGE_TOKENS; computed < PROMPT_TOKENS; computed += PAGE_TOKENS) {
    kvcast_publication_ready(publication, computed); /* An engine would compute them first. */
  }
  kvcast_publication_ready(publication, PROMPT_TOKENS);
  kvcast_publication_close(publication);
  while ((code = kvcast_publication_wait(publication, 0, &report)) == KVCAST_PENDING) {
    while (!turn(cache)) {
    }
  }
  printf("published %llu tokens %s\n", (unsigned long long)report.tokens, report.reason);
  return code == KVCAST_OK && report.status == 0 ? 0 : 1;
}

static int load(kvcast_cache* cache, const kvcast_prompt* prompt, const kvcast_terms* terms,
                const kvcast_layer* layers, size_t layer_count) {
  kvcast_loading* loading = NULL;
  kvcast_report report = {.struct_size = sizeof report};
  kvcast_code code = kvcast_cache_begin_load(cache, prompt, terms, &loading);
  if (code != KVCAST_OK) {
    return fail("cannot begin to load");
  }
  while ((code = kvcast_loading_wait(loading, 0, &report, NULL, 0, NULL)) == KVCAST_PENDING) {
    while (!turn(cache)) {
    }
    /* kvcast_loading_tokens(loading) of them can be computed with already. */
  }
  size_t wrong = 0;
  const size_t row = layers[0].key_bytes / sizeof(uint16_t) / PAGES / PAGE_TOKENS;
  for (size_t layer = 0; layer < layer_count; ++layer) {
    for (size_t at = 0; at < report.tokens * row; ++at) {
      wrong += ((const uint16_t*)layers[layer].key)[at] != value_at(2 * layer, at);
      wrong += ((const uint16_t*)layers[layer].value)[at] != value_at(2 * layer + 1, at);
    }
  }
  printf("loaded %llu tokens, %zu wrong values\n", (unsigned long long)report.tokens, wrong);
  return code == KVCAST_OK && report.tokens > 0 && wrong == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s publish|load NODE MODEL LAYERS KV_HEADS HEAD_SIZE\n", argv[0]);
    return 64;
  }
  const size_t layer_count = strtoul(argv[4], NULL, 10);
  const size_t values =
      PAGES * PAGE_TOKENS * strtoul(argv[5], NULL, 10) * strtoul(argv[6], NULL, 10);
  const int publishing = strcmp(argv[1], "publish") == 0;
  uint16_t* const memory = calloc(2 * layer_count * values, sizeof(uint16_t));
  if (memory == NULL || layer_count > LAYERS_MAX) {
    return 2;
  }
  kvcast_layer layers[LAYERS_MAX];
  for (size_t plane = 0; plane < 2 * layer_count; ++plane) {
    uint16_t* const first = memory + plane * values;
    kvcast_layer* const layer = &layers[plane / 2];
    *(plane % 2 == 0 ? &layer->key : &layer->value) = first;
    *(plane % 2 == 0 ? &layer->key_bytes : &layer->value_bytes) = values * sizeof(uint16_t);
    for (size_t at = 0; publishing && at < values; ++at) {
      first[at] = value_at(plane, at);
    }
  }
  const kvcast_node node = {.struct_size = sizeof node, .address = argv[2]};
  const kvcast_model model = {.struct_size = sizeof model, .folder = argv[3]};
  const kvcast_pages pages = {.struct_size = sizeof pages,
                              .layers = layers,
                              .layer_size = sizeof(kvcast_layer),
                              .layer_count = layer_count,
                              .page_tokens = PAGE_TOKENS,
                              .page_count = PAGES};
  kvcast_cache* cache = NULL;
  if (kvcast_cache_open(&node, &model, &pages, &cache) != KVCAST_OK) {
    return fail("cannot open the cache");
  }
  uint32_t tokens[PROMPT_TOKENS];
  uint32_t table[PAGES];
  for (uint32_t i = 0; i < PROMPT_TOKENS; ++i) {
    tokens[i] = 1000 + i;
  }
  for (uint32_t page = 0; page < PAGES; ++page) {
    table[page] = page;
  }
  const kvcast_prompt prompt = {.struct_size = sizeof prompt,
                                .tokens = tokens,
                                .token_count = PROMPT_TOKENS,
                                .pages = table,
                                .page_count = PAGES};
  const kvcast_terms terms = {.struct_size = sizeof terms, .tag = TAG};
  const int status = publishing ? publish(cache, &prompt, &terms)
                                : load(cache, &prompt, &terms, layers, layer_count);
  kvcast_cache_close(cache);
  free(memory);
  return status;
}
