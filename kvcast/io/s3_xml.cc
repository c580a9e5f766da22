#include "kvcast/io/s3_xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <utility>

namespace kvcast {
namespace {

constexpr size_t kDepthMax = 8;
constexpr size_t kNameMax = 64;
constexpr size_t kKeyMax = 1024;
constexpr size_t kListingKeysMax = 10000;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == ':';
}

// Walks through a document, and tells of each element's end with its path and its text.
class XmlWalk {
 public:
  // "ListBucketResult/Contents/Key", and what stands between its tags; empty if elements do.
  using OnElement = std::function<Result<void>(std::string_view path, const std::string& text)>;

  explicit XmlWalk(std::string_view xml) : xml_(xml) {}

  Result<void> Walk(const OnElement& on_element) {
    if (xml_.size() > kS3XmlBytesMax) {
      return Error(ErrorCode::kTooLarge, "The server's answer is too long.");
    }
    KVCAST_TRY_VOID(SkipProlog());
    do {
      KVCAST_TRY_VOID(Step(on_element));
    } while (!open_.empty());
    SkipSpace();
    return at_ == xml_.size() ? Result<void>() : Malformed("Something follows the document.");
  }

 private:
  Error Malformed(std::string message) const {
    return Error(ErrorCode::kMalformed, std::move(message)).At(at_);
  }
  bool Take(std::string_view expected) {
    if (!xml_.substr(at_).starts_with(expected)) {
      return false;
    }
    at_ += expected.size();
    return true;
  }
  void SkipSpace() {
    while (at_ < xml_.size() && IsSpace(xml_[at_])) {
      ++at_;
    }
  }

  Result<void> SkipProlog() {
    SkipSpace();
    if (Take("<?xml")) {
      const size_t end = xml_.find("?>", at_);
      if (end == std::string_view::npos) {
        return Malformed("The declaration has no end.");
      }
      at_ = end + 2;
      SkipSpace();
    }
    return at_ < xml_.size() && xml_[at_] == '<' ? Result<void>()
                                                 : Malformed("An element was expected.");
  }

  // A tag, or the text up to the next one.
  Result<void> Step(const OnElement& on_element) {
    if (Take("</")) {
      return Close(on_element);
    }
    if (at_ < xml_.size() && xml_[at_] == '<') {
      return Open(on_element);
    }
    return Text();
  }

  Result<std::string_view> Name() {
    const size_t start = at_;
    while (at_ < xml_.size() && IsNameChar(xml_[at_])) {
      ++at_;
    }
    if (at_ == start || at_ - start > kNameMax) {
      return Malformed("A name was expected.");
    }
    return xml_.substr(start, at_ - start);
  }

  Result<void> Open(const OnElement& on_element) {
    ++at_;
    KVCAST_TRY(const std::string_view name, Name());
    KVCAST_TRY_VOID(SkipAttributes());
    if (open_.size() == kDepthMax) {
      return Malformed("The document is too deep.");
    }
    if (!open_.empty()) {
      path_ += '/';
    }
    path_ += name;
    open_.push_back(name);
    text_.clear();
    if (Take("/>")) {
      return End(on_element);
    }
    return Take(">") ? Result<void>() : Malformed("A tag has no end.");
  }

  // name="value": namespaces, which say nothing new.
  Result<void> SkipAttributes() {
    while (true) {
      SkipSpace();
      if (at_ >= xml_.size() || xml_[at_] == '>' || xml_[at_] == '/') {
        return {};
      }
      KVCAST_TRY_VOID(Name());
      const char quote = at_ + 1 < xml_.size() ? xml_[at_ + 1] : '\0';
      if (!Take("=") || (quote != '"' && quote != '\'')) {
        return Malformed("An attribute has no value.");
      }
      const size_t end = xml_.find(quote, at_ + 1);
      if (end == std::string_view::npos) {
        return Malformed("An attribute has no end.");
      }
      at_ = end + 1;
    }
  }

  Result<void> Close(const OnElement& on_element) {
    KVCAST_TRY(const std::string_view name, Name());
    SkipSpace();
    if (open_.empty() || name != open_.back() || !Take(">")) {
      return Malformed("A tag closes what is not open.");
    }
    return End(on_element);
  }

  Result<void> End(const OnElement& on_element) {
    KVCAST_TRY_VOID(on_element(path_, text_));
    path_.resize(path_.size() - open_.back().size());
    open_.pop_back();
    if (!open_.empty()) {
      path_.pop_back();
    }
    text_.clear();
    return {};
  }

  Result<void> Text() {
    while (at_ < xml_.size() && xml_[at_] != '<') {
      if (xml_[at_] == '&') {
        KVCAST_TRY_VOID(Entity());
      } else {
        text_ += xml_[at_++];
      }
    }
    return at_ < xml_.size() ? Result<void>() : Malformed("The document ends early.");
  }

  Result<void> Entity() {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kNamed{
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    for (const auto& [name, character] : kNamed) {
      if (Take(name)) {
        text_ += character;
        return {};
      }
    }
    const size_t end = xml_.find(';', at_);
    if (!Take("&#") || end == std::string_view::npos || end <= at_ || end - at_ > 8) {
      return Malformed("There is no such entity.");
    }
    const bool hex = Take("x");
    uint32_t code = 0;
    const auto [last, error] =
        std::from_chars(xml_.data() + at_, xml_.data() + end, code, hex ? 16 : 10);
    if (error != std::errc() || last != xml_.data() + end || code == 0 || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
      return Malformed("There is no such character.");
    }
    at_ = end + 1;
    AppendUtf8(code);
    return {};
  }

  void AppendUtf8(uint32_t code) {
    if (code < 0x80) {
      text_ += static_cast<char>(code);
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    const uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
    text_ += static_cast<char>(lead | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) {
      text_ += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
    }
  }

  std::string_view xml_;
  size_t at_ = 0;
  std::vector<std::string_view> open_;
  std::string path_;
  std::string text_;
};

Error NotUnderstood(std::string message) { return {ErrorCode::kMalformed, std::move(message)}; }

}  // namespace

Result<S3Listing> ParseS3Listing(std::string_view xml) {
  S3Listing listing;
  std::optional<std::string> key;
  std::optional<uint64_t> bytes;
  bool truncated = false;
  bool whole = false;
  const auto on_element = [&](std::string_view path, const std::string& text) -> Result<void> {
    if (path == "ListBucketResult/Contents/Key") {
      if (key || text.empty() || text.size() > kKeyMax) {
        return NotUnderstood("A listing's key makes no sense.");
      }
      key = text;
    } else if (path == "ListBucketResult/Contents/Size") {
      uint64_t size = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (bytes || error != std::errc() || end != text.data() + text.size()) {
        return NotUnderstood("A listing's size makes no sense.");
      }
      bytes = size;
    } else if (path == "ListBucketResult/Contents") {
      if (!key || !bytes || listing.entries.size() == kListingKeysMax) {
        return NotUnderstood("A listing's entry makes no sense.");
      }
      listing.entries.push_back({*std::exchange(key, {}), *std::exchange(bytes, {})});
    } else if (path == "ListBucketResult/IsTruncated") {
      truncated = text == "true";
    } else if (path == "ListBucketResult/NextContinuationToken") {
      if (text.size() > kKeyMax * 2) {
        return NotUnderstood("A listing's continuation is too long.");
      }
      listing.continuation = text;
    } else if (path == "ListBucketResult") {
      whole = true;
    }
    return {};
  };
  KVCAST_TRY_VOID(XmlWalk(xml).Walk(on_element));
  if (!whole || key || bytes) {
    return NotUnderstood("The server's answer is not a listing.");
  }
  if (truncated && listing.continuation.empty()) {
    return NotUnderstood("A listing is cut, and does not say where it goes on.");
  }
  if (!truncated) {
    listing.continuation.clear();
  }
  return listing;
}

Result<S3Failure> ParseS3Error(std::string_view xml) {
  S3Failure failure;
  bool whole = false;
  const auto on_element = [&](std::string_view path, const std::string& text) -> Result<void> {
    if (path == "Error/Code") {
      failure.code = text;
    } else if (path == "Error/Message") {
      failure.message = text;
    } else if (path == "Error") {
      whole = true;
    }
    return {};
  };
  KVCAST_TRY_VOID(XmlWalk(xml).Walk(on_element));
  if (!whole) {
    return NotUnderstood("The server's answer is not an error.");
  }
  return failure;
}

BucketError::Kind KindOfS3Error(long status, std::string_view code) {
  using Kind = BucketError::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 24> kKinds{{
      {"AccessDenied", Kind::kAuth},
      {"AccountProblem", Kind::kAuth},
      {"AuthorizationHeaderMalformed", Kind::kAuth},
      {"BadDigest", Kind::kDamaged},
      {"EntityTooSmall", Kind::kDamaged},
      {"ExpiredToken", Kind::kAuth},
      {"IncompleteBody", Kind::kDamaged},
      {"InvalidAccessKeyId", Kind::kAuth},
      {"InvalidDigest", Kind::kDamaged},
      {"InvalidRange", Kind::kDamaged},
      {"InvalidToken", Kind::kAuth},
      {"NoSuchBucket", Kind::kOther},
      {"NoSuchKey", Kind::kNotFound},
      {"RequestLimitExceeded", Kind::kThrottled},
      {"RequestTimeTooSkewed", Kind::kAuth},
      {"RequestTimeout", Kind::kTimeout},
      {"ServiceUnavailable", Kind::kThrottled},
      {"SignatureDoesNotMatch", Kind::kAuth},
      {"SlowDown", Kind::kThrottled},
      {"Throttling", Kind::kThrottled},
      {"ThrottlingException", Kind::kThrottled},
      {"TokenRefreshRequired", Kind::kAuth},
      {"TooManyRequests", Kind::kThrottled},
      {"XAmzContentSHA256Mismatch", Kind::kDamaged},
  }};
  const auto found = std::ranges::find(kKinds, code, &std::pair<std::string_view, Kind>::first);
  if (found != kKinds.end()) {
    return found->second;
  }
  switch (status) {
    case 401:
    case 403:
      return Kind::kAuth;
    case 408:
      return Kind::kTimeout;
    case 416:
      return Kind::kDamaged;
    case 429:
    case 503:
      return Kind::kThrottled;
    default:
      return Kind::kOther;
  }
}

}  // namespace kvcast
