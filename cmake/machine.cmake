# SPDX-License-Identifier: BSL-1.0
# Toolchain file for the processor BOUGH_MACHINE (aarch64, s390x, i686), by Debian's cross compilers. Programs are
# linked statically: the user-mode emulator of qemu runs them and needs nothing of that machine's. Most kernels of x86-64
# run those of i686 themselves.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BOUGH_MACHINE)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${BOUGH_MACHINE})
foreach(version "" -12 -13 -14 -15)
    find_program(BOUGH_MACHINE_CXX ${BOUGH_MACHINE}-linux-gnu-g++${version})
endforeach()
mark_as_advanced(BOUGH_MACHINE_CXX)
set(CMAKE_CXX_COMPILER ${BOUGH_MACHINE_CXX})
if(BOUGH_MACHINE STREQUAL "i686")
    set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse") # the older unit rounds twice
    set(emulator qemu-i386-static)
else()
    set(emulator qemu-${BOUGH_MACHINE}-static)
endif()
set(runs no)
if(BOUGH_MACHINE STREQUAL "i686")
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/runs_i686 RESULT_VARIABLE runs)
endif()
if(NOT runs STREQUAL 0)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
endif()
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# What tools/foreign_libraries has fetched, if it has: Boost and OpenSSL.
set(CMAKE_FIND_ROOT_PATH /usr/${BOUGH_MACHINE}-linux-gnu ${CMAKE_CURRENT_LIST_DIR}/../build/libraries/${BOUGH_MACHINE})
string(REPLACE i686 i386 CMAKE_LIBRARY_ARCHITECTURE ${BOUGH_MACHINE}-linux-gnu)
foreach(what LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
