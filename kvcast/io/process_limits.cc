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

void RaiseOpenFiles() {
  rlimit files = Limit(RLIMIT_NOFILE);
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);  // Then it stays as it is, which the doctor tells of.
}

}  // namespace kvcast
