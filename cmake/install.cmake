# The files that `cmake --install` copies: headers, libraries, the tool, and the files for find_package(Croton) and pkg-config. Included
# at the top after all targets exist. The installed folder can be moved: everything in it is found relative to it.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(croton_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Croton)
file(RELATIVE_PATH croton_tool_to_libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})

install(DIRECTORY include/croton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# The same in the build folder: CMake would pad the longer path with colons, which mean the current folder.
set_target_properties(croton PROPERTIES EXPORT_NAME croton INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN")
install(TARGETS croton EXPORT CrotonTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TARGET croton_llvm)  # libcroton.so finds it next to itself, by dlopen: it is never linked
  install(TARGETS croton_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

set_target_properties(croton_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${croton_tool_to_libraries}")
install(TARGETS croton_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(EXPORT CrotonTargets NAMESPACE Croton:: DESTINATION ${croton_config_folder})
configure_package_config_file(cmake/CrotonConfig.cmake.in ${CMAKE_BINARY_DIR}/CrotonConfig.cmake
  INSTALL_DESTINATION ${croton_config_folder})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CrotonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CrotonConfig.cmake ${CMAKE_BINARY_DIR}/CrotonConfigVersion.cmake
  DESTINATION ${croton_config_folder})

file(RELATIVE_PATH croton_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/croton.pc.in ${CMAKE_BINARY_DIR}/croton.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/croton.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
