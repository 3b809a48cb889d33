# SPDX-License-Identifier: BSL-1.0
# As FindThreads.cmake, beside this file.
if(NOT TARGET Boost::headers)
    add_library(Boost::headers INTERFACE IMPORTED)
endif()
set(Boost_FOUND FALSE)
