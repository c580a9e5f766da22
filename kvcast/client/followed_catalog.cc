#include "kvcast/client/followed_catalog.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace kvcast {

FollowedCatalog::FollowedCatalog(moqt::Session& session, std::unique_ptr<CatalogFeed> feed,
                                 const CatalogTrack& track, const moqt::PublishReceived& offered,
                                 Instant now)
    : session_(&session),
      feed_(std::move(feed)),
      track_(track),
      name_(offered.track),
      subscription_(offered.request),
      offered_(offered.parameters.largest_object),
      newest_(offered_) {
  Catch(now);
}

FollowedCatalog::~FollowedCatalog() {
  EndFetch();
  session_->Cancel(subscription_, moqt::ResetCode::kCancelled);
}

void FollowedCatalog::OnEvent(const moqt::Event& event, Instant now) {
  if (const auto* ready = std::get_if<moqt::ObjectsReady>(&event)) {
    ready->request == subscription_ ? TakeLive(now) : TakeFetched(now);
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    if (cancelled->request == subscription_) {
      ended_ = true;
    } else {
      TakeFetched(now);
      EndFetch();
      RetryLater(now);
    }
  } else if (std::holds_alternative<moqt::RequestRefused>(event)) {
    EndFetch();
    RetryLater(now);
  } else if (std::holds_alternative<moqt::PublishDoneReceived>(event)) {
    ended_ = true;  // What is still under way would be forgotten at once.
  }
  Catch(now);
}

void FollowedCatalog::TakeLive(Instant now) {
  while (std::optional<moqt::Received> item = session_->Take(subscription_)) {
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      OnObject(object->object, now);
    }
  }
}

void FollowedCatalog::TakeFetched(Instant now) {
  while (fetch_) {
    const std::optional<moqt::Received> item = session_->Take(*fetch_);
    if (!item) {
      return;
    }
    if (const auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
      OnObject(object->object, now);
    } else if (std::holds_alternative<moqt::FetchEnd>(*item)) {
      fetch_.reset();
      if (feed_->wanted() <= fetch_last_) {
        RetryLater(now);  // It brought less than there was to be had.
      }
    }
  }
}

void FollowedCatalog::OnObject(const Object& object, Instant now) {
  if (object.status != ObjectStatus::kNormal) {
    return;
  }
  newest_ = newest_ ? std::max(*newest_, object.location) : object.location;
  if (const Result<void> taken = feed_->OnObject(object.location, object.payload); !taken.ok()) {
    damaged_ = true;
    EndFetch();
    RetryLater(now);
  } else if (feed_->wanted() > *newest_) {
    pause_ = kFirstPause;
    retry_at_.reset();  // Nothing is missing, and an epoch that follows ends any damage.
    damaged_ = false;
  }
}

void FollowedCatalog::Catch(Instant now) {
  if (ended_ || fetch_ || retry_at_ || !newest_ || feed_->wanted() > *newest_) {
    return;
  }
  const bool newer_epoch = newest_->group > feed_->wanted().group;
  const Location from = newer_epoch ? Location{newest_->group, 0} : feed_->wanted();
  const Result<moqt::RequestId> fetch = session_->Fetch(name_, {from, *newest_}, {});
  if (fetch.ok()) {
    fetch_ = *fetch;
    fetch_last_ = *newest_;
  } else {
    RetryLater(now);
  }
}

void FollowedCatalog::EndFetch() {
  if (fetch_) {
    session_->Cancel(*std::exchange(fetch_, std::nullopt), moqt::ResetCode::kCancelled);
  }
}

void FollowedCatalog::RetryLater(Instant now) {
  retry_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void FollowedCatalog::OnTimeout(Instant now) {
  if (!retry_at_ || now < *retry_at_) {
    return;
  }
  retry_at_.reset();
  if (std::exchange(damaged_, false)) {
    feed_->Restart();
  }
  Catch(now);
}

}  // namespace kvcast
