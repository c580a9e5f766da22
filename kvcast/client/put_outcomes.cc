#include "kvcast/client/put_outcomes.h"

#include <optional>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// Of a value that the publication could not get rid of.
ValueOutcome OutcomeOf(std::optional<PublishFault> fault) {
  switch (fault.value_or(PublishFault::kRefused)) {
    case PublishFault::kNodeLost:
      return ValueOutcome::kNodeLost;
    case PublishFault::kPatienceOver:
      return ValueOutcome::kTooLate;
    case PublishFault::kCancelled:
      return ValueOutcome::kCancelled;
    case PublishFault::kRefused:
    case PublishFault::kNotKept:
    case PublishFault::kNotDurable:
      break;
  }
  return ValueOutcome::kRefused;
}

}  // namespace

std::vector<ValueOutcome> PutOutcomes(const Publication& publication,
                                      std::span<const size_t> blocks) {
  KVCAST_CHECK(publication.over());
  const std::vector<Publication::Standing> standings = publication.Standings();
  std::vector<ValueOutcome> outcomes;
  outcomes.reserve(blocks.size());
  for (const size_t block : blocks) {
    switch (standings[block]) {
      case Publication::Standing::kWasHeld:
        outcomes.push_back(ValueOutcome::kHeld);
        break;
      case Publication::Standing::kStands:
        outcomes.push_back(ValueOutcome::kStored);
        break;
      case Publication::Standing::kGone:
        outcomes.push_back(ValueOutcome::kRefused);
        break;
      case Publication::Standing::kOpen:
        outcomes.push_back(OutcomeOf(publication.report().fault));
        break;
    }
  }
  return outcomes;
}

}  // namespace kvcast
