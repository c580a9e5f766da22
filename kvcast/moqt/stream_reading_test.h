#pragma once

#include <string>
#include <string_view>

#include "kvcast/moqt/message_json_test.h"

namespace kvcast::moqt {

// What is made of bytes: what they mean, and the same written again.
struct Reading {
  Json meaning;
  std::string written;
};

// A whole data stream up to its FIN; the order counts for a fetch.
Decoded<Reading> ReadStream(std::string_view wire, GroupOrder order);
Decoded<Reading> ReadDatagram(std::string_view wire);

}  // namespace kvcast::moqt
