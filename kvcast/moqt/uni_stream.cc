#include "kvcast/moqt/uni_stream.h"

#include <string>
#include <utility>

#include "kvcast/moqt/fetch_request.h"
#include "kvcast/moqt/request.h"

namespace kvcast::moqt {

Request* UniStream::request() const {
  return request_ ? state_->requests.Find(*request_) : nullptr;
}

Decoded<void> UniStream::OnData(std::span<const std::byte> bytes, bool fin) {
  fin_ = fin_ || fin;
  over_ = fin_;
  const size_t arrived = bytes.size();
  Decoded<void> done;
  if (waiting()) {
    Wait(bytes);
  } else if (!unread_.empty()) {
    unread_.Keep(bytes);
    state_->credit.Unread(stream_, unread_.size());
  } else {
    done = Run(bytes);
  }
  // Last, so that what the bytes brought is counted before more is asked for.
  state_->credit.Arrived(stream_, arrived);
  return done;
}

Decoded<void> UniStream::Resume() {
  const std::string bytes = waiting_.Take();
  return Run(AsBytes(bytes));
}

Decoded<void> UniStream::ReadOn() {
  Decoded<void> done = Run(unread_.BeginReading());
  unread_.EndReading();
  return done;
}

void UniStream::Wait(std::span<const std::byte>& bytes) {
  const Subgroup* subgroup = std::get_if<Subgroup>(&kind_);
  if (!waiting_.Keep(bytes,
                     subgroup == nullptr ? std::nullopt : std::optional(subgroup->header.alias))) {
    Refuse(static_cast<uint64_t>(ResetCode::kExcessiveLoad));
  }
  bytes = {};
}

void UniStream::Refuse(uint64_t code) {
  if (std::holds_alternative<Discarded>(kind_)) {
    return;
  }
  if (!over_) {
    state_->outbox.Do(StopSending{stream_, code});
  }
  EndData(false, code);
  kind_ = Discarded();
  (void)waiting_.Take();
  (void)partial_.Hold(0);
  unread_.Drop();
  state_->credit.Unread(stream_, 0);
  state_->credit.Begun(stream_, 0, 0);
}

size_t UniStream::held_bytes() const {
  if (const Control* control = std::get_if<Control>(&kind_)) {
    return control->frames.held_bytes();
  }
  if (const Subgroup* subgroup = std::get_if<Subgroup>(&kind_)) {
    return subgroup->reader->held_bytes();
  }
  const FetchData* fetch = std::get_if<FetchData>(&kind_);
  return fetch == nullptr || fetch->reader == nullptr ? 0 : fetch->reader->held_bytes();
}

uint64_t UniStream::missing_bytes() const {
  if (const Subgroup* subgroup = std::get_if<Subgroup>(&kind_)) {
    return subgroup->reader->missing_bytes();
  }
  const FetchData* fetch = std::get_if<FetchData>(&kind_);
  return fetch == nullptr || fetch->reader == nullptr ? 0 : fetch->reader->missing_bytes();
}

Decoded<void> UniStream::Run(std::span<const std::byte> bytes) {
  Decoded<void> done;
  do {
    done = Read(bytes);
  } while (done.ok() && !bytes.empty());
  if (done.ok() && fin_ && !waiting() && unread_.empty()) {
    done = OnFin();
  }
  const bool has_room = partial_.Hold(held_bytes()) || std::holds_alternative<Control>(kind_);
  if (done.ok() && !has_room) {
    done = Fault::Stream(ResetCode::kExcessiveLoad, "Too much has begun that is not whole.");
  }
  state_->credit.Unread(stream_, unread_.size());
  state_->credit.Begun(stream_, held_bytes(), missing_bytes());
  if (done.ok() || done.error().scope() == Fault::Scope::kSession) {
    return done;
  }
  const Fault& fault = done.error();
  Refuse(fault.code());
  if (fault.scope() == Fault::Scope::kTrack && request() != nullptr) {
    request()->Fail(fault.code(), fault.reason());
  }
  return {};
}

// Takes at least a byte off `bytes`, if there is one.
Decoded<void> UniStream::Read(std::span<const std::byte>& bytes) {
  if (Untold* untold = std::get_if<Untold>(&kind_)) {
    return ReadOpening(*untold, bytes);
  }
  if (Control* control = std::get_if<Control>(&kind_)) {
    return ReadControl(*control, bytes);
  }
  if (Subgroup* subgroup = std::get_if<Subgroup>(&kind_)) {
    return ReadSubgroup(*subgroup, bytes);
  }
  if (FetchData* fetch = std::get_if<FetchData>(&kind_)) {
    return ReadFetch(*fetch, bytes);
  }
  bytes = {};
  return {};
}

Decoded<void> UniStream::ReadOpening(Untold& untold, std::span<const std::byte>& bytes) {
  KVCAST_TRY(const std::optional<StreamOpening> opening, untold.opening.Read(bytes));
  if (!opening) {
    return {};
  }
  if (std::holds_alternative<ControlOpening>(*opening)) {
    KVCAST_TRY_VOID(control_->Open());
    std::string begun = untold.opening.begun();
    kind_ = Control{FrameReader(state_->codec, std::move(begun))};
  } else if (const FetchOpening* fetch = std::get_if<FetchOpening>(&*opening)) {
    kind_ = FetchData{fetch->request_id, nullptr};
    return ReadFetch(std::get<FetchData>(kind_), bytes);
  } else if (const SubgroupHeader* header = std::get_if<SubgroupHeader>(&*opening)) {
    kind_ = Subgroup{*header, state_->codec.ReadSubgroup(*header, state_->limits)};
    return ReadSubgroup(std::get<Subgroup>(kind_), bytes);
  } else {
    kind_ = Discarded();
  }
  return {};
}

Decoded<void> UniStream::ReadControl(Control& control, std::span<const std::byte>& bytes) {
  const std::optional<std::string> frame = control.frames.Read(bytes);
  return frame ? control_->OnFrame(*frame) : Decoded<void>();
}

bool UniStream::MayReadObject(bool between_objects, std::span<const std::byte>& bytes) {
  if (!between_objects || state_->credit.MayRead(stream_)) {
    return true;
  }
  unread_.Keep(bytes);
  bytes = {};
  return false;
}

// True once the stream's track is known.
Decoded<bool> UniStream::FindTrack(const Subgroup& subgroup, std::span<const std::byte>& bytes) {
  if (request_) {
    return true;
  }
  const uint64_t alias = subgroup.header.alias;
  if (Request* found = state_->requests.FindAlias(alias)) {
    request_ = found->id();
    found->Attach(stream_);
    state_->credit.Attach(stream_, found->id());
    found->receiver()->OnStreamOpened(subgroup.header.group);
    return true;
  }
  if (state_->setup_received && state_->requests.IsRetired(alias)) {
    Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
    bytes = {};
  } else {
    Wait(bytes);
  }
  return false;
}

Decoded<void> UniStream::ReadSubgroup(Subgroup& subgroup, std::span<const std::byte>& bytes) {
  KVCAST_TRY(const bool found, FindTrack(subgroup, bytes));
  if (!found || bytes.empty()) {
    return {};
  }
  Request* target = request();
  if (target == nullptr || target->over()) {
    Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
    return {};
  }
  if (!MayReadObject(subgroup.reader->between_objects(), bytes)) {
    return {};
  }
  TrackReceiver& receiver = *target->receiver();
  KVCAST_TRY(std::optional<Object> object,
             subgroup.reader->Read(bytes, receiver.traits().default_priority));
  if (!object) {
    if (!subgroup.since && !subgroup.reader->between_objects()) {
      subgroup.since = state_->now;
    }
    return {};
  }
  const bool first = !subgroup.last;
  subgroup.last = object->location.object;
  const Instant since = std::exchange(subgroup.since, std::nullopt).value_or(state_->now);
  const SubgroupHeader& header = subgroup.header;
  return receiver.OnObject(
      {*std::move(object), stream_, first && header.first_object, header.end_of_group, since});
}

// True once the stream's fetch is known.
Decoded<bool> UniStream::FindFetch(FetchData& fetch, std::span<const std::byte>& bytes) {
  if (!state_->requests.WasIssued(fetch.request)) {
    return Fault::Violation("A fetch is answered that was not asked for.");
  }
  request_ = fetch.request;
  if (!state_->setup_received) {
    Wait(bytes);
    return false;
  }
  OutgoingFetch* target = state_->requests.Find<OutgoingFetch>(*request_);
  if (target == nullptr && request() != nullptr) {
    return Fault::Violation("A fetch is answered that was none.");
  }
  if (target == nullptr || target->over()) {
    Refuse(static_cast<uint64_t>(ResetCode::kCancelled));
    return false;
  }
  if (!fetch.reader) {
    KVCAST_TRY_VOID(target->OnDataOpened());
    target->Attach(stream_);
    state_->credit.Attach(stream_, target->id());
    fetch.reader = state_->codec.ReadFetch(target->order(), state_->limits);
  }
  return true;
}

Decoded<void> UniStream::ReadFetch(FetchData& fetch, std::span<const std::byte>& bytes) {
  KVCAST_TRY(const bool found, FindFetch(fetch, bytes));
  if (!found || bytes.empty()) {
    return {};
  }
  if (!MayReadObject(fetch.reader->between_items(), bytes)) {
    return {};
  }
  OutgoingFetch* target = state_->requests.Find<OutgoingFetch>(*request_);
  KVCAST_TRY(std::optional<FetchItem> item, fetch.reader->Read(bytes));
  return item ? target->OnItem(stream_, *std::move(item)) : Decoded<void>();
}

Decoded<void> UniStream::OnFin() {
  if (std::holds_alternative<Control>(kind_)) {
    return Fault::Violation("The peer ended its control stream.");
  }
  const Subgroup* subgroup = std::get_if<Subgroup>(&kind_);
  const FetchData* fetch = std::get_if<FetchData>(&kind_);
  if (std::holds_alternative<Untold>(kind_) ||
      (subgroup != nullptr && !subgroup->reader->between_objects()) ||
      (fetch != nullptr && (!fetch->reader || !fetch->reader->between_items()))) {
    return Fault::Violation("A stream ended within its header or an object.");
  }
  Request* target = request();
  if (subgroup != nullptr && target != nullptr && !target->over()) {
    KVCAST_TRY_VOID(target->receiver()->CheckEnd(EndOf(*subgroup, true), subgroup->last));
  }
  EndData(true, 0);
  kind_ = Discarded();
  return {};
}

SubgroupEnd UniStream::EndOf(const Subgroup& subgroup, bool complete) const {
  const SubgroupHeader& header = subgroup.header;
  return {stream_, header.group, subgroup.reader->subgroup(), complete, header.end_of_group};
}

void UniStream::EndData(bool complete, uint64_t code) {
  Request* target = request();
  if (target == nullptr || !target->data_streams().contains(stream_)) {
    return;
  }
  target->Detach(stream_);
  if (target->over()) {
    return;
  }
  if (const Subgroup* subgroup = std::get_if<Subgroup>(&kind_)) {
    target->receiver()->OnStreamEnded(EndOf(*subgroup, complete));
    target->OnSubgroupEnded();
  } else if (OutgoingFetch* fetch = dynamic_cast<OutgoingFetch*>(target)) {
    fetch->OnDataEnded(stream_, {complete, code});
  }
}

Decoded<void> UniStream::OnReset(uint64_t code) {
  over_ = true;
  if (std::holds_alternative<Control>(kind_)) {
    return Fault::Violation("The peer reset its control stream.");
  }
  Refuse(code);
  return {};
}

}  // namespace kvcast::moqt
