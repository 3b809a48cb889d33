// SPDX-License-Identifier: BSL-1.0
// What every front door does with its arguments, whatever runs the call: it checks the data, gives
// the call its signature, and leaves the result where the caller wants it.
#ifndef BOUGH_CALL_ARGUMENTS_HPP
#define BOUGH_CALL_ARGUMENTS_HPP

#include <bough/call/contiguous.hpp>
#include <bough/concepts/explain_op.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Where a front door that does not throw leaves its result.
template <class E>
concept ErrorResult = std::same_as<E, std::error_code> || std::same_as<E, status>;

namespace detail {

// Can the result of a call in place be written?
template <class T>
consteval bool explain_written() {
    static_assert(
        !std::is_const_v<T>,
        "bough: the result is written here: give a span of elements that are not const, or an input and an output");
    return true;
}

inline void report(const status& s, std::error_code& ec) noexcept { ec = make_error_code(s.code); }
inline void report(const status& s, status& result) noexcept { result = s; }

// Do an element count and its bytes fit the types that carry them, and is the memory there?
inline status check_data(const void* data, std::size_t count, std::size_t element_bytes) noexcept {
    if (count != 0 && data == nullptr) return invalid_argument("data: null, but its count is not zero");
    if (element_bytes != 0 && count > ~std::size_t{0} / 2 / element_bytes)
        return size_overflow("data: more bytes than can be addressed");
    return {};
}
inline status check_pair(const void* in, std::size_t in_count, const void* out, std::size_t out_count,
                         std::size_t element_bytes) noexcept {
    if (in_count != out_count) return invalid_argument("out: must be as long as the input");
    if (const status bad = check_data(in, in_count, element_bytes)) return bad;
    if (const status bad = check_data(out, out_count, element_bytes)) return bad;
    const auto a = reinterpret_cast<std::uintptr_t>(in);
    const auto b = reinterpret_cast<std::uintptr_t>(out);
    const std::size_t bytes = in_count * element_bytes;
    if (a != b && a < b + bytes && b < a + bytes) return invalid_argument("out: overlaps the input without being it");
    return {};
}

// The signature of a call on typed data, without its kind and its plan.
template <class T, class O>
call_signature signature_of(std::size_t count, rank_t root) noexcept {
    call_signature s;
    s.count = count;
    s.root = root;
    s.op = op_identity<O>();
    s.type = type_identity<T>();
    return s;
}
// With the numbers that the op holds.
template <class T, class O>
std::uint64_t signed_op(const O& op) noexcept {
    return detail::with_numbers(op_identity<O>(), op, wire_size_v<T>);
}
template <class T, class O>
call_signature signature_of(const O& op, std::size_t count, rank_t root) noexcept {
    call_signature s = signature_of<T, O>(count, root);
    s.op = detail::signed_op<T>(op);
    return s;
}

} // namespace detail

} // namespace bough

#endif
