# What `cmake --install` puts where beside the program: the library, its headers, what CMake and
# pkg-config find it by, and the licence. All of it may be moved afterwards: nothing says where it is.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(KVCAST_PUBLIC_HEADERS kvcast.h kvcast_cache.h kvcast_loading.h kvcast_store.h kvcast.hpp kvcast_cache.hpp kvcast_loading.hpp kvcast_terms.hpp
  kvcast_store.hpp)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/kvcast)
install(TARGETS kvcast_shared EXPORT kvcast)
list(TRANSFORM KVCAST_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/kvcast/)
install(FILES ${KVCAST_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kvcast)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Versions below 1.0 promise nothing to each other but their patches.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvcast-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT kvcast NAMESPACE kvcast:: FILE kvcast-config.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/kvcast-config-version.cmake DESTINATION ${package})

file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/kvcast.pc @ONLY CONTENT
"prefix=\${pcfiledir}/@prefix_from_pc@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: kvcast
Description: Share the KV caches of language models between inference engines
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lkvcast
Cflags: -I\${includedir}
")
install(FILES ${PROJECT_BINARY_DIR}/kvcast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
