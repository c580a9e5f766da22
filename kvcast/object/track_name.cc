#include "kvcast/object/track_name.h"

#include <array>
#include <optional>

#include "kvcast/base/hex.h"
#include "kvcast/base/vi64.h"

namespace kvcast {
namespace {

constexpr std::string_view kEnd = "--";

bool IsLiteral(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int LowerHexDigit(char c) { return c >= 'A' && c <= 'F' ? -1 : HexDigitValue(c); }

std::string RenderField(std::string_view field) {
  std::string text;
  for (const char c : field) {
    if (IsLiteral(c)) {
      text += c;
    } else {
      const std::byte byte[] = {static_cast<std::byte>(c)};
      text += "." + ToHex(byte);
    }
  }
  return text;
}

// Accepts only what RenderField() would have written, so that a name has one rendering.
// `offset` is where `text` begins in the whole, for errors.
Result<std::string> ParseField(std::string_view text, size_t offset) {
  std::string field;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsLiteral(text[i])) {
      field += text[i];
      continue;
    }
    if (text[i] != '.') {
      return Error(ErrorCode::kMalformed,
                   "Only letters, digits, _ and .hh stand in a rendered name.")
          .At(offset + i);
    }
    const int high = i + 1 < text.size() ? LowerHexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? LowerHexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return Error(ErrorCode::kMalformed, "A period is followed by two lower-case hex digits.")
          .At(offset + i);
    }
    const char c = static_cast<char>(high * 16 + low);
    if (IsLiteral(c)) {
      return Error(ErrorCode::kMalformed, "A character that stands for itself is not escaped.")
          .At(offset + i);
    }
    field += c;
    i += 2;
  }
  return field;
}

Error TooLong() {
  return Error(ErrorCode::kTooLarge,
               "A track's full name has at most " + std::to_string(kTrackNameBytesMax) + " bytes.");
}

}  // namespace

Result<void> TrackNamespace::Append(std::string_view field) {
  if (field.empty()) {
    return Error(ErrorCode::kMalformed, "A namespace field has at least one byte.");
  }
  if (field_count_ == kNamespaceFieldsMax) {
    return Error(ErrorCode::kTooLarge, "A namespace has at most 32 fields.");
  }
  if (field.size() > kTrackNameBytesMax - length_) {
    return TooLong();
  }
  std::array<std::byte, kVi64BytesMax> length{};
  const size_t size = WriteVi64(field.size(), length);
  packed_ += AsText(std::span(length).first(size));
  packed_ += field;
  ++field_count_;
  length_ = static_cast<uint16_t>(length_ + field.size());
  return {};
}

Result<TrackNamespace> TrackNamespace::Of(std::span<const std::string_view> fields) {
  TrackNamespace space;
  for (const std::string_view field : fields) {
    KVCAST_TRY_VOID(space.Append(field));
  }
  space.packed_.shrink_to_fit();
  return space;
}

std::string_view TrackNamespace::field(size_t index) const {
  KVCAST_CHECK(index < field_count_);
  std::string_view rest = packed_;
  for (;; --index) {
    const std::span<const std::byte> bytes = AsBytes(rest);
    const size_t length = ReadVi64(bytes);
    rest.remove_prefix(Vi64SizeFrom(bytes[0]));
    if (index == 0) {
      return rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
}

TrackNamespace TrackNamespace::First(size_t count) const {
  KVCAST_CHECK(count <= field_count_);
  TrackNamespace space;
  for (size_t i = 0; i < count; ++i) {
    KVCAST_CHECK(space.Append(field(i)).ok());
  }
  return space;
}

TrackNamespace TrackNamespace::After(size_t count) const {
  KVCAST_CHECK(count <= field_count_);
  TrackNamespace space;
  for (size_t i = count; i < field_count_; ++i) {
    KVCAST_CHECK(space.Append(field(i)).ok());
  }
  return space;
}

Result<TrackNamespace> TrackNamespace::Join(const TrackNamespace& below) const {
  TrackNamespace space = *this;
  for (size_t i = 0; i < below.field_count_; ++i) {
    KVCAST_TRY_VOID(space.Append(below.field(i)));
  }
  return space;
}

bool TrackNamespace::IsPrefixOf(const TrackNamespace& other) const {
  // Fields say their own length first, so equal bytes are equal fields.
  return std::string_view(other.packed_).starts_with(packed_);
}

std::string TrackNamespace::Render() const {
  std::string text;
  for (size_t i = 0; i < field_count_; ++i) {
    text += (i > 0 ? "-" : "") + RenderField(field(i));
  }
  return text;
}

Result<TrackNamespace> TrackNamespace::Parse(std::string_view rendered) {
  TrackNamespace space;
  if (rendered.empty()) {
    return space;
  }
  for (size_t at = 0; at <= rendered.size();) {
    const size_t end = std::min(rendered.find('-', at), rendered.size());
    KVCAST_TRY(const std::string field, ParseField(rendered.substr(at, end - at), at));
    if (auto appended = space.Append(field); !appended.ok()) {
      return std::move(appended).error().At(at);
    }
    at = end + 1;
  }
  space.packed_.shrink_to_fit();
  return space;
}

void TrackNamespace::WriteTo(ByteWriter& writer) const {
  writer.Vi64(field_count_);
  writer.Write(packed_);
}

Result<TrackNamespace> TrackNamespace::ReadFrom(ByteReader& reader) {
  TrackNamespace space;
  KVCAST_TRY(const uint64_t count, reader.Vi64());
  if (count > kNamespaceFieldsMax) {
    return reader.Malformed("A namespace has at most 32 fields; this one claims " +
                            std::to_string(count) + ".");
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = reader.offset();
    KVCAST_TRY(const uint64_t length, reader.Vi64());
    if (length > kTrackNameBytesMax) {
      return TooLong().At(at);
    }
    KVCAST_TRY(const std::string field, reader.Text(length));
    if (auto appended = space.Append(field); !appended.ok()) {
      return std::move(appended).error().At(at);
    }
  }
  space.packed_.shrink_to_fit();
  return space;
}

Result<TrackName> TrackName::Of(TrackNamespace space, std::string_view name) {
  if (name.size() > kTrackNameBytesMax - space.length()) {
    return TooLong();
  }
  return TrackName(std::move(space), std::string(name));
}

std::string TrackName::Render() const {
  return space_.Render() + std::string(kEnd) + RenderField(name_);
}

Result<TrackName> TrackName::Parse(std::string_view rendered) {
  const size_t end = rendered.find(kEnd);
  if (end == std::string_view::npos) {
    return Error(ErrorCode::kMalformed, "A rendered track name has -- before its last part.")
        .At(rendered.size());
  }
  KVCAST_TRY(TrackNamespace space, TrackNamespace::Parse(rendered.substr(0, end)));
  const size_t at = end + kEnd.size();
  KVCAST_TRY(const std::string name, ParseField(rendered.substr(at), at));
  Result<TrackName> parsed = Of(std::move(space), name);
  if (!parsed.ok()) {
    return std::move(parsed).error().At(at);
  }
  return parsed;
}

void TrackName::WriteTo(ByteWriter& writer) const {
  space_.WriteTo(writer);
  writer.Vi64(name_.size());
  writer.Write(name_);
}

Result<TrackName> TrackName::ReadFrom(ByteReader& reader) {
  KVCAST_TRY(TrackNamespace space, TrackNamespace::ReadFrom(reader));
  const uint64_t at = reader.offset();
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length > kTrackNameBytesMax - space.length()) {
    return TooLong().At(at);
  }
  KVCAST_TRY(const std::string name, reader.Text(length));
  return Of(std::move(space), name);
}

}  // namespace kvcast
