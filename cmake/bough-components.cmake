# SPDX-License-Identifier: BSL-1.0
# The components beside bough::bough, which depends on nothing: what each needs, and which versions.
# Bough's own build and its installed package both take them from here, so a package has every
# component, wherever it was made.
#
#   bough_find_component(tcp libraries reason)       libraries: what to link; or the reason why there is no such component
#
# compiled: what headers would instantiate in each unit, compiled once; in_process: ranks as threads;
# shared_memory: as processes of one node; tcp: of several; tls: the same inside TLS; asio: completion
# tokens; hana: structs; mpi, pmix: jobs of mpirun and srun; fabric: what libfabric finds; verbs: RDMA
# cards; module: import bough.
cmake_policy(PUSH)
cmake_policy(VERSION 3.23)

set(BOUGH_COMPONENTS in_process shared_memory tcp tls asio hana mpi pmix fabric verbs compiled module)

# Each finds one thing, quietly: its target, what it is called in a sentence, and whether it was
# found. That is what find_package said, not whether there is a target: a package that was not found
# may leave one behind, as CMake's FindMPI does where no MPI is installed.
macro(bough_find_linux target what found)
    set(${what} "Linux")
    set(${target} bough::bough) # and nothing else
    set(${found} OFF)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        set(${found} ON)
    endif()
endmacro()
macro(bough_find_threads target what found)
    set(${what} "a library of threads")
    set(${target} Threads::Threads)
    find_package(Threads QUIET)
    set(${found} ${Threads_FOUND})
endmacro()
macro(bough_find_boost target what found)
    set(${what} "Boost 1.74 (its headers)")
    set(${target} Boost::headers)
    find_package(Boost 1.74 CONFIG QUIET)
    set(${found} ${Boost_FOUND})
endmacro()
macro(bough_find_crypto target what found)
    set(${what} "OpenSSL 1.1.1 (libcrypto)")
    set(${target} OpenSSL::Crypto)
    find_package(OpenSSL 1.1.1 QUIET COMPONENTS Crypto)
    set(${found} ${OpenSSL_FOUND})
endmacro()
macro(bough_find_ssl target what found)
    set(${what} "OpenSSL 1.1.1 (libssl)")
    set(${target} OpenSSL::SSL)
    find_package(OpenSSL 1.1.1 QUIET COMPONENTS SSL)
    set(${found} ${OpenSSL_FOUND})
endmacro()
macro(bough_find_mpi target what found)
    set(${what} "an MPI")
    set(${target} MPI::MPI_CXX) # only the C interface is used
    find_package(MPI QUIET COMPONENTS CXX)
    set(${found} ${MPI_FOUND})
endmacro()
macro(bough_find_by_pkg_config target what found prefix module)
    set(${what} "${module}, by pkg-config")
    set(${target} PkgConfig::${prefix})
    set(${found} OFF)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
        set(${found} ${${prefix}_FOUND})
    endif()
endmacro()
macro(bough_find_pmix target what found)
    bough_find_by_pkg_config(${target} ${what} ${found} BOUGH_PMIX pmix)
endmacro()
macro(bough_find_libfabric target what found)
    bough_find_by_pkg_config(${target} ${what} ${found} BOUGH_FABRIC libfabric>=1.9)
endmacro()
macro(bough_find_libibverbs target what found)
    bough_find_by_pkg_config(${target} ${what} ${found} BOUGH_VERBS libibverbs>=1.11)
endmacro()
macro(bough_find_modules target what found)
    set(${what} "CMake 3.28, Ninja and clang 19 with its clang-scan-deps, or later")
    set(${target} bough::bough)
    set(${found} OFF)
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.28 AND CMAKE_GENERATOR MATCHES "Ninja" AND CMAKE_CXX_COMPILER_CLANG_SCAN_DEPS
       AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
        set(${found} ON)
    endif()
endmacro()

# bough::module: import bough, compiled in the user's own build (doc/howto/modules.md). `include` is the
# folder of the headers. Nothing, where modules are not to be had.
function(bough_add_module include)
    bough_find_component(module libraries reason)
    if(reason)
        return()
    endif()
    add_library(bough_module STATIC EXCLUDE_FROM_ALL)
    add_library(bough::module ALIAS bough_module)
    target_sources(bough_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${include} FILES ${include}/bough/bough.cppm)
    target_compile_options(bough_module PRIVATE -Wno-include-angled-in-module-purview -Wno-reserved-module-identifier)
    target_link_libraries(bough_module PUBLIC bough::bough ${libraries})
endfunction()

# bough::compiled: what each unit would instantiate for itself, compiled once, as a static library of
# the user's own build, with its compiler and the flags of the folder that asks for it first. It holds
# the collectives and launch; bough_hold_transports adds a transport when its component has been found.
# Each unit is one header.
function(bough_add_compiled)
    set(headers compiled/common allgather allreduce alltoall barrier broadcast exscan gather reduce reduce_scatter scan
        scatter)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        list(APPEND headers launch)
    endif()
    add_library(bough_compiled STATIC EXCLUDE_FROM_ALL)
    add_library(bough::compiled ALIAS bough_compiled)
    target_compile_definitions(bough_compiled PUBLIC BOUGH_COMPILED)
    target_link_libraries(bough_compiled PUBLIC bough::bough)
    set_target_properties(bough_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
    foreach(header IN LISTS headers)
        bough_add_unit(${header})
    endforeach()
endfunction()
function(bough_add_unit header)
    set(unit ${CMAKE_BINARY_DIR}/bough_compiled/${header}.cpp)
    set(include "#include <bough/${header}.hpp>\n")
    if(header STREQUAL "compiled/tcp") # it needs exceptions; a program without them has no use for it
        set(include "#include <bough/core/config.hpp>\n#if BOUGH_HAS_EXCEPTIONS\n${include}#endif\n")
    endif()
    file(CONFIGURE OUTPUT ${unit} CONTENT "#define BOUGH_COMPILED_HERE\n${include}" @ONLY)
    target_sources(bough_compiled PRIVATE ${unit})
endfunction()
# To be called when components have been found.
function(bough_hold_transports)
    if(NOT TARGET bough_compiled)
        return()
    endif()
    get_target_property(held bough_compiled BOUGH_HELD)
    foreach(transport IN ITEMS in_process shared_memory tcp)
        if(TARGET bough::${transport} AND NOT transport IN_LIST held)
            set_property(TARGET bough_compiled APPEND PROPERTY BOUGH_HELD ${transport})
            bough_add_unit(compiled/${transport})
            target_link_libraries(bough_compiled PRIVATE bough::${transport})
        endif()
    endforeach()
endfunction()

function(bough_find_component component libraries reason)
    set(needs_compiled) # nothing: a transport comes with its own component
    set(needs_in_process threads)
    set(needs_shared_memory linux threads) # the C library, and, before glibc 2.34, its threads
    set(needs_tcp boost crypto threads)
    set(needs_tls boost crypto ssl threads)
    set(needs_asio boost threads)
    set(needs_hana boost)
    set(needs_mpi mpi)
    set(needs_pmix pmix)
    set(needs_fabric libfabric)
    set(needs_verbs libibverbs)
    set(needs_module modules threads)

    set(${libraries} "" PARENT_SCOPE)
    if(NOT component IN_LIST BOUGH_COMPONENTS)
        list(JOIN BOUGH_COMPONENTS ", " known)
        set(${reason} "there is no component ${component}; known are ${known}" PARENT_SCOPE)
        return()
    endif()
    set(targets)
    foreach(need IN LISTS needs_${component})
        cmake_language(CALL bough_find_${need} target what found)
        if(NOT found OR NOT TARGET ${target})
            set(${reason} "${component} needs ${what}, which was not found" PARENT_SCOPE)
            return()
        endif()
        list(APPEND targets ${target})
    endforeach()
    list(REMOVE_DUPLICATES targets)
    set(${libraries} "${targets}" PARENT_SCOPE)
    set(${reason} "" PARENT_SCOPE)
endfunction()

cmake_policy(POP)
