// SPDX-License-Identifier: BSL-1.0
// Catch2, version 3 or 2, whichever is installed.
#ifndef BOUGH_TEST_SUPPORT_CATCH_HPP
#define BOUGH_TEST_SUPPORT_CATCH_HPP

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif
