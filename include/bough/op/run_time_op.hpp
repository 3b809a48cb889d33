// SPDX-License-Identifier: BSL-1.0
// run_time_op: an op that is a function of the program, known at run time only, as in C:
//
//   void add(void* context, const void* in, void* inout, std::size_t count);
//   run_time_op{.function = add, .commutative = true, .identity = 7}
//
// It computes inout[i] = in[i] op inout[i]; what stands left, `in`, comes from the lower ranks. So where
// the result may take the place of its right operand, or of either if the op commutes, nothing is copied.
// An op that writes its result elsewhere is an any_op (bough/op/any_op.hpp).
//
// The function gets elements one behind the other, as they travel. `as_in_memory`: it gets them as they
// lie in memory, `extent` bytes apart, as the functions of an MPI do. Then what travels has the gaps,
// too, with zeros in them.
//
// It may be called for any part of a vector, and by any thread that waits for the operation.
#ifndef BOUGH_OP_RUN_TIME_OP_HPP
#define BOUGH_OP_RUN_TIME_OP_HPP

#include <bough/core/config.hpp>
#include <bough/op/run_time_type.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// The form of the function: inout[i] = op(in[i], inout[i]) for `count` elements.
using inout_function = void(void* context, const void* in, void* inout, std::size_t count);

struct run_time_op {
    inout_function* function = nullptr;
    void* context = nullptr;    // must live as long as operations use it
    bool commutative = false;   // a op b == b op a, bit for bit: the operands may be swapped
    bool exact = false;         // associative, bit for bit: any bracket gives the same result
    bool as_in_memory = false;  // see above
    std::uint64_t identity = 0; // compared between ranks
};

namespace detail {

// How the elements of a vector lie in a message.
struct message_form {
    std::size_t stride = 0;       // bytes from one to the next
    std::ptrdiff_t begin = 0;     // the address of an element is so far before its bytes
    bool as_in_memory = false;    // gaps travel
    bool strides_fit_type = true; // they are as far apart as in memory
};
constexpr message_form form_in_memory(const run_time_type& t) noexcept;
BOUGH_ALWAYS_INLINE constexpr message_form form_of(const run_time_type& t, bool as_in_memory) noexcept {
    if (!as_in_memory || (t.pieces.empty() && t.extent == 0)) return {.stride = t.size, .as_in_memory = as_in_memory};
    return form_in_memory(t);
}
constexpr message_form form_in_memory(const run_time_type& t) noexcept {
    const element_bounds bounds = bounds_of(t);
    const std::ptrdiff_t extent = extent_of(t);
    if (extent > 0 && static_cast<std::size_t>(extent) >= bounds.bytes())
        return {static_cast<std::size_t>(extent), bounds.begin, true, true};
    const std::size_t alignment = t.alignment != 0 ? t.alignment : 16;
    return {(bounds.bytes() + alignment - 1) / alignment * alignment, bounds.begin, true, false};
}

// Calls the function of a run_time_op where a combine_function is asked for.
class run_time_combiner {
public:
    // `spare`: spare_bytes(...) bytes, aligned to 16; they live as long as the combiner.
    run_time_combiner(const run_time_op& op, const run_time_type& type, const message_form& form,
                      std::byte* spare) noexcept
        : op_(op), stride_(form.stride), begin_(form.begin), low_bits_(alignment_of(type, form.stride) - 1),
          at_once_(form.strides_fit_type), spare_(spare) {}

    // The memory that elements need which do not fit the stack.
    static constexpr std::size_t spare_bytes(const message_form& form) noexcept {
        return form.stride <= chunk_bytes ? 0 : 2 * padded(form.stride);
    }

    // A combine_function; `state` is a run_time_combiner.
    static void combine(const void* state, const std::byte* lower, const std::byte* upper, std::byte* out,
                        std::size_t count) {
        static_cast<const run_time_combiner*>(state)->run(lower, upper, out, count);
    }

private:
    static constexpr std::size_t chunk_bytes = 2048;
    static constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

    BOUGH_ALWAYS_INLINE void run(const std::byte* lower, const std::byte* upper, std::byte* out,
                                 std::size_t count) const {
        const auto bits = reinterpret_cast<std::uintptr_t>(lower) | reinterpret_cast<std::uintptr_t>(upper) |
                          reinterpret_cast<std::uintptr_t>(out);
        if ((bits & low_bits_) == 0) [[likely]] {
            if (out == upper && out != lower) return call(lower, out, count);
            if (out == lower && out != upper && op_.commutative) return call(upper, out, count);
            if (out != lower) {
                __builtin_memcpy(out, upper, count * stride_);
                return call(lower, out, count);
            }
        }
        run_in_chunks(lower, upper, out, count);
    }
    // By way of memory of our own: where the result takes the place of the left operand, and where
    // something is not aligned.
    BOUGH_COLD void run_in_chunks(const std::byte* lower, const std::byte* upper, std::byte* out,
                                  std::size_t count) const {
        alignas(64) std::byte left[chunk_bytes], right[chunk_bytes];
        const bool fits = stride_ <= chunk_bytes;
        std::byte* const low = fits ? left : spare_;
        std::byte* const high = fits ? right : spare_ + padded(stride_);
        const std::size_t most = fits ? chunk_bytes / stride_ : 1;
        for (std::size_t done = 0; done != count;) {
            const std::size_t n = count - done < most ? count - done : most;
            const std::size_t at = done * stride_, bytes = n * stride_;
            const bool is_aligned = (reinterpret_cast<std::uintptr_t>(lower + at) & low_bits_) == 0;
            if (!is_aligned) __builtin_memcpy(low, lower + at, bytes);
            __builtin_memcpy(high, upper + at, bytes);
            call(is_aligned ? lower + at : low, high, n);
            __builtin_memcpy(out + at, high, bytes);
            done += n;
        }
    }
    BOUGH_ALWAYS_INLINE void call(const std::byte* in, std::byte* inout, std::size_t count) const {
        if (at_once_) [[likely]]
            return op_.function(op_.context, address(in), address(inout), count);
        for (std::size_t i = 0; i != count; ++i)
            op_.function(op_.context, address(in + i * stride_), address(inout + i * stride_), 1);
    }
    // Where an element is whose bytes begin here. That need not be in the same object.
    const void* address(const std::byte* bytes) const noexcept {
        return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(bytes) -
                                             static_cast<std::uintptr_t>(begin_));
    }
    void* address(std::byte* bytes) const noexcept {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes) - static_cast<std::uintptr_t>(begin_));
    }

    run_time_op op_;
    std::size_t stride_;
    std::ptrdiff_t begin_;
    std::uintptr_t low_bits_;
    bool at_once_;
    std::byte* spare_;
};

} // namespace detail

} // namespace bough

#endif
