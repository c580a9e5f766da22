#pragma once

#include <unistd.h>

#include "kvcast/base/check.h"

namespace kvcast {

// Lets a test that runs as root see what everybody else sees: root is refused nothing.
class Unprivileged {
 public:
  Unprivileged() : was_root_(::geteuid() == 0) {
    if (was_root_) {
      KVCAST_CHECK(::seteuid(65534) == 0);  // nobody
    }
  }
  ~Unprivileged() {
    if (was_root_) {
      KVCAST_CHECK(::seteuid(0) == 0);
    }
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool was_root_;
};

}  // namespace kvcast
