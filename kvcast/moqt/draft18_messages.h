#pragma once

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/messages.h"

// The bodies of draft-18's messages, each drawn above the code that writes it.
namespace kvcast::moqt::draft18 {

void WriteBody(ByteWriter& writer, const Setup& message);
void WriteBody(ByteWriter& writer, const GoAway& message);
void WriteBody(ByteWriter& writer, const RequestOk& message);
// REQUIRES: there is a redirect if and only if the code says so.
void WriteBody(ByteWriter& writer, const RequestError& message);
void WriteBody(ByteWriter& writer, const Subscribe& message);
void WriteBody(ByteWriter& writer, const SubscribeOk& message);
void WriteBody(ByteWriter& writer, const Publish& message);
void WriteBody(ByteWriter& writer, const PublishDone& message);
void WriteBody(ByteWriter& writer, const RequestUpdate& message);
void WriteBody(ByteWriter& writer, const Fetch& message);
void WriteBody(ByteWriter& writer, const FetchOk& message);
void WriteBody(ByteWriter& writer, const TrackStatus& message);
void WriteBody(ByteWriter& writer, const PublishNamespace& message);
void WriteBody(ByteWriter& writer, const SubscribeNamespace& message);
void WriteBody(ByteWriter& writer, const Namespace& message);
void WriteBody(ByteWriter& writer, const NamespaceDone& message);
void WriteBody(ByteWriter& writer, const SubscribeTracks& message);
void WriteBody(ByteWriter& writer, const PublishBlocked& message);

// Invalid: a parameter may not stand in this message, there.
Result<void> CheckParameters(const Message& message, const MessagePlace& place);

// The body of a message of this kind. What is left in the reader did not belong to it.
Decoded<Message> ReadBody(ByteReader& reader, MessageKind kind, const MessagePlace& place);

}  // namespace kvcast::moqt::draft18
