# SPDX-License-Identifier: BSL-1.0
# Installation, the CMake package, the pkg-config file and the Debian package. Everything is independent of the
# architecture, so it lives under share/.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/bough)

install(
    TARGETS bough
    EXPORT bough-targets
    COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILE_SET optional_headers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT bough-targets NAMESPACE bough:: DESTINATION ${package_dir} COMPONENT development)

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/bough-config.cmake.in ${PROJECT_BINARY_DIR}/package/bough-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/package/bough-config-version.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/bough-components.cmake ${PROJECT_BINARY_DIR}/package/bough-config.cmake
              ${PROJECT_BINARY_DIR}/package/bough-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)

configure_file(${CMAKE_CURRENT_LIST_DIR}/bough.pc.in ${PROJECT_BINARY_DIR}/package/bough.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/bough.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig
        COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libbough-dev
        RENAME copyright COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # nothing has to be built for what is installed
    set(CPACK_GENERATOR DEB)
    set(CPACK_PACKAGE_NAME libbough-dev)
    set(CPACK_PACKAGE_VENDOR bough)
    set(CPACK_PACKAGE_CONTACT "The bough maintainers <maintainers@bough.invalid>")
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_COMPONENTS_ALL development)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbough-dev)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
        "Reduction, broadcast and their relatives for writers of runtimes: any transport,
any op, any number of ranks. Header-only; depends on nothing.")
    include(CPack)
endif()
