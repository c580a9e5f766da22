#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kvcast/moqt/session.h"

namespace kvcast::moqt {

inline TrackName Track(std::string_view name) {
  return *TrackName::Of(*TrackNamespace::Of({"kv"}), name);
}

// A group of one subgroup, whole.
inline void SendGroup(Session& session, RequestId request, uint64_t group, uint64_t objects,
                      size_t bytes) {
  SubgroupHeader header;
  header.group = group;
  const StreamId stream = *session.OpenSubgroup(request, header);
  for (uint64_t i = 0; i < objects; ++i) {
    Object object;
    object.location = {group, i};
    object.payload = Bytes::Of(std::string(bytes, 'k'));
    ASSERT_TRUE(session.SendObject(request, stream, object).ok());
  }
  ASSERT_TRUE(session.EndSubgroup(request, stream).ok());
}

}  // namespace kvcast::moqt
