#include "kvcast/io/system_release.h"

#include <sys/utsname.h>

namespace kvcast {

std::string SystemRelease() {
  utsname name{};
  ::uname(&name);
  return std::string(name.sysname) + " " + name.release + " (" + name.machine + ")";
}

}  // namespace kvcast
