// SPDX-License-Identifier: BSL-1.0
// Numbers that are hard to add, for the tests of the reproducible sums.
#ifndef BOUGH_TEST_OP_SUMS_HPP
#define BOUGH_TEST_OP_SUMS_HPP

#include "support/sample.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace test {

template <class T>
std::uint64_t bits_of(T x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(T));
    return bits;
}

class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_(bough_test::mixed(seed)) {}
    std::uint64_t next() { return bough_test::mixed(++state_); }

    // Any bits, but finite.
    template <class T>
    T any() {
        for (;;) {
            const std::uint64_t bits = next();
            T x{};
            std::memcpy(&x, &bits, sizeof(T));
            if (std::isfinite(x)) return x;
        }
    }
    // About 2^exponent, of both signs.
    template <class T>
    T near(int exponent) {
        const T x = static_cast<T>(static_cast<double>(next() >> 11) * 0x1p-53 + 0.5);
        return std::ldexp(next() % 2 == 0 ? x : -x, exponent);
    }
    // Kinds of vectors: 0 any, 1 alike, 2 cancelling, 3 subnormal, 4 largest, 5 ties, 6 zeros, 7 wide and cancelling.
    template <class T>
    std::vector<T> vector(unsigned kind, std::size_t count) {
        using limits = std::numeric_limits<T>;
        std::vector<T> v;
        for (std::size_t i = 0; i != count; ++i) {
            switch (kind % 8) {
            case 0: v.push_back(any<T>()); break;
            case 1: v.push_back(near<T>(3)); break;
            case 2: v.push_back(i % 2 == 0 ? near<T>(40) : i % 4 == 1 ? -v[i - 1] : -v[i - 1] * T(1.0001)); break;
            case 3: v.push_back(near<T>(limits::min_exponent - static_cast<int>(next() % 20))); break;
            case 4: v.push_back(next() % 3 == 0 ? -limits::max() : limits::max()); break;
            case 5: v.push_back(std::ldexp(T(1), i == 0 ? limits::digits : static_cast<int>(next() % 4) - 2)); break;
            case 6: v.push_back(next() % 4 == 0 ? T(0) : -T(0)); break;
            default: v.push_back(i % 2 == 0 ? any<T>() : -v[i - 1]); break;
            }
        }
        if (kind % 8 == 7 && count != 0) v.back() = near<T>(-30);
        return v;
    }
    template <class T>
    void shuffle(std::vector<T>& v) {
        for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[static_cast<std::size_t>(next() % i)]);
    }

private:
    std::uint64_t state_;
};

} // namespace test

#endif
