// SPDX-License-Identifier: BSL-1.0
// The Op with the least rights, on the element with the least rights: code that compiles with them
// asks for nothing but the concepts.
//
// The op cannot be default-constructed, copied or compared. It has nothing but its const call,
// which returns something that only converts to the element. It is associative and does not
// commute: an element is the map x -> a * x + b on integers modulo 2^32, and the op composes two
// maps, the lower one first.
#ifndef BOUGH_TESTING_OP_ARCHETYPE_HPP
#define BOUGH_TESTING_OP_ARCHETYPE_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/wire.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::testing {

// Trivially copyable, and no more: it cannot be default-constructed or compared.
class element_archetype {
public:
    constexpr element_archetype(std::uint32_t scale, std::uint32_t shift) noexcept : scale_(scale), shift_(shift) {}
    constexpr std::uint32_t scale() const noexcept { return scale_; }
    constexpr std::uint32_t shift() const noexcept { return shift_; }

private:
    std::uint32_t scale_;
    std::uint32_t shift_;
};

class op_archetype {
public:
    class result {
    public:
        constexpr operator element_archetype() const noexcept { return value_; }

    private:
        friend op_archetype;
        constexpr explicit result(element_archetype value) noexcept : value_(value) {}
        element_archetype value_;
    };

    // The number gives the op a state, and takes away its default constructor.
    constexpr explicit op_archetype(std::uint32_t key) noexcept : key_(key) {}
    op_archetype(const op_archetype&) = delete;
    op_archetype& operator=(const op_archetype&) = delete;
    void operator&() const = delete;

    constexpr result operator()(const element_archetype& lower, const element_archetype& upper) const noexcept {
        return result(element_archetype(upper.scale() * lower.scale(), upper.scale() * lower.shift() + upper.shift()));
    }
    constexpr std::uint32_t key() const noexcept { return key_; }

private:
    std::uint32_t key_;
};

static_assert(Op<op_archetype, element_archetype> && WireType<element_archetype>);

} // namespace bough::testing

#endif
