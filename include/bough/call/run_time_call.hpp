// SPDX-License-Identifier: BSL-1.0
// The way from elements and an op whose types are known at run time only to a running operation.
//
// It fills the same typed_call as the front doors of typed data, on bytes, with the size of an element.
// Data that do not lie as they travel are packed into memory of the operation before each run, and
// unpacked after it.
#ifndef BOUGH_CALL_RUN_TIME_CALL_HPP
#define BOUGH_CALL_RUN_TIME_CALL_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/elements.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/core/config.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/identity.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

struct no_op {}; // of a collective that combines nothing

template <class A>
concept NotElements = NotData<A> && !is_elements_v<A>;

// How the elements of a call lie in messages.
inline message_form form_for(const run_time_type& t, const run_time_op& op) noexcept {
    return form_of(t, op.as_in_memory);
}
template <class O>
message_form form_for(const run_time_type& t, const O&) noexcept {
    return form_of(t, false);
}

// Two sides of a call, each of which has passed check_elements().
inline status check_alike(const run_time_type& a, const run_time_type& b, bool combines) noexcept {
    if (unit_of(a) != unit_of(b) || a.identity != b.identity || (combines && a.size != b.size))
        return invalid_argument("out: its elements are of another type than those of the input");
    return {};
}

constexpr std::size_t units_of(const const_elements& x) noexcept {
    return x.type.unit == 0 ? x.count : x.count * (x.type.size / x.type.unit);
}

// The call without its data. `count`: units of the whole vector; `said`: the count on which ranks agree.
inline typed_call<std::byte> run_time_typed(const run_time_type& type, std::size_t element_bytes, std::size_t count,
                                            std::size_t said, const dimensions& at) noexcept {
    typed_call<std::byte> typed{.at = at, .count = count};
    typed.element_bytes = static_cast<std::uint32_t>(element_bytes);
    typed.signature.count = said;
    typed.signature.root = at.root;
    typed.signature.op = op_id<void>;
    typed.signature.type = identity_of(type);
    return typed;
}

// The memory of one message, aligned to a cache line. It lives as long as the operation.
template <class Room>
std::byte* aligned_room(Room& room, std::size_t bytes) {
    constexpr std::size_t line = 64;
    room.resize(bytes + line - 1);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(room.data()) % line;
    return room.data() + (line - beyond) % line;
}

// Packs into `message` before each run. If a pack function throws, that is an error of this call, and
// the other ranks are told.
template <RunsCalls Comm>
status pack_before(Comm& comm, const message_layout& layout, std::byte* message) {
    return comm.before([layout, message]() -> status {
#if BOUGH_HAS_EXCEPTIONS
        try {
            layout.pack(message);
        } catch (...) {
            return {.code = errc::op_threw};
        }
#else
        layout.pack(message);
#endif
        return {};
    });
}

// Gives the call its op, and calls run(). The op and what it needs live as long as the operation.
template <RunsCalls Comm, class Run>
status with_op(Comm&, typed_call<std::byte>&, const run_time_type&, const message_form&, const no_op&, const Run& run) {
    return run();
}
template <RunsCalls Comm, class Run>
status with_op(Comm&, typed_call<std::byte>& typed, const run_time_type&, const message_form&, const any_op& op,
               const Run& run) {
    typed.op = op;
    typed.commutative = op.traits.commutative;
    typed.exact = op.traits.exact;
    typed.signature.op = op.id;
    return run();
}
template <RunsCalls Comm, class Run>
status with_large_elements(Comm& comm, typed_call<std::byte>& typed, const run_time_type& type, const run_time_op& op,
                           const message_form& form, const Run& run) {
    auto&& spare = comm.template room<std::byte>();
    const run_time_combiner combiner(op, type, form, aligned_room(spare, run_time_combiner::spare_bytes(form)));
    typed.op = {.function = &run_time_combiner::combine, .state = &comm.hold(combiner), .element_size = form.stride};
    return run();
}
template <RunsCalls Comm, class Run>
BOUGH_ALWAYS_INLINE status with_op(Comm& comm, typed_call<std::byte>& typed, const run_time_type& type,
                                   const message_form& form, const run_time_op& op, const Run& run) {
    typed.commutative = op.commutative;
    typed.exact = op.exact;
    typed.signature.op = op.identity;
    if (run_time_combiner::spare_bytes(form) != 0) return with_large_elements(comm, typed, type, op, form, run);
    const run_time_combiner combiner(op, type, form, nullptr);
    typed.op = {.function = &run_time_combiner::combine, .state = &comm.hold(combiner), .element_size = form.stride};
    return run();
}

// The door of a collective for types known at run time: one for each op that commutes, or is exact.
template <class Goal>
inline constexpr char run_time_doors[4] = {};

template <class Goal>
const void* run_time_door(bool commutative, bool exact) noexcept {
    return &run_time_doors<Goal>[(commutative ? 1u : 0u) + (exact ? 2u : 0u)];
}

// run_automatic(), and remembers a blocking call that has run well, for repeat_elements().
template <class Goal, RunsPlans Comm>
status run_time_automatic(Comm& comm, const typed_call<std::byte>& typed, const automatic& wanted) {
    const status result = detail::run_automatic<Goal>(comm, typed, wanted);
    if constexpr (RepeatsCalls<Comm>)
        if (!result && wanted == automatic{} && has_equal_blocks(typed) && !detail::is_followed<Goal>(comm, typed))
            comm.keep_repeated({run_time_door<Goal>(typed.commutative, typed.exact), typed.count, typed.at.root},
                               call_of(typed));
    return result;
}

// What a call says of its op.
struct said_op {
    combine_function* combine = nullptr;
    std::uint64_t identity = op_id<void>;
    bool commutative = true, exact = false, is_usable = true;
};
inline said_op said_of(const no_op&, const run_time_type&) noexcept { return {}; }
inline said_op said_of(const any_op& op, const run_time_type& t) noexcept {
    return {op.function, op.id, op.traits.commutative, op.traits.exact, op.element_size == t.size};
}
inline said_op said_of(const run_time_op& op, const run_time_type& t) noexcept {
    return {&run_time_combiner::combine, op.identity, op.commutative, op.exact,
            op.function != nullptr && run_time_combiner::spare_bytes({.stride = t.size}) == 0};
}

// The call that was made lately with elements of this type, this op, and a vector of `count`. Null: there is
// none, or something is to be said of the elements besides their size.
template <class Goal, RunsPlans Comm, RunTimeData X, class O>
BOUGH_ALWAYS_INLINE repeated_call* find_elements(Comm& comm, const X& x, std::size_t count, const O& op, rank_t root) {
    const said_op said = said_of(op, x.type);
    repeated_call* const known = comm.find_repeated({run_time_door<Goal>(said.commutative, said.exact), count, root});
    if (known == nullptr || !said.is_usable || !is_plain(x)) return nullptr;
    const call_signature& signature = known->what.signature;
    const bool is_equal = known->what.made.element_bytes == x.type.size && known->what.made.combine == said.combine &&
                          signature.op == said.identity && signature.type == identity_of(x.type);
    return is_equal ? known : nullptr;
}
// Runs it with other data.
template <RunsPlans Comm, class O>
BOUGH_ALWAYS_INLINE status run_elements(Comm& comm, repeated_call& known, const void* in, void* out,
                                        [[maybe_unused]] const O& op, [[maybe_unused]] const run_time_type& t) {
    known.what.made.input = static_cast<const std::byte*>(in);
    known.what.made.output = static_cast<std::byte*>(out);
    if constexpr (std::same_as<O, run_time_op>) {
        const run_time_combiner combiner(op, t, {.stride = t.size, .as_in_memory = op.as_in_memory}, nullptr);
        known.what.made.combine_state = &combiner;
        return comm.run_repeated(known);
    } else {
        if constexpr (std::same_as<O, any_op>) known.what.made.combine_state = op.state;
        return comm.run_repeated(known);
    }
}

// Runs a blocking call with automatic choice that equals one made lately (repeat_call), if there is
// nothing to be packed or refused, and sets `result`. False: there is none. `in` may be `out`.
template <class Goal, RunsPlans Comm, RunTimeData In, class O, class Choice>
BOUGH_ALWAYS_INLINE bool repeat_elements(Comm& comm, const In& in, const elements& out, bool writes, const O& op,
                                         rank_t root, const Choice& choice, status& result) {
    if constexpr (std::same_as<Choice, automatic> && RepeatsCalls<Comm>) {
        const run_time_type& t = in.type;
        repeated_call* const known = detail::find_elements<Goal>(comm, in, in.count, op, root);
        if (known == nullptr || !detail::is_default(choice)) return false;
        if (writes && static_cast<const void*>(&in) != &out) {
            const auto a = reinterpret_cast<std::uintptr_t>(in.data), b = reinterpret_cast<std::uintptr_t>(out.data);
            const std::size_t bytes = in.count * t.size;
            if (out.count != in.count || out.type.size != t.size || out.type.identity != t.identity || !is_plain(out) ||
                (a != b && a < b + bytes && b < a + bytes))
                return false;
        }
        result = run_elements(comm, *known, in.data, writes ? out.data : nullptr, op, t);
        return true;
    }
    return false;
}

// A vector that every rank has, or gets, whole.
struct whole_data {
    const const_elements& in;
    const const_elements& out;        // `in` itself: in place
    bool reads = true, writes = true; // is something read from `in`, or written to `out`, by this rank?
    bool has_out = writes;            // the plan has an output on this rank

    bool is_in_place() const noexcept { return &in == &out; }
};

inline status check_any_whole(const whole_data& data, bool combines) noexcept {
    if (!data.in.displacements.empty() || !data.out.displacements.empty())
        return invalid_argument("displacements: only where blocks may differ in length");
    if (const status bad = check_elements(data.in, data.is_in_place() && data.writes)) return bad;
    if (combines && unit_of(data.in.type) != data.in.type.size)
        return invalid_argument("type: has a unit, but an op combines whole elements");
    if (data.is_in_place() || !data.writes) return {};
    if (const status bad = check_elements(data.out, true)) return bad;
    if (const status bad = check_alike(data.in.type, data.out.type, combines)) return bad;
    if (units_of(data.in) != units_of(data.out)) return invalid_argument("out: must be as long as the input");
    if (!is_dense(data.in) || !is_dense(data.out)) return {}; // what is packed may lie anywhere
    return check_pair(data.in.data, units_of(data.in), data.out.data, units_of(data.out), unit_of(data.in.type));
}

BOUGH_ALWAYS_INLINE status check_whole(const whole_data& data, bool combines) noexcept {
    const bool is_usual = data.is_in_place() && is_plain(data.in) && data.in.count < ~std::uint32_t{0} / 2;
    return is_usual ? status{} : check_any_whole(data, combines);
}

// Runs what does not lie as it travels, by way of one message.
template <RunsCalls Comm, class O, class Run>
status run_packed(Comm& comm, typed_call<std::byte>& typed, const whole_data& data, const O& op, const Run& run) {
    const message_form form = form_for(data.in.type, op);
    if (!data.is_in_place() && data.writes && form.as_in_memory && !lie_alike(data.in.type, data.out.type))
        return comm.refuse(invalid_argument("out: lies otherwise than the input, and op takes elements as in memory"));
    if (form.stride != 0 && data.in.count > ~std::size_t{0} / 4 / form.stride)
        return comm.refuse(size_overflow("data: more bytes than can be addressed"));
    auto&& room = comm.template room<std::byte>();
    const message_layout in = layout_of(data.in, form);
    std::byte* const message = aligned_room(room, in.bytes());
    if (data.reads)
        if (const status bad = pack_before(comm, in, message)) return comm.refuse(bad);
    typed.in = message;
    typed.out = data.has_out ? message : nullptr;
    const status ended = with_op(comm, typed, data.in.type, form, op, run);
    if (!data.writes) return ended;
    return comm.then(ended, [out = layout_of(data.out, form_for(data.out.type, op)), message] { out.unpack(message); });
}

// run(typed) chooses the plan and runs the call.
template <RunsCalls Comm, class O, class Run>
status run_whole(Comm& comm, const whole_data& data, const O& op, const dimensions& at, const Run& run) {
    return guard_call(comm, [&]() -> status {
        constexpr bool combines = !std::same_as<O, no_op>;
        if (const status bad = check_whole(data, combines)) return comm.refuse(bad);
        const std::size_t unit = unit_of(data.in.type);
        std::size_t element_bytes = unit;
        message_form form{};
        if constexpr (combines) {
            if (const status bad = check_op(op, data.in.type)) return comm.refuse(bad);
            form = form_for(data.in.type, op);
            element_bytes = form.stride;
            if (element_bytes > ~std::uint32_t{0})
                return comm.refuse(size_overflow("type: its size, or its unit, is 4 GiB or more"));
        }
        const std::size_t count = units_of(data.in);
        typed_call<std::byte> typed = run_time_typed(data.in.type, element_bytes, count, count, at);
        const auto chosen = [&run, &typed] { return run(typed); };
        if (element_bytes != unit || !is_dense(data.in) || (data.writes && !is_dense(data.out)))
            return run_packed(comm, typed, data, op, chosen);
        typed.in = static_cast<const std::byte*>(data.in.data);
        typed.out = data.has_out ? static_cast<std::byte*>(const_cast<void*>(data.out.data)) : nullptr;
        return with_op(comm, typed, data.in.type, form, op, chosen);
    });
}

} // namespace bough::inline BOUGH_ABI::detail

#endif
