# kvcast_module(NAME n [PURE] [SOURCES ..] [DEPS ..] [LIBS ..] [TESTS ..] [BENCHES ..] [FUZZERS ..]
#               [PROGRAMS ..] [METERS ..] [PROGRAM_LIBS ..])
#
# One call per module says all there is to say about it. DEPS are modules of ours, LIBS are
# libraries of others. Headers are listed with the sources: a file nobody lists is not part of
# the module, and a test says so.
#
#   SOURCES  become the library kvcast_<name> (without sources: an interface, so that a module's
#            place and its dependencies are fixed before its first file is)
#   TESTS    become one program <name>_test
#   BENCHES  become one program <name>_bench     (with KVCAST_BENCHES)
#   FUZZERS  become one program each, <file>     (with KVCAST_FUZZERS)
#   PROGRAMS become one program each, <file>, with PROGRAM_LIBS; only for what is not in apps/
#   METERS   are programs that only the scripts in bench/ use (with KVCAST_BENCHES)
if(BUILD_TESTING)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/source_folder.cc @ONLY CONTENT
    "#include \"kvcast/base/source_folder_test.h\"\n\nconst char kvcast::kSourceFolder[] = \"@PROJECT_SOURCE_DIR@\";\n")
  add_library(kvcast_source_folder STATIC ${PROJECT_BINARY_DIR}/source_folder.cc)
  target_link_libraries(kvcast_source_folder PRIVATE kvcast_flags)
endif()

# Several sources compiled as one take a third of the time, and clang-tidy a fifth. Who works on them
# wants each alone, and finds a file that leans on its neighbour's includes.
function(kvcast_compile_as_one target batch)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# Each test by its name and in a process of its own; with sanitizers, where to start a process
# takes longer than most tests do, a quarter of a program's tests at a time.
function(kvcast_add_tests program)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitized")
    gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST)
    return()
  endif()
  foreach(part RANGE 3)
    add_test(NAME ${program}.${part} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${program}.${part} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

function(kvcast_module)
  cmake_parse_arguments(M "PURE" "NAME"
    "SOURCES;DEPS;LIBS;TESTS;BENCHES;FUZZERS;PROGRAMS;METERS;PROGRAM_LIBS" ${ARGN})
  set(library kvcast_${M_NAME})
  list(TRANSFORM M_DEPS PREPEND kvcast_ OUTPUT_VARIABLE dependencies)

  if(M_SOURCES)
    add_library(${library} STATIC ${M_SOURCES})
    target_link_libraries(${library} PUBLIC ${dependencies} ${M_LIBS} kvcast_flags)
    if(M_FUZZERS)
      target_link_libraries(${library} PRIVATE kvcast_coverage)
    endif()
    kvcast_compile_as_one(${library} 40)
    set(archive "$<TARGET_FILE:${library}>")
    set(links "$<JOIN:$<TARGET_PROPERTY:${library},LINK_LIBRARIES>, >")
  else()
    add_library(${library} INTERFACE)
    target_link_libraries(${library} INTERFACE ${dependencies} ${M_LIBS} kvcast_flags)
    set(archive "")
    set(links "$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_LINK_LIBRARIES>, >")
  endif()

  set(programs ${M_PROGRAMS})
  if(KVCAST_BENCHES)
    list(APPEND programs ${M_METERS})
  endif()
  list(APPEND M_PROGRAMS ${M_METERS})
  foreach(source IN LISTS programs)
    cmake_path(GET source STEM program)
    add_executable(${program}_program ${source})
    set_target_properties(${program}_program PROPERTIES OUTPUT_NAME ${program})
    target_link_libraries(${program}_program PRIVATE ${library} ${M_PROGRAM_LIBS})
    target_compile_options(${program}_program PRIVATE $<$<CONFIG:Sanitized>:-O0>)
    string(APPEND links " $<JOIN:$<TARGET_PROPERTY:${program}_program,LINK_LIBRARIES>, >")
  endforeach()
  if(M_TESTS AND BUILD_TESTING)
    add_executable(${M_NAME}_test ${M_TESTS})
    target_link_libraries(${M_NAME}_test PRIVATE ${library} kvcast_source_folder GTest::gtest
      GTest::gtest_main)
    # What is tested is built as users run it; what tests it takes half the time to build so.
    target_compile_options(${M_NAME}_test PRIVATE
      $<$<CONFIG:RelWithDebInfo>:-O1> $<$<CONFIG:Sanitized>:-O0>)
    kvcast_compile_as_one(${M_NAME}_test 24)
    string(APPEND links " $<JOIN:$<TARGET_PROPERTY:${M_NAME}_test,LINK_LIBRARIES>, >")
    kvcast_add_tests(${M_NAME}_test)
  endif()
  if(M_BENCHES AND KVCAST_BENCHES)
    add_executable(${M_NAME}_bench ${M_BENCHES})
    target_link_libraries(${M_NAME}_bench PRIVATE ${library} benchmark::benchmark_main)
  endif()
  if(KVCAST_FUZZERS)
    foreach(source IN LISTS M_FUZZERS)
      cmake_path(GET source STEM fuzzer)
      add_executable(${fuzzer} ${source})
      target_link_libraries(${fuzzer} PRIVATE ${library} kvcast_coverage)
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      set_property(GLOBAL APPEND PROPERTY KVCAST_FUZZER_LIST ${fuzzer})
    endforeach()
  endif()

  # What the layering test reads: see tests/house. `links` is what the module's programs and library
  # are linked with in the end, whoever said so.
  set(pure false)
  if(M_PURE)
    set(pure true)
  endif()
  foreach(list IN ITEMS M_DEPS M_SOURCES M_TESTS M_BENCHES M_FUZZERS M_PROGRAMS)
    list(TRANSFORM ${list} REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE quoted)
    list(JOIN quoted ", " ${list}_json)
  endforeach()
  string(CONCAT entry "{\"name\": \"${M_NAME}\", \"pure\": ${pure}, \"archive\": \"${archive}\", "
    "\"deps\": [${M_DEPS_json}], \"sources\": [${M_SOURCES_json}], \"tests\": [${M_TESTS_json}], "
    "\"benches\": [${M_BENCHES_json}], \"fuzzers\": [${M_FUZZERS_json}], "
    "\"programs\": [${M_PROGRAMS_json}], \"links\": \"${links}\"}")
  set_property(GLOBAL APPEND PROPERTY KVCAST_MODULE_MAP "${entry}")
endfunction()

# Writes <build>/modules.json and <build>/fuzzers.txt, once every module has been declared.
function(kvcast_write_module_map)
  get_property(modules GLOBAL PROPERTY KVCAST_MODULE_MAP)
  list(JOIN modules ",\n  " modules)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/modules.json CONTENT "[\n  ${modules}\n]\n")
  get_property(fuzzers GLOBAL PROPERTY KVCAST_FUZZER_LIST)
  list(JOIN fuzzers "\n" fuzzers)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/fuzzers.txt CONTENT "${fuzzers}\n")
endfunction()
