// SPDX-License-Identifier: BSL-1.0
// Op_archetype: the Op with the least rights, on the element with the least rights. What compiles with the two needs
// nothing more than the concepts say.
//
// The op cannot be made from nothing, copied or compared; only its const call is there, and that returns something
// that merely converts to the element. It is associative and does not commute: an element is the map x -> a * x + b on
// integers modulo 2^32, and the op composes, the lower map first.
#ifndef BOUGH_TESTING_OP_ARCHETYPE_HPP
#define BOUGH_TESTING_OP_ARCHETYPE_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/wire.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::testing {

// Trivially copyable, and no more: not made from nothing, not compared.
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

    // The number is there so that there is no default constructor, and some state.
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
