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
install(FILES ${PROJECT_SOURCE_DIR}/include/bough/bough.cppm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bough
        COMPONENT development)
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

# The compiled form as a library that is installed, for those who build without CMake; with CMake it is
# a library of the user's own build (doc/howto/compiled.md). Functions have other names with NDEBUG and
# without it, and this library holds both.
option(BOUGH_INSTALL_COMPILED "Build the compiled form, to be installed with its pkg-config file" OFF)
if(BOUGH_INSTALL_COMPILED)
    get_target_property(units bough_compiled SOURCES)
    get_target_property(libraries bough_compiled LINK_LIBRARIES)
    add_library(bough_installed STATIC)
    set_target_properties(bough_installed PROPERTIES OUTPUT_NAME bough LINKER_LANGUAGE CXX)
    foreach(setting IN ITEMS -DNDEBUG -UNDEBUG)
        string(MAKE_C_IDENTIFIER bough_units${setting} objects)
        add_library(${objects} OBJECT ${units})
        target_compile_options(${objects} PRIVATE ${setting})
        target_link_libraries(${objects} PRIVATE ${libraries})
        set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_sources(bough_installed PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
    configure_file(${CMAKE_CURRENT_LIST_DIR}/bough-compiled.pc.in ${PROJECT_BINARY_DIR}/package/bough-compiled.pc @ONLY)
    install(TARGETS bough_installed COMPONENT compiled)
    install(FILES ${PROJECT_BINARY_DIR}/package/bough-compiled.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
            COMPONENT compiled)
endif()

# --- The Debian packages (tools/deb) --------------------------------------------------------------------------------

# What each is called, and what its licence and its list of changes are installed with.
set(package_of_development libbough-dev)
set(package_of_compiled libbough-compiled-dev)
set(package_of_tools bough)
set(package_of_documentation bough-doc)
set(packaged development)
if(BOUGH_INSTALL_COMPILED)
    list(APPEND packaged compiled)
endif()
if(PROJECT_IS_TOP_LEVEL AND BOUGH_BUILD_TOOLS)
    list(APPEND packaged tools)
endif()
set(BOUGH_SITE "" CACHE PATH "The site as tools/site has made it, to be installed as documentation")
mark_as_advanced(BOUGH_SITE)
if(BOUGH_SITE)
    list(APPEND packaged documentation)
    install(DIRECTORY ${BOUGH_SITE}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/bough-doc/html COMPONENT documentation
            PATTERN .work EXCLUDE)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/bough-doc
            COMPONENT documentation)
endif()
# In the forms that Debian wants: the licence below whose work it is, and a list of versions.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE licence)
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n([^\n])" "\n \\1" licence "${licence}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/copyright @ONLY CONTENT
     "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: 2026 the bough maintainers\nLicense: BSL-1.0\n @licence@")
set(contact "The bough maintainers <maintainers@bough.invalid>") # faults of security go there, too (doc/contributing.md)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/changelog @ONLY CONTENT
     "bough (@PROJECT_VERSION@) unstable; urgency=medium\n\n  * CHANGELOG.md has what is new.\n\n -- @contact@  @date@\n")
file(ARCHIVE_CREATE OUTPUT ${PROJECT_BINARY_DIR}/package/changelog.gz PATHS ${PROJECT_BINARY_DIR}/package/changelog
     FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
foreach(component IN LISTS packaged)
    install(FILES ${PROJECT_BINARY_DIR}/package/copyright ${PROJECT_BINARY_DIR}/package/changelog.gz
            DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_${component}} COMPONENT ${component})
endforeach()
if("tools" IN_LIST packaged) # what tools/deb has asked the tool for
    install(FILES ${PROJECT_BINARY_DIR}/package/bough.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools OPTIONAL)
    install(FILES ${PROJECT_BINARY_DIR}/package/bough.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME bough COMPONENT tools OPTIONAL)
endif()

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # nothing has to be built for what is installed
    set(CPACK_GENERATOR DEB)
    set(CPACK_PACKAGE_NAME bough)
    set(CPACK_PACKAGE_VENDOR bough)
    set(CPACK_PACKAGE_CONTACT "${contact}")
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_COMPONENTS_ALL ${packaged})
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
    set(CPACK_STRIP_FILES ON)
    foreach(component IN LISTS packaged)
        string(TOUPPER ${component} name)
        set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package_of_${component}})
    endforeach()

    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
    set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
        "collective communication algorithms as values (headers)
Reduction, broadcast and their relatives for writers of runtimes: any
transport, any op, any number of ranks. Header-only; depends on nothing.")

    if(CMAKE_LIBRARY_ARCHITECTURE) # in Debian's words
        find_program(BOUGH_DPKG dpkg)
        mark_as_advanced(BOUGH_DPKG)
        if(BOUGH_DPKG)
            execute_process(COMMAND ${BOUGH_DPKG} --print-architecture OUTPUT_VARIABLE architecture
                            OUTPUT_STRIP_TRAILING_WHITESPACE)
        endif()
    endif()
    set(CPACK_DEBIAN_COMPILED_PACKAGE_ARCHITECTURE "${architecture}")
    set(CPACK_DEBIAN_COMPILED_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_COMPILED_PACKAGE_DEPENDS "libbough-dev (= ${PROJECT_VERSION})")
    set(CPACK_DEBIAN_COMPILED_PACKAGE_SUGGESTS "libboost-dev, libssl-dev")
    set(CPACK_COMPONENT_COMPILED_DESCRIPTION
        "collective communication algorithms as values (compiled form)
What each unit would instantiate for itself, compiled once: the collectives and
their transports as a static library, with a pkg-config file.")

    set(CPACK_DEBIAN_TOOLS_PACKAGE_ARCHITECTURE "${architecture}")
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
    set(CPACK_COMPONENT_TOOLS_DESCRIPTION
        "collective communication algorithms as values (tool)
Draws, proves, prices, simulates, measures and exports plans of collectives,
and finds out from the records of its ranks why a job hangs.")

    set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
    set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION
        "collective communication algorithms as values (documentation)
Guides, a reference of every name, a playground and the examples; begin with
/usr/share/doc/bough-doc/html/index.html.")
    include(CPack)
endif()
