#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace kvcast {

// Touching what was cut off from a mapped file raises SIGBUS, which would end a process without a
// word. A program that calls EndOnCutFiles() ends with status 1 instead, after one line that names
// the file. Libraries leave it to the program that they are in.
//
// After "PROGRAM: ". Other faults of memory, and files beyond the first hundred or so that are
// mapped at once, end the process as they would without it.
void EndOnCutFiles(const char* program);

// What is mapped, and from where; until it is forgotten.
void RememberMapping(std::span<const std::byte> memory, const std::filesystem::path& path);
void ForgetMapping(std::span<const std::byte> memory);

}  // namespace kvcast
