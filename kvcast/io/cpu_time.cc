#include "kvcast/io/cpu_time.h"

#include <ctime>

namespace kvcast {
namespace {

Duration CpuClock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);  // Fails only for a clock that does not exist.
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

}  // namespace

Duration ProcessCpuTime() { return CpuClock(CLOCK_PROCESS_CPUTIME_ID); }

Duration ThreadCpuTime() { return CpuClock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace kvcast
