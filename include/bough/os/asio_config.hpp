// SPDX-License-Identifier: BSL-1.0
// To be included before every header of Boost.Asio: then Boost 1.74 compiles with libc++, too.
//
// libc++ has no std::result_of in C++20, and its newer versions no longer include <exception> by
// chance. Programs that include Boost 1.74 themselves, with libc++, must include this header first.
#ifndef BOUGH_OS_ASIO_CONFIG_HPP
#define BOUGH_OS_ASIO_CONFIG_HPP

#include <exception> // and, by it, _LIBCPP_VERSION

#if defined(_LIBCPP_VERSION) && !defined(BOOST_ASIO_HAS_STD_INVOKE_RESULT)
#define BOOST_ASIO_HAS_STD_INVOKE_RESULT 1
#endif

#endif
