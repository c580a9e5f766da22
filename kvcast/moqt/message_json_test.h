#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/moqt/codec.h"

namespace kvcast::moqt {

// A message as docs/reference/vectors has them: called `as`, numbers as on the wire, bytes as hex.
Json MessageOut(const Message& message, const std::string& as);

// The place where a message of that name stands.
MessagePlace PlaceOf(const std::string& as, Role sender);

// A whole data stream, and a datagram, likewise.
Json SubgroupOut(const SubgroupHeader& header, const std::vector<Object>& objects);
Json FetchOut(uint64_t request_id, GroupOrder order, const std::vector<FetchItem>& items);
Json DatagramOut(const ObjectDatagram& datagram);

}  // namespace kvcast::moqt
