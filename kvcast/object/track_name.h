#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/result.h"

namespace kvcast {

// What MoQT allows of a name.
inline constexpr size_t kNamespaceFieldsMax = 32;
inline constexpr size_t kTrackNameBytesMax = 4096;  // All fields and the track's name together.

// The first part of a track's name: up to 32 fields of bytes, none empty. Binary; compared byte by
// byte. A prefix of fields stands for every track below it.
class TrackNamespace {
 public:
  TrackNamespace() = default;
  static Result<TrackNamespace> Of(std::span<const std::string_view> fields);
  static Result<TrackNamespace> Of(std::initializer_list<std::string_view> fields) {
    return Of(std::span(fields.begin(), fields.size()));
  }

  size_t field_count() const { return field_count_; }
  // REQUIRES: index < field_count().
  std::string_view field(size_t index) const;
  // The lengths of all fields together, which is what MoQT bounds.
  size_t length() const { return length_; }
  // (length:vi64 bytes)* of its fields: the same for equal names, and for no others.
  std::string_view packed() const { return packed_; }

  // The first so many fields, and those after them. REQUIRES: count <= field_count().
  TrackNamespace First(size_t count) const;
  TrackNamespace After(size_t count) const;
  // These fields, then those of `below`. Too large: the whole is.
  Result<TrackNamespace> Join(const TrackNamespace& below) const;

  // Whether every track of `other` lies below this; a namespace is a prefix of itself.
  bool IsPrefixOf(const TrackNamespace& other) const;
  // The first field begins with a period: kept for the protocol's own use.
  bool IsReserved() const { return field_count_ > 0 && field(0).front() == '.'; }

  // "example.2enet-team2-project_x": safe in file names, URLs and logs, and one to one.
  std::string Render() const;
  static Result<TrackNamespace> Parse(std::string_view rendered);

  // count:vi64 (length:vi64 bytes)*
  void WriteTo(ByteWriter& writer) const;
  static Result<TrackNamespace> ReadFrom(ByteReader& reader);

  friend auto operator<=>(const TrackNamespace&, const TrackNamespace&) = default;

 private:
  Result<void> Append(std::string_view field);

  // (length:vi64 bytes)*, shortest form: equal names are equal strings, and one allocation holds
  // them, which matters where an index keeps a million.
  std::string packed_;
  uint16_t field_count_ = 0;
  uint16_t length_ = 0;
};

// A track's full name: its namespace and its name in it, which may be empty.
class TrackName {
 public:
  static Result<TrackName> Of(TrackNamespace space, std::string_view name);

  const TrackNamespace& space() const { return space_; }
  const std::string& name() const { return name_; }

  // "example.2enet-team2-project_x--report"
  std::string Render() const;
  static Result<TrackName> Parse(std::string_view rendered);

  // namespace length:vi64 bytes
  void WriteTo(ByteWriter& writer) const;
  static Result<TrackName> ReadFrom(ByteReader& reader);

  friend auto operator<=>(const TrackName&, const TrackName&) = default;

 private:
  TrackName(TrackNamespace space, std::string name)
      : space_(std::move(space)), name_(std::move(name)) {}

  TrackNamespace space_;
  std::string name_;
};

}  // namespace kvcast
