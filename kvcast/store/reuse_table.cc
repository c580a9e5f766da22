#include "kvcast/store/reuse_table.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace kvcast {
namespace {

constexpr uint64_t kFirstAgePart = 16;  // The first age is one in so many of the tier's bytes.
constexpr double kAgeStep = 1.41421356237309505;
// What is known of all groups weighs as much as so many groups of a cell.
constexpr double kPriorGroups = 20;
// What a record counts after each Learn(): a quarter of the tier is used between two of them.
constexpr double kRemembered = 0.98;

}  // namespace

ReuseTable::ReuseTable(uint64_t tier_bytes) {
  begins_[0] = 0;
  double begin = static_cast<double>(std::max<uint64_t>(1, tier_bytes / kFirstAgePart));
  for (size_t age = 1; age <= kAges; ++age) {
    begins_[age] = std::max(begins_[age - 1] + 1, static_cast<uint64_t>(begin));
    begin *= kAgeStep;
  }
  Learn();
}

size_t ReuseTable::KindOf(uint64_t uses, bool last_of_track) {
  if (uses <= 1) {
    return last_of_track ? 0 : 1;
  }
  // 2, 3 and 4 for themselves, then up to 8, 16, 32 and beyond.
  const size_t step = uses <= 4 ? uses : 2 + static_cast<size_t>(std::bit_width(uses - 1));
  return std::min(step, kKinds - 1);
}

void ReuseTable::LeaveUsed(size_t cell) {
  --cells_[cell].here;
  cells_[cell].used += 1;
}

void ReuseTable::LeaveOlder(size_t cell) {
  --cells_[cell].here;
  cells_[cell].older += 1;
}

// How likely a group of an age, of whatever kind, is to be used within the next byte. Where little
// was seen, as one in the age before it and less so the older it is: what LRU believes.
ReuseTable::Rates ReuseTable::RatesOfAll() const {
  Rates rates;
  double before = kAgeStep / static_cast<double>(begins_[kAges - 1]);
  for (size_t age = 0; age < kAges; ++age) {
    const double prior = std::min(0.5, before / kAgeStep * Width(age));
    double used = kPriorGroups * prior;
    double chances = kPriorGroups;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      used += cells_[CellOf(kind, age)].used;
      chances += cells_[CellOf(kind, age)].chances();
    }
    rates[age] = before = used / chances / Width(age);
  }
  return rates;
}

double ReuseTable::RelativeRate(size_t kind, const Rates& all) const {
  double used = 1;
  double expected = 1;
  for (size_t age = 0; age < kAges; ++age) {
    const Cell& cell = cells_[CellOf(kind, age)];
    used += cell.used;
    expected += cell.chances() * all[age] * Width(age);
  }
  return used / expected;
}

void ReuseTable::Assess(size_t kind, const Rates& all) {
  const double relative = RelativeRate(kind, all);
  std::array<double, kAges> chance;  // To be used before the next age, once here.
  for (size_t age = 0; age < kAges; ++age) {
    const Cell& cell = cells_[CellOf(kind, age)];
    const double prior = std::min(0.9, relative * all[age] * Width(age));
    chance[age] = (cell.used + kPriorGroups * prior) / (cell.chances() + kPriorGroups);
  }
  for (size_t age = 0; age < kAges; ++age) {
    double unused = 1;
    double uses = 0;
    double time = 0;
    double worth = 0;
    for (size_t until = age; until < kAges; ++until) {
      uses += unused * chance[until];
      time += unused * (1 - chance[until] / 2) * Width(until);
      unused *= 1 - chance[until];
      worth = std::max(worth, uses / time);
    }
    cells_[CellOf(kind, age)].worth = worth;
  }
}

// The blocks of a prefix are used together, so those in front have been used at least as often:
// were they worth less, for once or by chance, they would go before what is useless without them.
// Where the records say so, the kinds concerned are given their mean.
void ReuseTable::LetMoreUsesBeWorthMore(size_t age) {
  struct Pool {
    double worth;
    double weight;
    size_t kinds;
  };
  std::array<Pool, kKinds> pools;
  size_t count = 0;
  for (size_t kind = 1; kind < kKinds; ++kind) {
    const Cell& cell = cells_[CellOf(kind, age)];
    pools[count++] = {cell.worth, cell.chances() + 1, 1};
    while (count > 1 && pools[count - 2].worth > pools[count - 1].worth) {
      const Pool& last = pools[--count];
      Pool& into = pools[count - 1];
      into.worth =
          (into.worth * into.weight + last.worth * last.weight) / (into.weight + last.weight);
      into.weight += last.weight;
      into.kinds += last.kinds;
    }
  }
  size_t kind = 1;
  for (size_t pool = 0; pool < count; ++pool) {
    for (const size_t end = kind + pools[pool].kinds; kind < end; ++kind) {
      cells_[CellOf(kind, age)].worth = pools[pool].worth;
    }
  }
}

void ReuseTable::Learn() {
  const Rates all = RatesOfAll();
  for (size_t kind = 0; kind < kKinds; ++kind) {
    Assess(kind, all);
  }
  for (size_t age = 0; age < kAges; ++age) {
    LetMoreUsesBeWorthMore(age);
  }
  std::iota(order_.begin(), order_.end(), 0);
  // Among equals, those used less often go first, and of them the oldest.
  std::stable_sort(order_.begin(), order_.end(), [this](uint16_t a, uint16_t b) {
    return std::tuple(cells_[a].worth, a / kAges, kAges - a % kAges) <
           std::tuple(cells_[b].worth, b / kAges, kAges - b % kAges);
  });
  for (Cell& cell : cells_) {
    cell.used *= kRemembered;
    cell.older *= kRemembered;
  }
}

}  // namespace kvcast
