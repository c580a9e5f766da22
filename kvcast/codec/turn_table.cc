#include "kvcast/codec/turn_table.h"

namespace kvcast {
namespace {

constexpr uint32_t kTurnBits = 30;
// (pi / 2)^k / k!, for odd and even k, in 2^-30.
constexpr int64_t kOddTerms[] = {1686629713, 693598668, 85569306, 5026995, 172272, 3864, 61};
constexpr int64_t kEvenTerms[] = {1073741824, 1324675879, 272375560, 22401992,
                                  987048,     27060,      506,       7};

template <size_t kTerms>
int64_t AlternatingSum(const int64_t (&terms)[kTerms], int64_t square) {
  int64_t sum = terms[kTerms - 1];
  for (size_t i = kTerms - 1; i-- > 0;) {
    sum = terms[i] - (square * sum >> kTurnBits);
  }
  return sum;
}

// A pair's turn at a place in the prompt.
struct FloatTurn {
  float cosine;
  float sine;

  FloatTurn(uint64_t turn, uint64_t place) {
    constexpr float kUnit = 0x1p-30F;
    const Turn turned = Turn::Of(static_cast<uint32_t>(turn * place >> 32));
    cosine = static_cast<float>(turned.cosine) * kUnit;
    sine = static_cast<float>(turned.sine) * kUnit;
  }
};

}  // namespace

Turn Turn::Of(uint32_t phase) {
  const int64_t place = phase & ((1U << kTurnBits) - 1);  // Within a quarter.
  const int64_t square = place * place >> kTurnBits;
  const auto sine = static_cast<int32_t>(place * AlternatingSum(kOddTerms, square) >> kTurnBits);
  const auto cosine = static_cast<int32_t>(AlternatingSum(kEvenTerms, square));
  switch (phase >> kTurnBits) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

TurnTable::TurnTable(const Rope& rope, size_t position, uint32_t tokens)
    : first_(rope.first), pairs_(rope.pairs()), adjacent_(rope.adjacent) {
  cosines_.reserve(size_t{tokens} * pairs_);
  sines_.reserve(size_t{tokens} * pairs_);
  for (uint32_t token = 0; token < tokens; ++token) {
    for (const uint64_t turn : rope.turns) {
      const FloatTurn turned(turn, position + token);
      cosines_.push_back(turned.cosine);
      sines_.push_back(turned.sine);
    }
  }
}

SplitTurns::SplitTurns(const Rope& rope, size_t position, uint32_t tokens)
    : first_(rope.first),
      pairs_(rope.pairs()),
      adjacent_(rope.adjacent),
      stride_(SplitSize(pairs_)),
      cosines_(stride_ * tokens),
      sines_(stride_ * tokens) {
  const RowTurns places = rows();
  for (uint32_t token = 0; token < tokens; ++token) {
    for (uint32_t pair = 0; pair < pairs_; ++pair) {
      const FloatTurn turned(rope.turns[pair], position + token);
      cosines_[token * stride_ + places.PlaceOf(pair)] = turned.cosine;
      sines_[token * stride_ + places.PlaceOf(pair)] = turned.sine;
    }
  }
}

RowTurns SplitTurns::rows() const {
  return {cosines_.data(), sines_.data(), stride_, first_, pairs_, adjacent_};
}

template <bool kBack>
void TurnTable::TurnBy(uint32_t token, float* head) const {
  const float* const cosines = cosines_.data() + size_t{token} * pairs_;
  const float* const sines = sines_.data() + size_t{token} * pairs_;
  const uint32_t step = adjacent_ ? 2 : 1;
  float* const firsts = head + first_;
  float* const seconds = firsts + (adjacent_ ? 1 : pairs_);
  for (uint32_t i = 0; i < pairs_; ++i) {
    const float x = firsts[i * step];
    const float y = seconds[i * step];
    const float sine = kBack ? -sines[i] : sines[i];
    firsts[i * step] = x * cosines[i] - y * sine;
    seconds[i * step] = y * cosines[i] + x * sine;
  }
}

void TurnTable::Turn(uint32_t token, float* head) const { TurnBy<false>(token, head); }
void TurnTable::TurnBack(uint32_t token, float* head) const { TurnBy<true>(token, head); }

}  // namespace kvcast
