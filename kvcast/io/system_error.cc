#include "kvcast/io/system_error.h"

#include <cerrno>
#include <system_error>

namespace kvcast {
namespace {

std::string_view WhatToDo(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return " Check the path.";
    case EISDIR:
      return " Name a file in it.";
    case EACCES:
    case EPERM:
      return " Check the permissions (ls -ld) of it and of the directories above it.";
    case EROFS:
      return " Choose a place on a file system that is mounted for writing.";
    case ENOSPC:
    case EDQUOT:
      return " Free some space there (df -h) or choose another place.";
    case EMFILE:
    case ENFILE:
      return " Allow more open files (ulimit -n).";
    case ENOMEM:
      return " Free some memory, or allow this process more.";
    case EIO:
      return " The device failed: look at the kernel's log (dmesg).";
    default:
      return "";
  }
}

}  // namespace

Error SystemError(std::string_view what, int error_number) {
  const bool absent = error_number == ENOENT || error_number == ENOTDIR;
  std::string message(what);
  message += ": " + std::generic_category().message(error_number) + ".";
  message += WhatToDo(error_number);
  return Error(absent ? ErrorCode::kNotFound : ErrorCode::kMachine, std::move(message));
}

}  // namespace kvcast
