#pragma once

#include <string>

#include "kvcast/moqt/session.h"

namespace kvcast {

// What a session that we open begins with, whoever opens it. An empty token is none.
moqt::Setup ClientSetup(const std::string& authority, const std::string& path,
                        const std::string& token);

}  // namespace kvcast
