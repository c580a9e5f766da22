#include "kvcast/io/process_limits.h"

#include <sys/resource.h>

namespace kvcast {
namespace {

rlimit Limit(__rlimit_resource resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);  // Fails only for a resource that does not exist.
  return limit;
}

}  // namespace

ProcessLimits ReadProcessLimits() {
  const rlimit files = Limit(RLIMIT_NOFILE);
  return {files.rlim_cur, files.rlim_max, Limit(RLIMIT_MEMLOCK).rlim_cur};
}

}  // namespace kvcast
