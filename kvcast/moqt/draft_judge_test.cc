#include "kvcast/moqt/draft_judge_test.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace kvcast::moqt::draft {
namespace {

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// RFC 3986: unreserved, sub-delims, `more`, and percent-encoded bytes.
bool IsUriText(std::string_view text, std::string_view more) {
  const std::string_view marks = "-._~!$&'()*+,;=";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '%' && i + 2 < text.size() && IsHex(text[i + 1]) && IsHex(text[i + 2])) {
      i += 2;
    } else if (!letter && marks.find(c) == std::string_view::npos &&
               more.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

// RFC 3986, 3.2.2: an IPv6 address, or "v", a version in hex, a period and at least one character.
bool IsAddress(const std::string& text) {
  unsigned char ignored[16];
  if (inet_pton(AF_INET6, text.c_str(), ignored) == 1) {
    return text.size() == std::strlen(text.c_str());
  }
  const size_t dot = text.find('.');
  return (text.starts_with('v') || text.starts_with('V')) && dot != std::string::npos && dot > 1 &&
         dot + 1 < text.size() && text.find('%') == std::string::npos &&
         std::ranges::all_of(std::string_view(text).substr(1, dot - 1), IsHex) &&
         IsUriText(std::string_view(text).substr(dot + 1), ":");
}

// RFC 3986, 3.2: [ userinfo "@" ] host [ ":" port ], taken apart from its end.
bool IsAuthority(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9') {
    --end;
  }
  if (end > 0 && text[end - 1] == ':' && text.find(']', end) == std::string_view::npos) {
    text = text.substr(0, end - 1);
  }
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    if (!IsUriText(text.substr(0, at), ":")) {
      return false;
    }
    text = text.substr(at + 1);
  }
  if (text.starts_with('[') && text.ends_with(']')) {
    return IsAddress(std::string(text.substr(1, text.size() - 2)));
  }
  return !text.empty() && IsUriText(text, "");
}

}  // namespace

std::optional<std::vector<Pair>> Pairs(std::string_view bytes) {
  Reader in(bytes);
  std::vector<Pair> pairs;
  uint64_t type = 0;
  while (!in.done()) {
    const uint64_t delta = in.TakeNum();
    if (delta > kMost - type) {
      return std::nullopt;
    }
    type += delta;
    Pair pair{type, in.TakeNum(), {}};
    if (type % 2 == 1) {
      if (pair.number > 65535) {
        return std::nullopt;
      }
      pair.bytes = in.Take(pair.number);
    }
    pairs.push_back(pair);
  }
  return in.ran_out() ? std::nullopt : std::optional(pairs);
}

// All pairs, with those among the immutable ones; a verdict if that cannot be.
static std::optional<Verdict> AllPairs(std::string_view bytes, std::vector<Pair>& all) {
  const auto outer = Pairs(bytes);
  if (!outer) {
    return kViolation;
  }
  all = *outer;
  bool seen = false;
  for (const Pair& pair : *outer) {
    if (pair.type != 0x0b) {
      continue;
    }
    const auto inner = Pairs(pair.bytes);
    // [12.7] Unreadable, nested, or twice.
    if (!inner || seen || std::ranges::count(*inner, 0x0bu, &Pair::type) > 0) {
      return kMalformedTrack;
    }
    seen = true;
    all.insert(all.end(), inner->begin(), inner->end());
  }
  return std::nullopt;
}

std::optional<Verdict> JudgeObjectProperties(std::string_view bytes, uint64_t group,
                                             uint64_t object) {
  std::vector<Pair> all;
  if (const auto verdict = AllPairs(bytes, all)) {
    return verdict;
  }
  for (const Pair& pair : all) {
    // [2.5.1] No mandatory property; [12.8, 12.9] gaps once, and not below 0.
    const bool mandatory = pair.type >= 0x4000 && pair.type <= 0x7fff;
    const bool gap = pair.type == 0x3c || pair.type == 0x3e;
    if (mandatory || (gap && (std::ranges::count(all, pair.type, &Pair::type) > 1 ||
                              pair.number > (pair.type == 0x3c ? group : object)))) {
      return kMalformedTrack;
    }
  }
  return std::nullopt;
}

Verdict Judge::Message(std::string_view body) {
  Reader in(body);
  for (const Part part : ShapeOf(use_).parts) {
    Read(part, in);
    if (in.ran_out()) {
      Fault(kViolation);  // [10] The length is not that of the message's fields.
    }
    if (fault_) {
      return *fault_;
    }
  }
  if (!in.done()) {
    return kViolation;  // [10]
  }
  for (const std::optional<Verdict>& verdict : {id_, token_, refusal_}) {
    if (verdict) {
      return *verdict;
    }
  }
  return kFine;
}

void Judge::Read(Part part, Reader& in) {
  size_t bytes = 0;
  switch (part) {
    case Part::kRequestId:
      return RequestId(in);
    case Part::kNumber:
    case Part::kAlias:
      return (void)in.TakeNum();
    case Part::kFullName:
      return Requested(FullName(in));
    case Part::kRequestedSpace:
      return Requested(Namespace(in, &bytes));
    case Part::kSuffix:
      return Suffix(in, false);
    case Part::kSuffixedName:
      return Suffix(in, true);
    case Part::kParameters:
      return Parameters(in);
    case Part::kTrackProperties:
      return Properties(in.Take(in.remaining()));
    case Part::kNoProperties:
      return;  // What is left over is a violation by itself.
    case Part::kOptions:
      return Options(in);
    case Part::kFetchRange:
      return FetchRange(in);
    case Part::kEndOfTrack:
      if (in.TakeByte() > 1) {
        Fault(kViolation);
      }
      return;
    case Part::kEndLocation:
      return EndLocation(in);
    case Part::kUri:
      // [10.4] A server is told of no place to go to.
      if (!Text(in, 8192).empty() && facts_->at_server) {
        Note(refusal_, kViolation);
      }
      return;
    case Part::kGoAwayId:
      // [10.4] Of the receiver's own requests.
      if (in.TakeNum() % 2 != (facts_->at_server ? 1 : 0)) {
        Note(id_, kInvalidRequestId);
      }
      return;
    case Part::kReason:
      return (void)Text(in, 1024);
    case Part::kErrorAndRest:
      return ErrorAndRest(in);
  }
}

// [10.1] A client's are even; none comes twice.
void Judge::RequestId(Reader& in) {
  const uint64_t id = in.TakeNum();
  if (id % 2 != (facts_->at_server ? 0 : 1) || facts_->used_ids.contains(id)) {
    Note(id_, kInvalidRequestId);
  }
}

// [2.4.1]
std::vector<std::string> Judge::Namespace(Reader& in, size_t* bytes) {
  const uint64_t count = in.TakeNum();
  if (count > 32) {
    Fault(kViolation);
    return {};
  }
  std::vector<std::string> fields;
  for (uint64_t i = 0; i < count && !in.ran_out(); ++i) {
    fields.emplace_back(in.Take(in.TakeNum()));
    *bytes += fields.back().size();
    if (fields.back().empty()) {
      Fault(kViolation);
    }
  }
  if (*bytes > 4096) {
    Fault(kViolation);
  }
  return fields;
}

std::vector<std::string> Judge::FullName(Reader& in) {
  size_t bytes = 0;
  std::vector<std::string> fields = Namespace(in, &bytes);
  if (bytes + in.Take(in.TakeNum()).size() > 4096) {
    Fault(kViolation);
  }
  return fields;
}

// [3.2.1, 3.2.2] "." is nobody's, and of a session's own tracks we know none.
void Judge::Requested(const std::vector<std::string>& space) {
  if (!space.empty() && (space[0] == "." || space[0] == ".session")) {
    Note(refusal_, kDoesNotExist);
  }
}

void Judge::Suffix(Reader& in, bool named) {
  size_t bytes = 0;
  const std::vector<std::string> suffix = Namespace(in, &bytes);
  if (named) {
    bytes += in.Take(in.TakeNum()).size();
  }
  for (const std::string& field : facts_->prefix) {
    bytes += field.size();
  }
  // [2.4.1] The namespace that it stands for is one, too.
  if (bytes > 4096 || suffix.size() + facts_->prefix.size() > 32) {
    Fault(kViolation);
  }
  // [10.18] No end before the beginning.
  if (use_ == Use::kNamespaceDone && !facts_->announced.contains(suffix)) {
    Note(refusal_, kViolation);
  }
}

void Judge::Parameters(Reader& in) {
  const uint64_t count = in.TakeNum();
  uint64_t type = 0;
  for (uint64_t i = 0; i < count && !in.ran_out() && !fault_; ++i) {
    const uint64_t delta = in.TakeNum();
    if (in.ran_out() || delta > kMost - type) {
      return Fault(kViolation);
    }
    if (i > 0 && delta == 0 && type != 0x03) {
      return Fault(kViolation);  // [10.2] Only tokens may stand more than once.
    }
    type += delta;
    const ParameterRule* rule = FindParameter(type);
    if (rule == nullptr) {
      return Fault(kViolation);  // [10.2]
    }
    if (!MayStand(*rule, use_)) {
      return Fault(kViolation);  // [10.2.1]
    }
    // [10.2.13] Not to be sent where the track has no dynamic groups, as ours do not; but what
    // becomes of it is not said.
    if (type == 0x32 && use_ != Use::kSubscribe) {
      Note(refusal_, kLeftOpen);
    }
    Value(in, rule->encoding);
  }
}

void Judge::Value(Reader& in, Encoding encoding) {
  size_t bytes = 0;
  switch (encoding) {
    case Encoding::kVarint:
      return (void)in.TakeNum();
    case Encoding::kByte:
      return (void)in.TakeByte();
    case Encoding::kFlag:
      return in.TakeByte() > 1 ? Fault(kViolation) : void();  // [10.2.12]
    case Encoding::kOrder:
      return in.TakeByte() - 1 > 1 && !in.ran_out() ? Fault(kViolation) : void();  // [10.2.8]
    case Encoding::kLocation:
      (void)in.TakeNum();
      return (void)in.TakeNum();
    case Encoding::kToken: {
      const std::string_view token = in.Take(in.TakeNum());
      return in.ran_out() ? void() : Token(token, false);
    }
    case Encoding::kFilter: {
      const std::string_view filter = in.Take(in.TakeNum());
      return in.ran_out() ? void() : Filter(filter);
    }
    case Encoding::kNamespace:
      return Requested(Namespace(in, &bytes));
  }
}

// [10.2.2] We let nobody register tokens, so no alias is known; SETUP comes before that is told.
void Judge::Token(std::string_view bytes, bool in_setup) {
  Reader in(bytes);
  const uint64_t kind = in.TakeNum();
  if (kind != 3) {
    (void)in.TakeNum();
  }
  const bool valued = kind == 1 || kind == 3;
  if (valued) {
    (void)in.TakeNum();
    (void)in.Take(in.remaining());
  }
  if (in.ran_out() || kind > 3 || !in.done()) {
    return Fault(kFormatting);
  }
  if (in_setup) {
    return valued ? void() : Fault(facts_->at_server ? kViolation : kLeftOpen);
  }
  if (kind != 3) {
    Note(token_, kind == 1 ? kCacheOverflow : kUnknownTokenAlias);
  }
}

// [5.1.2]
void Judge::Filter(std::string_view bytes) {
  Reader in(bytes);
  const uint64_t kind = in.TakeNum();
  uint64_t group = 0;
  if (kind == 3 || kind == 4) {
    group = in.TakeNum();
    (void)in.TakeNum();
  }
  const bool past = kind == 4 && in.TakeNum() > kMost - group;
  if (in.ran_out() || kind < 1 || kind > 4 || past || !in.done()) {
    Fault(kViolation);
  }
}

// [2.5, 12]
void Judge::Properties(std::string_view bytes) {
  std::vector<Pair> all;
  if (const auto verdict = AllPairs(bytes, all)) {
    // [2.4.2] What the draft says of a malformed track; a request of the peer's can be answered.
    const bool answered = *verdict == kMalformedTrack && use_ == Use::kPublish;
    return answered ? Note(refusal_, kRefusedAsMalformed) : Fault(*verdict);
  }
  for (const Pair& pair : all) {
    if ((pair.type == 0x0e && pair.number > 255) ||
        (pair.type == 0x22 && (pair.number < 1 || pair.number > 2)) ||
        (pair.type == 0x30 && pair.number > 1)) {
      Fault(kViolation);
    }
    if (pair.type >= 0x4000 && pair.type <= 0x7fff && use_ != Use::kTrackStatusOk) {
      Note(refusal_, use_ == Use::kPublish ? kUnsupportedExtension : kGivenUp);  // [2.5.1]
    }
  }
}

// [10.3]
void Judge::Options(Reader& in) {
  const std::string_view all = in.Take(in.remaining());
  // A token is looked at where it stands, and what follows may be broken as well: the first counts.
  Reader options(all);
  uint64_t type = 0;
  std::set<uint64_t> seen;
  while (!options.done() && !fault_) {
    const uint64_t delta = options.TakeNum();
    if (delta > kMost - type) {
      return Fault(kViolation);
    }
    type += delta;
    const uint64_t number = options.TakeNum();
    if (type % 2 == 1 && number > 65535) {
      return Fault(kViolation);
    }
    const std::string_view bytes = type % 2 == 1 ? options.Take(number) : std::string_view();
    if (options.ran_out()) {
      return Fault(kViolation);
    }
    Option(type, bytes, !seen.insert(type).second);
  }
}

void Judge::Option(uint64_t type, std::string_view bytes, bool repeated) {
  if (type == 0x03) {
    return Token(bytes, true);
  }
  if (type == 0x01 && !facts_->at_server) {
    return Fault(kInvalidPath);
  }
  if (type == 0x05 && !facts_->at_server) {
    return Fault(kInvalidAuthority);
  }
  const bool path_begins = bytes.empty() || bytes[0] == '/' || bytes[0] == '?';
  if (type == 0x01 && (!path_begins || !IsUriText(bytes, ":@/?"))) {
    return Fault(kMalformedPath);
  }
  if (type == 0x05 && !IsAuthority(bytes)) {
    return Fault(kMalformedAuthority);
  }
  const bool known = type == 0x01 || type == 0x04 || type == 0x05 || type == 0x07;
  if (known && repeated) {
    Fault(kViolation);
  }
}

// [10.12]
void Judge::FetchRange(Reader& in) {
  const uint64_t kind = in.TakeNum();
  if (kind < 1 || kind > 3) {
    return Fault(kViolation);
  }
  if (kind == 1) {
    Requested(FullName(in));
    const std::pair<uint64_t, uint64_t> from{in.TakeNum(), in.TakeNum()};
    const std::pair<uint64_t, uint64_t> end{in.TakeNum(), in.TakeNum()};
    // The end is one past the last object, and its 0 is the whole group.
    const bool ends_before =
        end.first < from.first ||
        (end.first == from.first && end.second != 0 && end.second - 1 < from.second);
    return ends_before ? Note(refusal_, kInvalidRange) : void();
  }
  const uint64_t joined = in.TakeNum();
  const uint64_t start = in.TakeNum();
  if (facts_->joinable != joined) {
    Note(refusal_, kBadJoin);
  } else if (start > facts_->joined_group) {
    // [10.12.3] An absolute start after the end; of so many groups back nothing is said.
    Note(refusal_, kind == 3 ? kInvalidRange : kLeftOpen);
  }
}

// [10.13] Not before where the fetch began.
void Judge::EndLocation(Reader& in) {
  const uint64_t group = in.TakeNum();
  const uint64_t end = in.TakeNum();
  const auto& [from_group, from_object] = facts_->fetched_from;
  if (group < from_group || (group == from_group && end != 0 && end < from_object)) {
    Note(refusal_, kViolation);
  }
}

// [10.6]
void Judge::ErrorAndRest(Reader& in) {
  const uint64_t code = in.TakeNum();
  (void)in.TakeNum();
  (void)Text(in, 1024);
  if (code != 0x34 || in.ran_out()) {
    return;
  }
  const std::string_view uri = in.Take(in.TakeNum());
  size_t bytes = 0;
  (void)Namespace(in, &bytes);
  const std::string_view name = in.Take(in.TakeNum());
  if (bytes + name.size() > 4096) {
    Fault(kViolation);
  }
  if ((facts_->at_server && !uri.empty()) || (facts_->about_namespace && !name.empty())) {
    Note(refusal_, kViolation);
  }
}

std::string_view Judge::Text(Reader& in, uint64_t most) {
  const uint64_t length = in.TakeNum();
  if (length > most) {
    Fault(kViolation);
  }
  return in.Take(length);
}

}  // namespace kvcast::moqt::draft
