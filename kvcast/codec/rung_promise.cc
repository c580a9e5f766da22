#include "kvcast/codec/rung_promise.h"

#include "kvcast/codec/codec.h"

namespace kvcast {

bool IsExact(Rung rung) { return ExactTypeOf(rung).has_value(); }

bool KeepsPromise(Rung came, Rung published) { return IsExact(came) || !IsTruer(published, came); }

std::optional<Rung> LessTrue(std::optional<Rung> one, std::optional<Rung> other) {
  if (!one || !other) {
    return one ? one : other;
  }
  return IsTruer(*one, *other) ? other : one;
}

}  // namespace kvcast
