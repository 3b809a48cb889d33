# SPDX-License-Identifier: BSL-1.0
# As FindThreads.cmake, beside this file.
if(NOT TARGET OpenSSL::SSL)
    add_library(OpenSSL::Crypto INTERFACE IMPORTED)
    add_library(OpenSSL::SSL INTERFACE IMPORTED)
endif()
set(OpenSSL_FOUND FALSE)
