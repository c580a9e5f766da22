// Any bytes, with the check sum that they need, as a list of what was forgotten.
#include "kvcast/base/check.h"
#include "kvcast/catalog/forget_list.h"

using kvcast::Bytes;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes input = Bytes::Copy(std::as_bytes(std::span(data, size)));
  const kvcast::Digest digest = kvcast::Sha256::Of(input);
  input.Append(Bytes::Copy(digest.span().first<8>()));
  const auto list = kvcast::ForgetList::Parse(input);
  if (!list.ok()) {
    KVCAST_CHECK(list.error().offset().value_or(input.size() + 1) <= input.size());
    return 0;
  }
  KVCAST_CHECK(!list->empty());
  KVCAST_CHECK(*kvcast::ForgetList::Parse(list->Encode()) == *list);
  kvcast::ForgetList longer = *list;
  longer.Add(std::nullopt, kvcast::Digest(), 0);
  KVCAST_CHECK(longer.entries().size() <= kvcast::ForgetList::kEntriesMax);
  return 0;
}
