#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "kvcast/base/bytes.h"
#include "kvcast/moqt/data_stream.h"
#include "kvcast/moqt/fault.h"

// An object on its own:
//
//   datagram := type:vi64 alias:vi64 group:vi64 [id:vi64] [priority:u8]
//               [properties_length:vi64 properties] (status:vi64 | payload)
//   type     := 0b00s0dzep: status, default priority, id of zero, end of group, properties
//             | 0x132b3e29, which is padding
namespace kvcast::moqt::draft18 {

Bytes WriteDatagram(const ObjectDatagram& datagram);
// Absent: it was padding.
Decoded<std::optional<ObjectDatagram>> ReadDatagram(std::span<const std::byte> datagram);

}  // namespace kvcast::moqt::draft18
