#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvcast {

// What has been seen of groups coming back: how many of a kind were used again at each age. From
// that follows what keeping a group of this kind and age is worth.
//
// A kind is how often a group has been used, in doubling steps, and among those used once, whether
// it was the last of its track. An age is how many bytes have been used since; its steps grow by
// the square root of two, from a sixteenth of the tier to sixteen times the tier. Kind and age make
// a cell.
//
// A group is worth the most uses per byte and time that holding it for some while can be expected
// to bring: max over t of P(used within t) / E(time until used, or t), the index of Gittins for
// a job that ends when the group is used. It need not fall with age: a chat comes back when its
// reader has read, and until then rather keep what has been waiting longer.
class ReuseTable {
 public:
  static constexpr size_t kKinds = 9;
  static constexpr size_t kAges = 18;
  static constexpr size_t kCells = kKinds * kAges;

  explicit ReuseTable(uint64_t tier_bytes);

  static size_t KindOf(uint64_t uses, bool last_of_track);
  static constexpr size_t CellOf(size_t kind, size_t age) { return kind * kAges + age; }
  static constexpr size_t AgeOf(size_t cell) { return cell % kAges; }
  // Where an age begins. Ages are told apart by it, and the last has no end.
  uint64_t AgeBegin(size_t age) const { return begins_[age]; }

  // A group comes to stand in a cell and leaves it: used again, grown older, or lost from sight.
  void Enter(size_t cell) { ++cells_[cell].here; }
  void LeaveUsed(size_t cell);
  void LeaveOlder(size_t cell);
  void LeaveUnseen(size_t cell) { --cells_[cell].here; }

  // Makes what was recorded count, and makes older records count less.
  void Learn();
  double Worth(size_t cell) const { return cells_[cell].worth; }
  // All cells, those worth least in front.
  const std::array<uint16_t, kCells>& order() const { return order_; }

 private:
  struct Cell {
    double used = 0;
    double older = 0;
    uint64_t here = 0;
    double worth = 0;

    // Groups that could have been used in this cell; those still here have half of it behind them.
    double chances() const { return used + older + static_cast<double>(here) / 2; }
  };
  using Rates = std::array<double, kAges>;

  double Width(size_t age) const { return static_cast<double>(begins_[age + 1] - begins_[age]); }
  Rates RatesOfAll() const;
  double RelativeRate(size_t kind, const Rates& all) const;
  void Assess(size_t kind, const Rates& all);
  void LetMoreUsesBeWorthMore(size_t age);

  std::array<uint64_t, kAges + 1> begins_;
  std::array<Cell, kCells> cells_;
  std::array<uint16_t, kCells> order_;
};

}  // namespace kvcast
