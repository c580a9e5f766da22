/* The cache: prompts by their tokens, pages by their shape. Included by kvcast.h. */
#ifndef KVCAST_KVCAST_CACHE_H_
#define KVCAST_KVCAST_CACHE_H_

#include "kvcast/kvcast.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kvcast_cache kvcast_cache;

/* A model in a folder in Hugging Face's layout. Its weights are digested once, which takes a while;
 * the digests are kept beside them. */
typedef struct kvcast_model {
  size_t struct_size;
  const char* folder;
  const char* name;        /* Null: the folder's own. */
  const char* adapter;     /* A LoRA adapter's folder, or null. */
  const char* kv_dtype;    /* What the engine computes KV in; null: what config.json says. */
  const char* calibration; /* Null: model.kvcal in the folder, if it is there. */
  uint32_t block_tokens;   /* 0: 128. */
  /* The part of a cache that this engine computes and its pages hold, as a tensor-parallel rank's
   * or a pipeline stage's do; a count of 0: all. It publishes that part, and finds what others have
   * published of just that part. */
  uint32_t first_layer;
  uint32_t layer_count;
  uint32_t first_head; /* Of a layer's KV heads. */
  uint32_t head_count;
} kvcast_model;

/* One layer's memory. `value` is null unless K and V lie apart, and for MLA. */
typedef struct kvcast_layer {
  void* key;
  size_t key_bytes;
  void* value;
  size_t value_bytes;
} kvcast_layer;

enum { KVCAST_NHD = 0, KVCAST_HND = 1 }; /* Tokens before heads, or after. */
enum { KVCAST_APART = 0, KVCAST_PLANES_FIRST = 1, KVCAST_PAGES_FIRST = 2 };
enum { KVCAST_BF16 = 0, KVCAST_FP16 = 1 };

/* An engine's paged KV cache: per layer K and V apart, or one buffer of [2, page, ...] or of
 * [page, 2, ...]. Nothing is copied, and the memory must stay for as long as the cache is open. */
typedef struct kvcast_pages {
  size_t struct_size;
  const kvcast_layer* layers;
  size_t layer_size; /* sizeof(kvcast_layer). */
  size_t layer_count;
  uint32_t page_tokens;
  uint32_t page_count;
  int32_t order;
  int32_t placement;
  int32_t values;
} kvcast_pages;

/* Connects, and waits until it is known what the node holds. Invalid: pages that are not those of
 * the model, or of the part of it that is said. */
KVCAST_API kvcast_code kvcast_cache_open(const kvcast_node* node, const kvcast_model* model,
                                         const kvcast_pages* pages, kvcast_cache** cache);
/* No call may be under way. Null is no cache. */
KVCAST_API void kvcast_cache_close(kvcast_cache* cache);
KVCAST_API uint32_t kvcast_cache_block_tokens(const kvcast_cache* cache);
/* 0 while the connection is lost: what is called meanwhile ends at once and finds nothing. It comes
 * back by itself, and loads and publications that were under way go on if it is soon. */
KVCAST_API int kvcast_cache_connected(const kvcast_cache* cache);

/* What is not a token and changes the KV from where it begins: an image, a sound. Prompts with
 * equal tokens and other inputs have other names. */
typedef struct kvcast_input {
  uint64_t position;  /* In tokens from the prompt's first: where its placeholders begin. */
  uint8_t digest[32]; /* SHA-256 of all that the model gets for it; see api.md. */
} kvcast_input;

/* Tokens, and the pages that hold them, or are to, from the first on. */
typedef struct kvcast_prompt {
  size_t struct_size;
  const uint32_t* tokens;
  size_t token_count;
  const uint32_t* pages; /* Not needed to find. */
  size_t page_count;
  const void* salt; /* Keeps these names apart from all others; up to 1,024 bytes. */
  size_t salt_bytes;
  /* All that there are among the tokens, in any order: an image that is left out here is not told
   * from another one. */
  const kvcast_input* inputs;
  size_t input_size; /* sizeof(kvcast_input). */
  size_t input_count;
} kvcast_prompt;

typedef struct kvcast_terms {
  size_t struct_size;
  int64_t timeout_us; /* 0: 30 s. */
  /* Of a load: what computing a block takes, so that nothing is loaded, nor waited for any longer,
   * that is computed faster; 0: all is loaded that can be, until the timeout. */
  int64_t compute_block_us;
  /* Of a publication: the only rung to publish at; null: an exact one, and a small one if there is
   * a calibration. Of what is found and loaded: the least rung that is good enough, so that the
   * best comes that keeps the deadline; null: the very values only. "BF16", "FP8", "KTC-medium",
   * ... */
  const char* rung;
  int32_t durability; /* Of a publication. */
  /* Of a load, to wait for blocks that another engine is still computing, and publishes: how long
   * for the next one, and how long until somebody begins; 0: who has not begun is not waited for.
   * Both 0: what is there is loaded. Then all blocks are waited for that have pages. */
  int64_t follow_us; /* 0 where begin_us is not: 2 s. */
  int64_t begin_us;
  uint64_t expected_tokens; /* Those that are known to be on their way; for others nobody is waited
                               for to begin. 0: all. */
  /* KVCAST_GENERATION_BYTES, or null. Of a publication: what it is published under, where several
   * ranks publish their parts of one cache; null: it is drawn. Of what is found and loaded: only
   * what was published under it; null: whatever there is. */
  const void* generation;
  /* Of what is found and loaded: the first so many tokens are in their pages already. Whole blocks
   * of them are neither looked for nor written, and count as found and as loaded. */
  uint64_t skip_tokens;
  /* Of what is begun and not waited for: what kvcast_cache_news() calls it by. */
  uint64_t tag;
  /* Of a load that is begun and not waited for: pages of the first so many tokens may be written to
   * now, of more when kvcast_loading_room() says so; less than a block: of none yet; 0: all. */
  uint64_t room_tokens;
  /* Of what is found and loaded: nothing truer than this rung is wanted either, as by an engine
   * that rounds its values anyway; not without `rung`, which may be the same. Null: the best there
   * is. */
  const char* best_rung;
  /* Of a publication: the engine knows that the first so many tokens are exact in their pages, as
   * it has computed them on exact ones. 0: it goes by what was loaded. A block that has come at a
   * rung that changes values, to these pages or others of this memory, and all that follow it in
   * the prompt, are then published at no truer rung than that one; see api.md. */
  uint64_t exact_tokens;
} kvcast_terms;

/* One act of publishing by all ranks of an engine: one of them draws it, all of them use it. */
enum { KVCAST_GENERATION_BYTES = 16 };
KVCAST_API kvcast_code kvcast_draw_generation(void* generation);

/* What a call came to. The caller sets struct_size. */
typedef struct kvcast_report {
  size_t struct_size;
  uint64_t blocks;     /* Found, or loaded, or published: they stand first, without a hole. */
  uint64_t tokens;     /* The same in tokens. */
  uint64_t bytes;      /* To be loaded, or that were moved. */
  uint64_t held;       /* Of a publication: blocks that the node held before. */
  int32_t status;      /* KVCAST_ITEM_...: of the first block that is not among them; 0: all are. */
  char reason[256];    /* A sentence for a person; empty if all are. */
  uint64_t live;       /* Of a load: blocks that came as they were published, */
  uint64_t prefetched; /* and those that were in this host's memory already. */
  /* Of a publication that is there: what its blocks have reached, all of them and at all rungs, as
   * the node says; KVCAST_IN_MEMORY where no more was asked for, though it may be on a disk. */
  int32_t durability;
} kvcast_report;

/* The longest prefix that can be had, from what is known here: asks nobody. */
KVCAST_API kvcast_code kvcast_cache_find(kvcast_cache* cache, const kvcast_prompt* prompt,
                                         const kvcast_terms* terms, kvcast_report* report);
/* Loads it into the prompt's pages: report->tokens of them are there, the others are to be
 * computed, whatever the reason. No page is touched after it returns. `terms` may be null. */
KVCAST_API kvcast_code kvcast_cache_load(kvcast_cache* cache, const kvcast_prompt* prompt,
                                         const kvcast_terms* terms, kvcast_report* report);
/* What became of a block. */
typedef struct kvcast_block {
  int32_t status; /* KVCAST_ITEM_LOADED; HELD: of those that were skipped; else to be computed. */
  int32_t zero;
  const char* rung; /* At which it was loaded, good for ever; null where it was not. */
  char why[232];    /* Why at that one, or why not: a sentence for a person. */
} kvcast_block;
/* The same, and tells of each of the prompt's whole blocks, from the first on. `count` is how many
 * there is room for, and becomes how many there are; block_size is sizeof(kvcast_block). */
KVCAST_API kvcast_code kvcast_cache_load_blocks(kvcast_cache* cache, const kvcast_prompt* prompt,
                                                const kvcast_terms* terms, kvcast_report* report,
                                                kvcast_block* blocks, size_t block_size,
                                                size_t* count);

/* One way in which a block can be had. */
typedef struct kvcast_offer {
  uint64_t block;   /* Of the prompt, from 0. */
  const char* rung; /* Good for ever. */
  uint64_t bytes;
  int64_t load_us;        /* What it takes to come, once it comes; below 0: not known yet. */
  uint8_t node[16];       /* Who holds it: the id that the node has in catalogs. */
  uint8_t generation[16]; /* The act of publishing that it is from. */
} kvcast_offer;
/* Who holds which block of what kvcast_cache_find() finds, at which of the rungs: in the prompt's
 * order, of each block the best rung first. Asks nobody. `count` is how many there is room for, and
 * becomes how many there are; offer_size is sizeof(kvcast_offer). `terms` may be null. */
KVCAST_API kvcast_code kvcast_cache_offers(kvcast_cache* cache, const kvcast_prompt* prompt,
                                           const kvcast_terms* terms, kvcast_offer* offers,
                                           size_t offer_size, size_t* count);
/* Publishes the prompt's whole blocks, those that the node does not hold. Where some are less true
 * than a rung, those before them alone, and the status is LOSSY. */
KVCAST_API kvcast_code kvcast_cache_publish(kvcast_cache* cache, const kvcast_prompt* prompt,
                                            const kvcast_terms* terms, kvcast_report* report);

/* A prompt's cache as a file (kv-files.md), which needs no node: all tokens of the prompt, with its
 * inputs, from its pages. Who may read the file may read the prompt. Unsupported: a part of a
 * cache. */
KVCAST_API kvcast_code kvcast_file_save(const char* path, const kvcast_model* model,
                                        const kvcast_pages* pages, const kvcast_prompt* prompt);
/* Into the pages of a prompt that begins like the file's, up to the first token or input that
 * differs: `tokens` becomes how many of its first are there then. Mismatch: the file is another
 * model's or of another salt, does not say of which prompt it is, or holds values that came at a
 * rung that changes them. */
KVCAST_API kvcast_code kvcast_file_restore(const char* path, const kvcast_model* model,
                                           const kvcast_pages* pages, const kvcast_prompt* prompt,
                                           uint64_t* tokens);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVCAST_KVCAST_CACHE_H_ */
