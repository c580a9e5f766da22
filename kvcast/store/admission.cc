#include "kvcast/store/admission.h"

#include <string>

namespace kvcast {

bool AdmitSecond::Admits(const StoredGroup& group) {
  if (seen_.Take(group.handle)) {
    return true;
  }
  seen_.Add(group.handle, group.bytes);
  return false;
}

Result<std::unique_ptr<Admission>> MakeAdmission(std::string_view name,
                                                 const EvictionLimits& limits) {
  std::unique_ptr<Admission> made;
  if (name == "all") {
    made = std::make_unique<AdmitAll>();
  } else if (name == "second") {
    made = std::make_unique<AdmitSecond>(limits);
  } else {
    return Error(ErrorCode::kInvalid,
                 "There is no admission '" + std::string(name) + "'; there are all and second.");
  }
  return made;
}

}  // namespace kvcast
