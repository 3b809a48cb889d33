# SPDX-License-Identifier: BSL-1.0
# An overlay port, from a checkout: vcpkg install bough --editable --overlay-ports=tools/packages/vcpkg
# (--editable: vcpkg sees what changes in this folder, but not what changes in the headers, and would take an older
# package from its cache.)
set(VCPKG_BUILD_TYPE release)    # headers only
set(VCPKG_FIXUP_ELF_RPATH OFF) # otherwise vcpkg fetches patchelf, to see whether "usage" is a program
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS -DBOUGH_BUILD_TESTS=OFF -DBOUGH_BUILD_EXAMPLES=OFF -DBOUGH_BUILD_BENCHMARKS=OFF -DBOUGH_BUILD_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME bough CONFIG_PATH share/cmake/bough)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/bough")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
