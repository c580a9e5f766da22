#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/object/properties.h"

namespace kvcast {

// What a publication sends: blocks, each a group of objects that are made as there is room for
// them, some of them ahead and elsewhere. Reads the engine's memory until it is stopped.
//
// Payload() is the place between codec and object: what it gives is what nodes keep and relays see.
// Objects that are to be sealed end to end are sealed there, and opened where their counterparts
// take payloads: RunDecoder, ValueLoading.
class BlockSupply {
 public:
  virtual ~BlockSupply() = default;

  virtual size_t block_count() const = 0;
  // The first so many blocks can be read from now on. Called with one or more before anything below
  // is, and may be again. False: it takes jobs, and is to be called again when jobs are done,
  // before anything below is but Stop(). What fails is that they cannot be encoded.
  virtual Result<bool> Prepare(size_t) { return true; }
  // What the track says of itself, beside these.
  virtual Properties TrackProperties(const Properties& others) const { return others; }
  // The ids of a block's objects are below this. REQUIRES, here and below: a block there is.
  virtual uint32_t EndOf(size_t block) const = 0;
  // The id of the block's first object that is not before this one: EndOf() or more if none is.
  virtual uint64_t FirstFrom(size_t block, uint64_t object) const = 0;
  // REQUIRES below: the id of an object.
  virtual uint32_t After(size_t block, uint32_t object) const = 0;
  virtual Properties ObjectPropertiesOf(const BlockHash& hash, size_t block,
                                        uint32_t object) const = 0;
  // Absent: it is being made, and is to be asked for again when jobs are done.
  virtual std::optional<Bytes> Payload(size_t block, uint32_t object) = 0;

  // What else will be asked for, so that it can be made ahead: a block from one of its objects on,
  // behind the last that was named. It need not be asked for after all.
  virtual void Expect(size_t, uint32_t) {}
  // It would begin with more blocks now, if it knew which.
  virtual bool wants_more() const { return false; }
  // The last block that was named, or asked for, if what follows it is to be named.
  virtual std::optional<size_t> last_expected() const { return std::nullopt; }
  // Nothing is read any more when this returns, and nothing above is called.
  virtual void Stop() {}
};

}  // namespace kvcast
