#include "kvcast/catalog/forget_list.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr std::string_view kForgetMagic = "kvfg";
constexpr uint8_t kForgetVersion = 1;
constexpr size_t kForgetCheckBytes = 8;
constexpr uint8_t kOfModel = 1;
constexpr uint8_t kOfPrefix = 2;

Bytes CheckOf(const Bytes& bytes) {
  const Digest digest = Sha256::Of(bytes);
  return Bytes::Copy(digest.span().first<kForgetCheckBytes>());
}

Result<ForgetList::Entry> ReadEntry(ByteReader& reader) {
  const uint64_t at = reader.offset();
  ForgetList::Entry entry;
  KVCAST_TRY(const uint8_t what, reader.U8());
  if (what > (kOfModel | kOfPrefix)) {
    return Error(ErrorCode::kMalformed, "Nothing is forgotten by " + std::to_string(what) + ".")
        .At(at);
  }
  KVCAST_TRY(entry.at_us, reader.U64Le());
  if (entry.at_us > ForgetList::kLastUs) {
    return Error(ErrorCode::kMalformed, "That time never comes.").At(at + 1);
  }
  if ((what & kOfModel) != 0) {
    KVCAST_TRY(const uint64_t length, reader.Vi64());
    if (length == 0 || length > ForgetList::kModelBytesMax) {
      return reader.Malformed("A model's name has 1 to 512 bytes.");
    }
    KVCAST_TRY(entry.model, reader.Text(static_cast<size_t>(length)));
  }
  if ((what & kOfPrefix) != 0) {
    entry.prefix.emplace();
    KVCAST_TRY_VOID(reader.Read(entry.prefix->bytes));
  }
  return entry;
}

}  // namespace

void ForgetList::Add(std::optional<std::string> model, std::optional<Digest> prefix,
                     uint64_t now_us) {
  KVCAST_CHECK(!model || (!model->empty() && model->size() <= kModelBytesMax));
  Entry entry{entries_.empty() ? now_us : std::max(now_us, entries_.back().at_us + 1),
              std::move(model), prefix};
  std::erase_if(entries_, [&](const Entry& before) {
    return (!entry.model || before.model == entry.model) &&
           (!entry.prefix || before.prefix == entry.prefix);
  });
  if (entries_.size() == kEntriesMax) {
    const auto half = std::next(entries_.begin(), kEntriesMax / 2);
    const Entry all{std::prev(half)->at_us, std::nullopt, std::nullopt};
    entries_.erase(entries_.begin(), std::prev(half));
    entries_.front() = all;
  }
  entries_.push_back(std::move(entry));
}

Bytes ForgetList::Encode() const {
  KVCAST_CHECK(!entries_.empty());
  ByteWriter writer;
  writer.Write(kForgetMagic);
  writer.U8(kForgetVersion);
  writer.U8(0);
  writer.U16Le(0);
  for (const Entry& entry : entries_) {
    writer.U8(static_cast<uint8_t>((entry.model ? kOfModel : 0) | (entry.prefix ? kOfPrefix : 0)));
    writer.U64Le(entry.at_us);
    if (entry.model) {
      writer.Vi64(entry.model->size());
      writer.Write(*entry.model);
    }
    if (entry.prefix) {
      writer.Write(entry.prefix->bytes);
    }
  }
  Bytes bytes = writer.Take();
  bytes.Append(CheckOf(bytes));
  return bytes;
}

Result<ForgetList> ForgetList::Parse(const Bytes& payload) {
  ByteReader reader(payload);
  KVCAST_TRY(const std::string magic, reader.Text(kForgetMagic.size()));
  KVCAST_TRY(const uint8_t version, reader.U8());
  KVCAST_TRY(const uint8_t zero, reader.U8());
  KVCAST_TRY(const uint16_t zeros, reader.U16Le());
  if (magic != kForgetMagic) {
    return Error(ErrorCode::kMalformed, "This is no list of what was forgotten.").At(0);
  }
  if (version != kForgetVersion) {
    return Error(ErrorCode::kUnsupported, "Lists of what was forgotten of version " +
                                              std::to_string(version) + " are not known.")
        .At(kForgetMagic.size());
  }
  if (zero != 0 || zeros != 0) {
    return Error(ErrorCode::kMalformed, "Three bytes of such a list are zero, by its version.")
        .At(kForgetMagic.size() + 1);
  }
  if (reader.remaining() < kForgetCheckBytes) {
    return reader.Malformed("The list ends before its check sum.");
  }
  const Bytes body = payload.Slice(0, payload.size() - kForgetCheckBytes);
  if (payload.Slice(body.size(), kForgetCheckBytes) != CheckOf(body)) {
    return Error(ErrorCode::kMalformed, "The check sum is another one.").At(body.size());
  }
  ForgetList list;
  do {
    const uint64_t at = reader.offset();
    KVCAST_TRY(Entry entry, ReadEntry(reader));
    if (list.entries_.size() == kEntriesMax) {
      return Error(ErrorCode::kTooLarge, "A list has 1,024 entries at most.").At(at);
    }
    if (!list.entries_.empty() && entry.at_us <= list.entries_.back().at_us) {
      return Error(ErrorCode::kMalformed, "An entry is not later than the one before it.").At(at);
    }
    list.entries_.push_back(std::move(entry));
  } while (reader.remaining() > kForgetCheckBytes);
  if (reader.remaining() < kForgetCheckBytes) {
    return reader.Malformed("An entry reaches into the check sum.");
  }
  return list;
}

}  // namespace kvcast
