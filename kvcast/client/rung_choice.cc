#include "kvcast/client/rung_choice.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

// Between two choices: long enough that asking costs little, short enough to change one's mind.
constexpr Duration kBetweenChoices = std::chrono::milliseconds(25);
// Of a node that nothing is known of: the first tells how long the way is, the second how wide.
constexpr size_t kFirstBlocks = 2;
// Of the time left, what is planned with: a node's pace is never quite what it was, least of all
// since the last load.
constexpr double kPlanned = 0.9;
constexpr double kPlannedAtFirst = 0.75;
// Of what computing takes, what a load is begun with: time that goes to one which is given up again
// is lost, and computing is sure.
constexpr double kBegunWithin = 0.75;

Duration Share(Duration time, double share) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(time).count() * share *
                                              std::chrono::seconds(1));
}

class Choice {
 public:
  Choice(const CacheMatch& match, size_t block, const LoadTerms& terms, const NodePace& pace,
         Instant now)
      : match_(match), block_(block), terms_(terms), pace_(pace), now_(now) {
    choice_.block = block;
    if (terms.deadline != Instant::max()) {
      choice_.left = terms.deadline - now;
    }
    if (terms.compute_per_block) {
      choice_.computing =
          *terms.compute_per_block * static_cast<int64_t>(match.end_block() - block);
    }
  }

  RungChoice Make() {
    if (!HasChoice(match_, terms_)) {
      return Take(RungChoice::Reason::kBest, match_.offers(block_).front().rung, SIZE_MAX);
    }
    if (!pace_.known()) {
      return Take(RungChoice::Reason::kUnknownLink, Smallest(), kFirstBlocks);
    }
    std::optional<Rung> fastest;
    for (const Rung rung : match_.rungs()) {
      if (!match_.BytesAt(block_, rung)) {
        continue;
      }
      const Duration expected = Expected(rung);
      if (IsSoonEnough(expected)) {
        choice_.expected = expected;
        return Take(rung == match_.offers(block_).front().rung ? RungChoice::Reason::kBest
                                                               : RungChoice::Reason::kFits,
                    rung, BlocksAtOnce(rung));
      }
      if (!choice_.expected || expected < *choice_.expected) {
        choice_.expected = expected;
        fastest = rung;
      }
    }
    return OfLate(*fastest);
  }

 private:
  // What all blocks take from here on, at this rung where they have it.
  Duration Expected(Rung rung) const {
    Duration sum = Ahead();
    for (size_t block = block_; block < match_.end_block(); ++block) {
      sum += TimeOf(block, rung);
    }
    return sum;
  }
  // Until all of that has come which is on its way.
  Duration Coming() const {
    // It comes one after the other, and none of it before the first.
    return pace_.expected_bytes() == 0
               ? Duration::zero()
               : pace_.UntilFirst(now_) + pace_.TimeFor(match_.offers(block_).front().rung,
                                                        pace_.expected_bytes(), now_);
  }
  // Until all blocks from here on would be computed: after what is on its way, which is no use to
  // who does not wait for it. REQUIRES: it is known what computing takes.
  Duration Computed() const { return Coming() + *choice_.computing; }
  bool IsWorthIt(Duration expected) const {
    const bool begins = block_ == match_.first_block() && pace_.expected_bytes() == 0;
    return !choice_.computing ||
           expected <= (begins ? Share(*choice_.computing, kBegunWithin) : Computed());
  }
  // Until the next byte that is asked for now can come.
  Duration Ahead() const { return std::max(pace_.latency(), Coming()); }
  // A block that is not to be had at that rung comes at another one: at the next one that is
  // smaller, else at its smallest.
  Duration TimeOf(size_t block, Rung rung) const {
    const auto wanted = std::ranges::find(match_.rungs(), rung);
    for (auto at = wanted; at != match_.rungs().end(); ++at) {
      if (const std::optional<uint64_t> bytes = match_.BytesAt(block, *at)) {
        return pace_.TimeFor(*at, *bytes, now_);
      }
    }
    const std::span<const BlockOffer> offers = match_.offers(block);
    return offers.empty() ? Duration::zero()
                          : pace_.TimeFor(offers.back().rung, offers.back().bytes, now_);
  }
  bool IsSoonEnough(Duration expected) const {
    const double planned = pace_.IsFresh(now_) ? kPlanned : kPlannedAtFirst;
    return (!choice_.left || expected <= Share(*choice_.left, planned)) && IsWorthIt(expected);
  }
  Rung Smallest() const {
    return std::ranges::min_element(match_.offers(block_), {}, &BlockOffer::bytes)->rung;
  }
  size_t BlocksAtOnce(Rung rung) const {
    const Duration one = std::max(TimeOf(block_, rung), Duration(1));
    return static_cast<size_t>(std::max<int64_t>(kBetweenChoices / one, 1));
  }
  // At no rung does everything come soon enough.
  RungChoice OfLate(Rung fastest) {
    if (pace_.IsOld(now_)) {  // Or it did not, then. Who never asks again never knows better.
      choice_.expected.reset();
      return Take(RungChoice::Reason::kUnknownLink, Smallest(), kFirstBlocks);
    }
    if (!IsWorthIt(*choice_.expected)) {
      choice_.reason = RungChoice::Reason::kComputingFaster;
      return choice_;
    }
    if (Ahead() + TimeOf(block_, fastest) > *choice_.left) {
      choice_.reason = RungChoice::Reason::kTooLate;
      return choice_;
    }
    return Take(RungChoice::Reason::kFastest, fastest, BlocksAtOnce(fastest));
  }
  RungChoice Take(RungChoice::Reason reason, Rung rung, size_t blocks_max) {
    choice_.reason = reason;
    choice_.run = match_.RunFrom(block_, rung, blocks_max);
    KVCAST_CHECK(choice_.run.has_value());
    return choice_;
  }

  const CacheMatch& match_;
  const size_t block_;
  const LoadTerms& terms_;
  const NodePace& pace_;
  const Instant now_;
  RungChoice choice_;
};

std::string Milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

std::string_view WhyOf(RungChoice::Reason reason) {
  switch (reason) {
    case RungChoice::Reason::kBest:
      return "the best there is";
    case RungChoice::Reason::kFits:
      return "the best that comes in time";
    case RungChoice::Reason::kFastest:
      return "the fastest, since not all comes in time";
    case RungChoice::Reason::kUnknownLink:
      return "the smallest, since nothing is known of the link yet";
    case RungChoice::Reason::kComputingFaster:
      return "computing is faster";
    case RungChoice::Reason::kTooLate:
      return "it would come too late";
    case RungChoice::Reason::kWaitedEnough:
      return "computing is faster than to wait on";
    case RungChoice::Reason::kPrefetched:
      return "it had been prefetched";
  }
  return "";
}

}  // namespace

bool IsEnoughAsked(const NodePace& pace, Rung last, Instant now) {
  if (!pace.known()) {
    return true;
  }
  // More than fills the way, so that a connection which begins slowly can grow; not before it is
  // known that the node is still as fast as it was.
  const Duration way = pace.IsFresh(now) ? pace.latency() * 3 / 2 : pace.latency();
  return pace.TimeFor(last, pace.expected_bytes(), now) > way + kBetweenChoices;
}

bool HasChoice(const CacheMatch& match, const LoadTerms& terms) {
  return terms.compute_per_block || (terms.deadline != Instant::max() && match.rungs().size() > 1);
}

RungChoice ChooseRung(const CacheMatch& match, size_t block, const LoadTerms& terms,
                      const NodePace& pace, Instant now) {
  return Choice(match, block, terms, pace, now).Make();
}

std::string RungChoice::ToString() const {
  std::string text = run ? "blocks " + std::to_string(run->first_block) + "-" +
                               std::to_string(run->end_block() - 1) + " as " +
                               std::string(kvcast::ToString(run->rung))
                         : "blocks from " + std::to_string(block) + " on computed";
  text += ": " + std::string(WhyOf(reason));
  if (silent) {
    text += "; nothing came for " + Milliseconds(*silent);
  }
  if (expected) {
    text += "; the rest takes " + Milliseconds(*expected);
  }
  if (left) {
    text +=
        (expected ? " of " : "; there are ") + Milliseconds(*left) + (expected ? " left" : " left");
  }
  if (computing) {
    text += ", computing it " + Milliseconds(*computing);
  }
  return text + ".";
}

}  // namespace kvcast
