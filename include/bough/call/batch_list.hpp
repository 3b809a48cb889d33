// SPDX-License-Identifier: BSL-1.0
// batch_list: the contents of a batch (bough/batch.hpp): parts of any types with their ops, and the
// memory of the one message in which they travel.
//
// The wire form of a batch is that of its parts. Parts with the strictest alignment come first, so
// that there are no gaps. A batch travels as one element, whose op combines part by part.
#ifndef BOUGH_CALL_BATCH_LIST_HPP
#define BOUGH_CALL_BATCH_LIST_HPP

#include <bough/call/front_door.hpp>
#include <bough/communicator/arena.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/status.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/mix_hash.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct batch_part {
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0, out_count = 0; // elements
    std::size_t memory_bytes = 0;         // of one element in the user's memory
    any_op op{};                          // on the type that travels
    std::uint64_t op_identity = 0, type_identity = 0;
    std::size_t alignment = 1; // of the type that travels
    std::size_t offset = 0;    // in the message, bytes
    void (*pack)(const batch_part& part, std::byte* to) = nullptr;
    void (*unpack)(const batch_part& part, const std::byte* from) = nullptr;

    std::size_t bytes() const noexcept { return count * op.element_size; }
};

// The type that travels for a T that O combines.
template <class O, class T>
struct batch_element {
    using type = T;
};
template <class O, class T>
requires LiftedOp<O, T>
struct batch_element<O, T> {
    using type = state_of<O, T>;
};

template <class O>
decltype(auto) op_of(const batch_part& part) noexcept {
    if constexpr (is_stateless_v<O>)
        return O{};
    else
        return *static_cast<const O*>(part.op.state);
}

template <class T, class O>
void pack_part(const batch_part& part, std::byte* to) {
    using element = typename batch_element<O, T>::type;
    constexpr std::size_t size = wire_size_v<element>;
    const T* in = static_cast<const T*>(part.in);
    if constexpr (LiftedOp<O, T>) {
        const O& op = op_of<O>(part);
        for (std::size_t i = 0; i != part.count; ++i)
            wire<element>::encode(op.lift(in[i]), std::span<std::byte, size>(to + i * size, size));
    } else if constexpr (travels_as_bytes_v<T>) {
        __builtin_memcpy(to, in, part.count * size);
    } else {
        for (std::size_t i = 0; i != part.count; ++i)
            wire<T>::encode(in[i], std::span<std::byte, size>(to + i * size, size));
    }
}
template <class T, class O>
void unpack_part(const batch_part& part, const std::byte* from) {
    using element = typename batch_element<O, T>::type;
    constexpr std::size_t size = wire_size_v<element>;
    T* out = static_cast<T*>(part.out);
    if constexpr (LiftedOp<O, T>) {
        const O& op = op_of<O>(part);
        for (std::size_t i = 0; i != part.count; ++i)
            out[i] = op.lower(wire<element>::decode(std::span<const std::byte, size>(from + i * size, size)));
    } else if constexpr (travels_as_bytes_v<T>) {
        __builtin_memcpy(out, from, part.count * size);
    } else {
        for (std::size_t i = 0; i != part.count; ++i)
            out[i] = wire<T>::decode(std::span<const std::byte, size>(from + i * size, size));
    }
}

class batch_list {
public:
    // Adds a part. The op is copied; T is the type to which `in` and `out` point.
    template <class T, class O>
    void add(const T* in, std::size_t count, T* out, std::size_t out_count, const O& op) {
        using element = typename batch_element<O, T>::type;
        batch_part part{.in = in,
                        .out = out,
                        .count = count,
                        .out_count = out_count,
                        .memory_bytes = sizeof(T),
                        .op_identity = detail::with_numbers(op_identity<O>(), op, wire_size_v<element>),
                        .type_identity = type_identity<element>(),
                        .alignment = travels_as_bytes_v<element> ? alignof(element) : 1,
                        .pack = &pack_part<T, O>,
                        .unpack = &unpack_part<T, O>};
        if constexpr (is_stateless_v<O>)
            part.op = bough::make_any_op<element>(op);
        else
            part.op = bough::make_any_op<element>(static_cast<const O&>(ops_.template make<O>(op)));
        parts_.push_back(part);
        laid_out_ = false;
    }
    void clear() noexcept {
        parts_.clear();
        ops_.clear();
        laid_out_ = false;
    }
    bool empty() const noexcept { return parts_.empty(); }
    std::size_t size() const noexcept { return parts_.size(); }

    // These are valid after lay_out().
    std::size_t bytes() const noexcept { return bytes_; }
    std::byte* message() noexcept { return message_.data(); }
    bool commutative() const noexcept { return commutative_; }
    bool exact() const noexcept { return exact_; }
    call_signature signature(rank_t root) const noexcept {
        call_signature s;
        s.count = lengths_hash_;
        s.root = root;
        s.op = ops_hash_;
        s.type = types_hash_;
        return s;
    }

    // Does every part keep the rules of a call? `writes`: this rank gets the results.
    status check(bool writes) const noexcept {
        std::uint64_t total = 0;
        for (const batch_part& p : parts_) {
            if (const status bad = writes ? check_pair(p.in, p.count, p.out, p.out_count, p.memory_bytes)
                                          : check_data(p.in, p.count, p.memory_bytes))
                return bad;
            if (const status bad = check_data(p.in, p.count, p.op.element_size)) return bad;
            total += p.bytes();
            if (p.bytes() > ~std::uint32_t{0} || total > ~std::uint32_t{0})
                return size_overflow("batch: has 4 GiB or more");
        }
        return {};
    }
    // Pre: check() is ok.
    void lay_out() {
        if (laid_out_) return;
        std::size_t strictest = 1;
        std::uint64_t ops = hash_name("bough.batch"), types = ops, lengths = ops;
        commutative_ = exact_ = true;
        for (const batch_part& p : parts_) {
            strictest = p.alignment > strictest ? p.alignment : strictest;
            commutative_ = commutative_ && p.op.traits.commutative;
            exact_ = exact_ && p.op.traits.exact;
            ops = mix_hash(ops, p.op_identity);
            types = mix_hash(types, p.type_identity);
            lengths = mix_hash(lengths, p.count);
        }
        bytes_ = 0;
        for (std::size_t alignment = strictest; alignment != 0; alignment /= 2)
            for (batch_part& p : parts_)
                if (p.alignment == alignment) {
                    p.offset = bytes_;
                    bytes_ += p.bytes();
                }
        message_.resize(bytes_);
        ops_hash_ = ops;
        types_hash_ = types;
        lengths_hash_ = lengths;
        laid_out_ = true;
    }
    // If a wire form's encode or a lift throws, that is an error of this call, and the other ranks
    // are told. `by`: the address of the call. Another call in flight may have it only if that one is made
    // while this one waits, and ends before this one.
    status pack(const void* by = nullptr) noexcept {
        BOUGH_EXPECTS(laid_out_, "batch: was changed after it was bound: bind it again");
        packed_by_ = by;
#if BOUGH_HAS_EXCEPTIONS
        try {
            for (const batch_part& p : parts_)
                if (p.count != 0) p.pack(p, message_.data() + p.offset);
        } catch (...) {
            return {.code = errc::op_threw};
        }
#else
        for (const batch_part& p : parts_)
            if (p.count != 0) p.pack(p, message_.data() + p.offset);
#endif
        return {};
    }
    // A call has ended well. Pre: it has packed the batch, and no other one has since.
    void expect_packed_by(const void* call) {
        BOUGH_EXPECTS(laid_out_, "batch: was changed while a call of it was in flight");
        BOUGH_EXPECTS(packed_by_ == call, "batch: was used in another call before this one had ended");
        packed_by_ = nullptr; // a blocking call that waits, and one that its hook makes, have the same address
    }
    void unpack(const void* by = nullptr) {
        expect_packed_by(by);
        for (const batch_part& p : parts_)
            if (p.count != 0) p.unpack(p, message_.data() + p.offset);
    }
    // A combine_function; `state` is a batch_list, an element is a whole message.
    static void combine(const void* state, const std::byte* lower, const std::byte* upper, std::byte* out,
                        std::size_t count) {
        const auto& self = *static_cast<const batch_list*>(state);
        BOUGH_EXPECTS(self.laid_out_, "batch: was changed while a call of it was in flight");
        for (std::size_t i = 0; i != count; ++i)
            for (const batch_part& p : self.parts_) {
                const std::size_t at = i * self.bytes_ + p.offset;
                if (p.count != 0) p.op(lower + at, upper + at, out + at, p.count);
            }
    }

private:
    std::vector<batch_part> parts_;
    arena ops_;
    std::vector<std::byte> message_;
    std::size_t bytes_ = 0;
    std::uint64_t ops_hash_ = 0, types_hash_ = 0, lengths_hash_ = 0;
    const void* packed_by_ = nullptr; // the call whose values are in the message, until it has ended well
    bool commutative_ = true, exact_ = true, laid_out_ = false;
};

} // namespace bough::detail

#endif
