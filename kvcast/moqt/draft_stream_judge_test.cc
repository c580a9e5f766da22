#include "kvcast/moqt/draft_stream_judge_test.h"

namespace kvcast::moqt::draft {
namespace {

constexpr uint64_t kFetchType = 0x05;
constexpr uint64_t kPaddingStream = 0x132b3e28;
constexpr uint64_t kPaddingDatagram = 0x132b3e29;

bool IsStatus(uint64_t status) { return status == 0 || status == 3 || status == 4; }

class StreamJudge {
 public:
  StreamJudge(std::string_view bytes, bool fin, const StreamFacts& facts)
      : in_(bytes), fin_(fin), facts_(&facts) {}

  Verdict Judge() {
    const uint64_t type = in_.TakeNum();
    if (in_.ran_out()) {
      return Short();
    }
    if (type == kPaddingStream) {
      return kFine;  // [11.5.1]
    }
    if (type == kFetchType) {
      return Fetch();
    }
    // [3.4, 11.4.2] Of the form 0b0XX1XXXX, and not of the reserved mode.
    const bool subgroup = type < 0x80 && (type & 0x10) != 0 && (type & 0x06) != 0x06;
    return subgroup ? Subgroup(type) : kViolation;
  }

 private:
  // [11.4] A stream that ends within its header or an object.
  Verdict Short() const { return fin_ ? kViolation : kFine; }

  Verdict Subgroup(uint64_t type) {
    const uint64_t alias = in_.TakeNum();
    group_ = in_.TakeNum();
    if ((type & 0x06) == 0x04) {
      (void)in_.TakeNum();
    }
    if ((type & 0x20) == 0) {
      (void)in_.TakeByte();
    }
    if (in_.ran_out()) {
      return Short();
    }
    if (alias != facts_->alias) {
      return kFine;  // It waits for its track.
    }
    bool ended = false;
    std::optional<uint64_t> previous;
    while (!in_.done()) {
      const uint64_t delta = in_.TakeNum();
      if (in_.ran_out()) {
        return Short();
      }
      // [11.4.2, 11.2.1.1]
      if (ended || (previous && delta >= kMost - *previous)) {
        return kViolation;
      }
      object_ = previous ? *previous + delta + 1 : delta;
      previous = object_;
      bool propertied = false;
      if ((type & 0x01) != 0) {
        if (const auto verdict = Properties(&propertied)) {
          return *verdict;
        }
      }
      uint64_t length = 0;
      if (const auto verdict = Payload(&length)) {
        return *verdict;
      }
      if (length == 0) {
        const uint64_t status = in_.TakeNum();
        if (in_.ran_out()) {
          return Short();
        }
        if (!IsStatus(status) || (status != 0 && propertied)) {
          return kViolation;  // [11.2.1.1, 11.2.1.2]
        }
        ended = status != 0;
      }
    }
    return kFine;
  }

  std::optional<Verdict> Properties(bool* any) {
    const uint64_t length = in_.TakeNum();
    if (!in_.ran_out() && length > facts_->properties_bytes_max) {
      return kTooMuch;
    }
    const std::string_view properties = in_.Take(length);
    if (in_.ran_out()) {
      return Short();
    }
    *any = !properties.empty();
    return JudgeObjectProperties(properties, group_, object_);
  }

  std::optional<Verdict> Payload(uint64_t* length) {
    *length = in_.TakeNum();
    if (!in_.ran_out() && *length > facts_->object_bytes_max) {
      return kTooMuch;
    }
    (void)in_.Take(*length);
    return in_.ran_out() ? std::optional(Short()) : std::nullopt;
  }

  // [11.4.4]
  Verdict Fetch() {
    const uint64_t id = in_.TakeNum();
    if (in_.ran_out()) {
      return Short();
    }
    if (id != facts_->request_id) {
      return kLeftOpen;
    }
    while (!in_.done()) {
      if (const auto verdict = Item()) {
        return *verdict;
      }
    }
    return kFine;
  }

  std::optional<Verdict> Item() {
    const uint64_t flags = in_.TakeNum();
    if (in_.ran_out()) {
      return Short();
    }
    const bool range = flags == 0x8c || flags == 0x10c;
    if (flags >= 0x80 && !range) {
      return kViolation;
    }
    const bool first = !located_;
    if (first && (flags & 0x0c) != 0x0c) {
      return kViolation;
    }
    if (!range) {
      const bool prior_subgroup = (flags & 0x40) == 0 && ((flags & 3) == 1 || (flags & 3) == 2);
      if (prior_subgroup && datagram_before_) {
        return kLeftOpen;  // The draft does not say what a datagram leaves behind.
      }
      if ((prior_subgroup && !subgroup_) || ((flags & 0x10) == 0 && !any_object_)) {
        return kViolation;
      }
    }
    const auto before = std::pair(group_, object_);
    if (const auto verdict = Place(flags, first, range)) {
      return verdict;
    }
    located_ = true;
    if (!InOrder(before, first) || !Asked()) {
      return kLeftOpen;
    }
    return range ? std::nullopt : Rest(flags);
  }

  // Group, subgroup and object.
  std::optional<Verdict> Place(uint64_t flags, bool first, bool range) {
    if ((flags & 0x08) != 0) {
      const uint64_t number = in_.TakeNum();
      const bool absolute = first || range;
      const uint64_t room = facts_->descending ? group_ : kMost - group_;
      if (!in_.ran_out() && !absolute && number >= room) {
        return kViolation;
      }
      const uint64_t step = number + 1;
      group_ = absolute ? number : facts_->descending ? group_ - step : group_ + step;
    }
    if (!range && (flags & 0x40) == 0) {
      const uint64_t mode = flags & 3;
      if (mode == 2 && subgroup_ == kMost) {
        return in_.ran_out() ? Short() : kViolation;
      }
      subgroup_ = mode == 0   ? 0
                  : mode == 1 ? *subgroup_
                  : mode == 2 ? *subgroup_ + 1
                              : in_.TakeNum();
    }
    if (in_.ran_out()) {
      return Short();
    }
    const bool given = (flags & 0x04) != 0;
    const uint64_t delta = given ? in_.TakeNum() : 1;
    if (in_.ran_out()) {
      return Short();
    }
    const uint64_t from = given && (flags & 0x08) != 0 ? 0 : object_;
    if (delta > kMost - from) {
      return kViolation;
    }
    object_ = from + delta;
    return std::nullopt;
  }

  std::optional<Verdict> Rest(uint64_t flags) {
    if ((flags & 0x10) != 0) {
      (void)in_.TakeByte();
    }
    bool any = false;
    if ((flags & 0x20) != 0) {
      if (const auto verdict = Properties(&any)) {
        return verdict;
      }
    }
    if (in_.ran_out()) {
      return Short();
    }
    any_object_ = true;
    datagram_before_ = (flags & 0x40) != 0;
    uint64_t length = 0;
    return Payload(&length);
  }

  bool InOrder(std::pair<uint64_t, uint64_t> before, bool first) const {
    if (first || before.first == group_) {
      return first || before.second < object_;
    }
    return (before.first < group_) != facts_->descending;
  }
  bool Asked() const {
    return std::pair(group_, object_) >= facts_->fetched_from && group_ <= facts_->fetched_to;
  }

  Reader in_;
  bool fin_;
  const StreamFacts* facts_;
  uint64_t group_ = 0;
  uint64_t object_ = 0;
  bool located_ = false;
  bool any_object_ = false;
  bool datagram_before_ = false;
  std::optional<uint64_t> subgroup_;
};

}  // namespace

Verdict JudgeStream(std::string_view bytes, bool fin, const StreamFacts& facts) {
  return StreamJudge(bytes, fin, facts).Judge();
}

// [11.3.1]
Verdict JudgeDatagram(std::string_view bytes, const StreamFacts& facts) {
  Reader in(bytes);
  const uint64_t type = in.TakeNum();
  if (in.ran_out()) {
    return kViolation;
  }
  if (type == kPaddingDatagram) {
    return kFine;
  }
  if ((type & ~uint64_t{0x2f}) != 0 || (type & 0x22) == 0x22) {
    return kViolation;
  }
  const uint64_t alias = in.TakeNum();
  const uint64_t group = in.TakeNum();
  const uint64_t object = (type & 0x04) != 0 ? 0 : in.TakeNum();
  if ((type & 0x08) == 0) {
    (void)in.TakeByte();
  }
  std::optional<Verdict> track;
  if ((type & 0x01) != 0) {
    const std::string_view properties = in.Take(in.TakeNum());
    if (in.ran_out() || properties.empty()) {
      return kViolation;
    }
    track = JudgeObjectProperties(properties, group, object);
    if (track == kViolation) {
      return kViolation;
    }
  }
  if ((type & 0x20) != 0) {
    const uint64_t status = in.TakeNum();
    if (in.ran_out() || !IsStatus(status) || !in.done() || (status != 0 && (type & 0x01) != 0)) {
      return kViolation;
    }
  }
  if (in.ran_out()) {
    return kViolation;
  }
  return track && alias == facts.alias ? *track : kFine;
}

}  // namespace kvcast::moqt::draft
