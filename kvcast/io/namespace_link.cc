// A wide-area link between two network namespaces, for benchmarks: whatever IP one sends to the
// device `wide0`, the other receives from its own, later and not all of it.
//
//   namespace_link NAMESPACE NAMESPACE MBIT_PER_S ONE_WAY_MS LOSS_PERCENT QUEUE_KIB [SEED]
//
// Prints "ready" when both devices are there; they have to be given addresses then. Ends when its
// standard input does, and says what it did. Needs to be root.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/io/clock.h"
#include "kvcast/io/event_loop.h"
#include "kvcast/io/impaired_link.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kPacketBytesMax = 65'536;
constexpr int kPacketsPerTurn = 64;

// Joins the namespace, for good, and makes a device in it.
Result<Descriptor> MakeDevice(const std::string& name) {
  const Descriptor there(::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!there || ::setns(there.number(), CLONE_NEWNET) != 0) {
    return SystemError("Cannot enter the network namespace " + name, errno);
  }
  Descriptor device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strcpy(request.ifr_name, "wide0");
  if (!device || ::ioctl(device.number(), TUNSETIFF, &request) != 0) {
    return SystemError("Cannot make the device wide0 in " + name, errno);
  }
  return device;
}

// One direction: reads from one device, and writes to the other when it is time.
class Direction {
 public:
  Direction(EventLoop& loop, const Descriptor& from, const Descriptor& to,
            const ImpairedLink::Options& options)
      : from_(from.number()),
        to_(to.number()),
        link_(options),
        timer_(loop, [this] { Deliver(); }),
        watch_(*LoopWatch::Make(loop, from_, [this](LoopWatch::Ready) { Read(); })) {}

  const ImpairedLink::Counts& counts() const { return link_.counts(); }

 private:
  void Read() {
    for (int i = 0; i < kPacketsPerTurn; ++i) {
      const ssize_t bytes = ::read(from_, buffer_.data(), buffer_.size());
      if (bytes <= 0) {
        break;
      }
      const auto size = static_cast<size_t>(bytes);
      if (const auto fate = link_.Send(size, Now()); fate.arrival) {
        held_.emplace(*fate.arrival, std::vector<char>(buffer_.data(), buffer_.data() + size));
      }
    }
    Deliver();
  }
  void Deliver() {
    const Instant now = Now();
    while (!held_.empty() && held_.begin()->first <= now) {
      const std::vector<char>& packet = held_.begin()->second;
      [[maybe_unused]] const ssize_t written = ::write(to_, packet.data(), packet.size());
      held_.erase(held_.begin());
    }
    if (!held_.empty()) {
      timer_.Set(held_.begin()->first);
    }
  }

  int from_;
  int to_;
  ImpairedLink link_;
  std::multimap<Instant, std::vector<char>> held_;  // At most what the queue and the way hold.
  std::vector<char> buffer_ = std::vector<char>(kPacketBytesMax);
  LoopTimer timer_;
  std::unique_ptr<LoopWatch> watch_;
};

std::optional<double> NumberIn(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  const bool whole = end != word.c_str() && *end == '\0';
  return whole && number >= 0 && number < 1e9 ? std::optional(number) : std::nullopt;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() < 6 || words.size() > 7) {
    (void)std::fprintf(stderr, "namespace_link: see the beginning of namespace_link.cc\n");
    return 2;
  }
  ::prctl(PR_SET_TIMERSLACK, 1000);  // Microseconds matter at these rates.
  const auto loop = *EventLoop::Make();
  const auto one = MakeDevice(words[0]);
  const auto two = MakeDevice(words[1]);
  for (const auto* device : {&one, &two}) {
    if (!device->ok()) {
      (void)std::fprintf(stderr, "namespace_link: %s\n", device->error().ToString().c_str());
      return 1;
    }
  }
  ImpairedLink::Options options;
  const auto rate = NumberIn(words[2]);
  const auto delay = NumberIn(words[3]);
  const auto loss = NumberIn(words[4]);
  if (!rate || !delay || !loss) {
    (void)std::fprintf(stderr, "namespace_link: rate, delay and loss are numbers from 0 on\n");
    return 2;
  }
  options.bits_per_second = static_cast<uint64_t>(*rate * 1e6);
  options.delay = Duration(static_cast<int64_t>(*delay * 1e6));
  options.loss = *loss / 100;
  options.queue_bytes = std::strtoull(words[5].c_str(), nullptr, 10) * 1024;
  options.seed = words.size() > 6 ? std::strtoull(words[6].c_str(), nullptr, 10) : 1;
  const Direction there(*loop, *one, *two, options);
  ++options.seed;
  const Direction back(*loop, *two, *one, options);
  bool over = false;
  const auto input = *LoopWatch::Make(*loop, STDIN_FILENO, [&](LoopWatch::Ready) {
    std::array<char, 64> ignored{};
    over = ::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
  });
  std::printf("ready\n");
  (void)std::fflush(stdout);
  while (!over) {
    loop->RunOnce(std::chrono::hours(1));
  }
  for (const Direction* direction : {&there, &back}) {
    const ImpairedLink::Counts& counts = direction->counts();
    std::printf("%llu packets, %llu lost, %llu beyond the queue\n",
                static_cast<unsigned long long>(counts.datagrams),
                static_cast<unsigned long long>(counts.lost),
                static_cast<unsigned long long>(counts.overflowed));
  }
  return 0;
}

}  // namespace
}  // namespace kvcast

int main(int argc, char** argv) { return kvcast::Run({argv + 1, argv + argc}); }
