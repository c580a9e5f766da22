#pragma once

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/fault.h"
#include "kvcast/moqt/setup.h"

namespace kvcast::moqt::draft18 {

// setup := (type_delta:vi64 value)*       value := number:vi64 | length:vi64 bytes
void WriteSetup(ByteWriter& writer, const Setup& setup);
// All that is left in the reader. `sender` decides what may stand in it.
Decoded<Setup> ReadSetup(ByteReader& reader, Role sender);

}  // namespace kvcast::moqt::draft18
