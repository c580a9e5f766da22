#include "kvcast/client/value_outcome.h"

namespace kvcast {

std::string_view ToString(ValueOutcome outcome) {
  switch (outcome) {
    case ValueOutcome::kPending:
      return "pending";
    case ValueOutcome::kLoaded:
      return "loaded";
    case ValueOutcome::kStored:
      return "stored";
    case ValueOutcome::kHeld:
      return "held";
    case ValueOutcome::kAbsent:
      return "absent";
    case ValueOutcome::kDamaged:
      return "damaged";
    case ValueOutcome::kOtherSize:
      return "of another size";
    case ValueOutcome::kTooLate:
      return "too late";
    case ValueOutcome::kRefused:
      return "refused";
    case ValueOutcome::kCancelled:
      return "cancelled";
    case ValueOutcome::kNodeLost:
      return "node lost";
    case ValueOutcome::kInvalid:
      return "invalid";
  }
  return "unknown";
}

}  // namespace kvcast
