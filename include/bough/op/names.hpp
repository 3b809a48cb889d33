// SPDX-License-Identifier: BSL-1.0
// The names, for error messages, of the arithmetic types and of bough's ops, which signatures name
// by numbers.
#ifndef BOUGH_OP_NAMES_HPP
#define BOUGH_OP_NAMES_HPP

#include <bough/op/identity.hpp>
#include <bough/op/traits.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {
// Stands for the op in the signature of a rank that takes no part in a multicast. A message of the call
// that reaches this rank is of a rank that has another list of members.
inline constexpr std::uint64_t takes_no_part = hash_name("bough: takes no part");
static_assert(static_cast<std::uint16_t>(takes_no_part) != static_cast<std::uint16_t>(op_id<void>)); // in a digest, too
} // namespace detail

// The name of an arithmetic type, or of a small float; null if no such type has this identity.
constexpr const char* name_of_type(std::uint64_t identity) noexcept {
    struct named {
        type_signature type;
        const char* name;
    };
    constexpr named known[] = {
        {type_id<signed char>, "int8"},
        {type_id<short>, "int16"},
        {type_id<int>, "int32"},
        {type_id<long long>, "int64"},
        {type_id<unsigned char>, "uint8"},
        {type_id<unsigned short>, "uint16"},
        {type_id<unsigned>, "uint32"},
        {type_id<unsigned long long>, "uint64"},
        {type_id<float>, "float"},
        {type_id<double>, "double"},
        {type_id<long double>, "long double"},
        // bough/op/small_float.hpp
        {{2, type_category::floating, hash_name("bough.bf16")}, "bf16"},
        {{2, type_category::floating, hash_name("bough.fp16")}, "fp16"},
        {{1, type_category::floating, hash_name("bough.fp8_e5m2")}, "fp8_e5m2"},
        {{1, type_category::floating, hash_name("bough.fp8_e4m3")}, "fp8_e4m3"},
    };
    for (const named& k : known)
        if (identity_of(k.type) == identity) return k.name;
    return nullptr;
}

// The name of an op, also of one with numbers (op_with_values); null if none that bough ships has this
// identity.
constexpr const char* name_of_op(std::uint64_t identity) noexcept {
    struct named {
        std::uint64_t identity;
        const char* name;
    };
    constexpr named known[] = {
        {op_id<void>, "none"},
        {hash_name("bough.plus"), "plus"},
        {hash_name("bough.multiplies"), "multiplies"},
        {hash_name("bough.min"), "min"},
        {hash_name("bough.max"), "max"},
        {hash_name("bough.min_number"), "min_number"},
        {hash_name("bough.max_number"), "max_number"},
        {hash_name("bough.logical_and"), "logical_and"},
        {hash_name("bough.logical_or"), "logical_or"},
        {hash_name("bough.logical_xor"), "logical_xor"},
        {hash_name("bough.bit_and"), "bit_and"},
        {hash_name("bough.bit_or"), "bit_or"},
        {hash_name("bough.bit_xor"), "bit_xor"},
        {hash_name("bough.min_location"), "min_location"},
        {hash_name("bough.max_location"), "max_location"},
        {hash_name("bough.exact_sum"), "exact_sum"},
        {hash_name("bough.limb_sum"), "limb_sum"},
        {detail::rounded_once_identity(hash_name("bough.plus"), sizeof(float)), "rounded_once"},
        {detail::rounded_once_identity(hash_name("bough.plus"), sizeof(double)), "rounded_once in double"},
    };
    for (const named& k : known)
        if (k.identity == identity || differ_in_values(k.identity, identity)) return k.name;
    return nullptr;
}

} // namespace bough

#endif
