#pragma once

#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/engine/c_call.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/prefix_chain.h"

// What a prompt is made of in the C interface, in our own terms.
namespace kvcast {

// The part of a cache that an engine's pages hold.
Result<Slice> SliceOf(const kvcast_model& model);
// Images and sounds among the tokens.
Result<std::vector<ForeignInput>> InputsOf(const kvcast_prompt& prompt);
// An engine's memory. Invalid, or unsupported: what no engine can have.
Result<PagedCache> PagesOf(const kvcast_pages* pages, const BlockShape& shape);

}  // namespace kvcast
