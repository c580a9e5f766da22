# How every target of ours is compiled: one interface target, linked by name, never a
# directory-wide flag.
set(KVCAST_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
option(KVCAST_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(KVCAST_BENCHES "Build the benchmarks (needs Google Benchmark)" OFF)
option(KVCAST_SHARED "Build libkvcast.so, which engines link, and let it be installed" ON)
# A sanitizer's runtime has to be in the program that loads a library, which is not ours.
if(KVCAST_SANITIZE)
  set(KVCAST_SHARED OFF)
endif()

option(KVCAST_PLANTED_BUGS "Plant bugs for the simulator to find; nothing but it is built" OFF)

set(CMAKE_CXX_EXTENSIONS OFF)
add_library(kvcast_flags INTERFACE)
target_compile_features(kvcast_flags INTERFACE cxx_std_20)
target_compile_options(kvcast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wundef -Werror
  -fno-omit-frame-pointer)
# g++ 12 takes the inactive member of a std::variant for an uninitialised one.
target_compile_options(kvcast_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_include_directories(kvcast_flags INTERFACE ${PROJECT_SOURCE_DIR})

if(KVCAST_PLANTED_BUGS)
  target_compile_definitions(kvcast_flags INTERFACE KVCAST_PLANTED_BUGS)
endif()
# What goes into the library is the same that goes into the program: compiled once, for both. Hidden,
# calls within it cost what they cost in a program, and nothing of ours meets anything of an engine's.
if(KVCAST_SHARED)
  target_compile_options(kvcast_flags INTERFACE -fPIC -fvisibility=hidden
    -fvisibility-inlines-hidden)
endif()

if(KVCAST_SANITIZE)
  # A finding is a failure, so undefined behaviour stops the program like the others do.
  target_compile_options(kvcast_flags INTERFACE -fsanitize=${KVCAST_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(kvcast_flags INTERFACE -fsanitize=${KVCAST_SANITIZE})
  if(KVCAST_SANITIZE MATCHES address)
    # An access behind an object's end is what the address sanitizer finds: asked for twice, it costs
    # time to build. A reference to nothing that nobody follows is not, so `null` stays.
    target_compile_options(kvcast_flags INTERFACE -fno-sanitize=object-size)
  endif()
endif()
# Coverage feedback, for what a fuzzer looks into: everything else is built and runs faster without.
# Only a fuzzer itself links libFuzzer's main.
add_library(kvcast_coverage INTERFACE)
if(KVCAST_FUZZERS)
  target_compile_options(kvcast_coverage INTERFACE -fsanitize=fuzzer-no-link)
endif()
