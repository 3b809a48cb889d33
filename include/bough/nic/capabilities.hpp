// SPDX-License-Identifier: BSL-1.0
// Capabilities: what a NIC can run, what an op asks of it, and why a NIC refuses a program; as
// constants.
//
//   constexpr auto& target = nic::capabilities_of<nic::xdp>;
//   nic::assemble(plan, rank, nic::needs_of<bough::plus, long>, target)
//
// For a target of your own, write a struct with `static constexpr nic::capabilities limits`.
#ifndef BOUGH_NIC_CAPABILITIES_HPP
#define BOUGH_NIC_CAPABILITIES_HPP

#include <bough/concepts/op.hpp>
#include <bough/core/rank.hpp>
#include <bough/nic/machine.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_ops.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI::nic {

// What an element is. `opaque`: any bytes; only the op's own code can combine them.
enum class element : std::uint8_t { int32, uint32, int64, uint64, float32, float64, opaque };
// Ops that atomic units have names for. `own`: every other op.
enum class native : std::uint8_t { sum, min, max, bit_and, bit_or, bit_xor, own };

// A set of elements or of native ops.
template <class E>
struct set_of {
    std::uint32_t bits = 0;
    constexpr bool contains(E e) const noexcept { return (bits >> static_cast<unsigned>(e) & 1u) != 0; }
    friend constexpr bool operator==(const set_of&, const set_of&) = default;
};
// The set of these members of an enumeration.
template <class E, class... Es>
constexpr set_of<E> set(E first, Es... others) noexcept {
    return {((1u << static_cast<unsigned>(first)) | ... | (1u << static_cast<unsigned>(others)))};
}
// The set of all of them.
template <class E>
inline constexpr set_of<E> all_of{~std::uint32_t{0}};

struct capabilities {
    const char* name = "";
    bool shown = false; // does bough run programs on it? If not, the figures are from documents
    std::uint32_t ranks = 0xfffe;
    std::uint32_t steps = 0xfffe;
    std::uint32_t slots = 0xfffe;
    std::uint32_t counters = 0xfffe;
    std::uint32_t inlets = 0xfffe;
    std::uint32_t banks = 256;
    std::uint32_t element_bytes = 0; // the size that every element must have; 0: any
    std::uint32_t message_bytes = 0xffff'ffffu;
    std::uint32_t elements_per_bank = 0xffff'ffffu;
    std::uint32_t memory_bytes = 0xffff'ffffu; // for all banks together
    std::uint32_t sends_per_arrival = 0xffff'ffffu;
    bool multicast = true;
    bool accumulates = true;                    // can it combine a message with a slot as it lands?
    bool floating_point = true;                 // false: it runs only ops that use none
    set_of<element> elements = all_of<element>; // which ones it can combine
    set_of<native> ops = all_of<native>;
    friend constexpr bool operator==(const capabilities&, const capabilities&) = default;
};

// What an op on elements of one type asks of the target that combines them.
struct needs {
    nic::element element = nic::element::opaque;
    std::uint32_t element_bytes = 1;
    nic::native op = nic::native::own;
    bool commutative = false;
    bool exact = false;
    bool integer_only = false;
    friend constexpr bool operator==(const needs&, const needs&) = default;
};

namespace detail {
template <class T>
constexpr element element_of() noexcept {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) == 4)
        return std::is_signed_v<T> ? element::int32 : element::uint32;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
        return std::is_signed_v<T> ? element::int64 : element::uint64;
    else if constexpr (std::is_same_v<T, float>)
        return element::float32;
    else if constexpr (std::is_same_v<T, double>)
        return element::float64;
    else
        return element::opaque;
}
} // namespace detail

// The op of atomic units that O is. Specialise it for an op of yours that gives the same bits as
// one of them, on every type.
template <class O>
inline constexpr native native_of = native::own;
template <>
inline constexpr native native_of<bough::plus> = native::sum;
template <>
inline constexpr native native_of<bough::min> = native::min;
template <>
inline constexpr native native_of<bough::max> = native::max;
template <>
inline constexpr native native_of<bough::bit_and> = native::bit_and;
template <>
inline constexpr native native_of<bough::bit_or> = native::bit_or;
template <>
inline constexpr native native_of<bough::bit_xor> = native::bit_xor;

namespace detail {
// The op of atomic units that O is on T. Minimum and maximum of floating-point numbers are `own`:
// atomic units differ from IEEE 754-2019 on NaN and signed zeros.
template <class O, class T>
inline constexpr native native_on =
    std::is_floating_point_v<T>&& native_of<O> != native::sum ? native::own : native_of<O>;
// soft_plus computes a floating-point sum with integers. On double or float it is the native sum.
// On integer words that hold a double's or float's bits it is not: the native sum would add
// integers.
template <class T>
inline constexpr native native_on<soft_plus<f64_bits>, T> = std::is_same_v<T, double> ? native::sum : native::own;
template <class T>
inline constexpr native native_on<soft_plus<f32_bits>, T> = std::is_same_v<T, float> ? native::sum : native::own;

template <class O, class T>
constexpr needs find_needs() noexcept {
    if constexpr (Op<O, T>) {
        return {element_of<T>(),     sizeof(T),        native_on<O, T>,
                is_commutative_v<O>, is_exact_v<O, T>, is_integer_only_v<O, T>};
    } else {
        static_assert(LiftedOp<O, T>, "bough: needs_of<O, T>: O combines no values of T, and lifts none into states");
        return find_needs<O, typename O::template state_type<T>>();
    }
}
} // namespace detail

// What O on T asks of a target. If the op lifts T into states (exact_sum, limb_sum), it is what the
// states ask: the NIC combines states.
template <class O, class T>
inline constexpr needs needs_of = detail::find_needs<O, T>();
// What a collective that combines nothing asks.
template <class T>
inline constexpr needs moves_of{detail::element_of<T>(), sizeof(T), native::own, true, true, true};

// Why a target cannot run a program.
enum class reason : std::uint8_t {
    none,
    wrong_plan, // sends and receives do not match, or ranks wait for each other in a circle
    ranks,      // more than the target, or 16 bits, can name
    steps,      // this and the next three: more than the target has room for
    slots,
    counters,
    inlets,
    banks,          // not a power of two, or more than there may be
    message,        // a message is longer than one frame
    bank,           // a bank has more elements than the target has room for
    memory,         // the banks are larger than the target's memory
    element_size,   // the target's elements are of another size
    sends,          // one arrival sets more sends free than the target can emit
    element,        // a type that the target cannot combine
    op,             // the target knows a few ops by name, and this is none of them
    floating_point, // the op needs it and the target has none
    exact,          // the ranks would get different bits, since the op is not exact
    // The target cannot combine messages as they land, or the op is inexact or does not commute.
    accumulate,
    commutative,    // the plan does not keep rank order, and the op does not commute
    multicast,      // the target has none
    multicast_plan, // a multicast makes an allreduce of a reduce; another plan was given
    elements,       // a message has more elements than 16 bits can count
};

// Which limit is exceeded, on which rank, and by how much.
struct refusal {
    nic::reason reason = nic::reason::none;
    rank_t rank = no_rank;
    std::uint64_t needed = 0;
    std::uint64_t limit = 0;
    // true: refused.
    constexpr explicit operator bool() const noexcept { return reason != nic::reason::none; }
    friend constexpr bool operator==(const refusal&, const refusal&) = default;
};

// One sentence per reason.
constexpr const char* describe(reason why) noexcept {
    switch (why) {
    case reason::none: return "it fits";
    case reason::wrong_plan: return "the plan is wrong: verify it";
    case reason::ranks: return "more ranks than the target can name";
    case reason::steps: return "more steps than the target has room for";
    case reason::slots: return "more slots than the target has room for";
    case reason::counters: return "more counters than the target has";
    case reason::inlets: return "more incoming messages than the target can tell apart";
    case reason::banks: return "the number of banks is no power of two, or more than the target has";
    case reason::message: return "a message is longer than the target can take: cut the vector into more blocks";
    case reason::bank: return "a bank needs more elements than the target has room for in one";
    case reason::element_size: return "the target has elements of one size, and these are of another";
    case reason::memory: return "the banks need more memory than the target has";
    case reason::sends: return "one arrival sets more messages free than the target can send at once";
    case reason::element: return "the target cannot combine elements of this type";
    case reason::op: return "the target has a few ops, and this is none of them";
    case reason::floating_point:
        return "the op needs floating point, and the target has none: use an op of integers only";
    case reason::exact: return "the ranks would get different bits, since the op is not exact on this type";
    case reason::accumulate:
        return "combining in the order of arrival needs a target that can, and an op that is exact and commutes";
    case reason::commutative: return "the plan does not keep rank order, and the op does not commute";
    case reason::multicast: return "the target has no multicast";
    case reason::multicast_plan: return "a multicast makes an allreduce of a plan for a reduce, and this is none";
    case reason::elements: return "a message has more than 65535 elements: cut the vector into more blocks";
    }
    return "";
}

// --- Targets --------------------------------------------------------------------------------------------------------

// The machine in a process of the host: 16-bit indices are the only limit.
struct host {
    static constexpr capabilities limits{.name = "host", .shown = true};
};
// The machine in virtual time (bough/nic/run/simulated.hpp).
struct simulated {
    static constexpr capabilities limits{.name = "simulated", .shown = true};
};
namespace detail {
// What tools/xdp compiles for the Linux kernel, for XDP and for tc: the sizes of its tables and
// maps. It sums 64-bit words, as integers or, by integer arithmetic, as doubles: the kernel has no
// floating point.
constexpr capabilities in_kernel(const char* name, std::uint32_t sends_per_arrival) noexcept {
    return {.name = name,
            .shown = true,
            .ranks = 16,
            .steps = 64,
            .slots = 64,
            .counters = 64,
            .inlets = 64,
            .banks = 4,
            .element_bytes = 8,
            .message_bytes = 68 * 8,
            .elements_per_bank = 1024,
            .memory_bytes = 4 * 1024 * 8,
            .sends_per_arrival = sends_per_arrival,
            .floating_point = false,
            .elements = set(element::int64, element::uint64, element::float64),
            .ops = set(native::sum)};
}
} // namespace detail
// XDP, in the driver's receive path: one frame comes in, at most one goes out.
struct xdp {
    static constexpr capabilities limits = detail::in_kernel("xdp", 1);
};
// Traffic control at ingress: clones of the frame carry as many messages as steps send.
struct tc {
    static constexpr capabilities limits = detail::in_kernel("tc", 64);
};
// A core like those of programmable NICs: rv64imac or rv32imac, no FPU, a few hundred KiB of scratchpad.
struct riscv {
    static constexpr capabilities limits{
        .name = "riscv", .shown = true, .message_bytes = 4096, .memory_bytes = 262144, .floating_point = false};
};
namespace detail {
// Triggered writes and atomics. A combine is an atomic on the own memory; there is no "store the
// first, then add".
constexpr capabilities triggers(const char* name, std::uint32_t pending, bool shown = false) noexcept {
    return {.name = name,
            .shown = shown,
            .steps = pending,
            .message_bytes = 4096,
            .multicast = false,
            .accumulates = false,
            .elements = set(element::int32, element::uint32, element::int64, element::uint64, element::float32,
                            element::float64),
            .ops = set(native::sum, native::min, native::max, native::bit_and, native::bit_or, native::bit_xor)};
}
} // namespace detail
// libfabric deferred work (bough/nic/triggered.hpp); shown over the provider `sockets`.
struct libfabric_deferred {
    static constexpr capabilities limits = detail::triggers("libfabric_deferred", 0xfffe, true);
};
// libfabric deferred work on Slingshot. The provider's default pool has room for 512 pending
// operations, of which 8 are reserved.
struct cxi {
    static constexpr capabilities limits = detail::triggers("cxi", 504);
};
// Portals 4: triggered puts and atomics.
struct portals4 {
    static constexpr capabilities limits = detail::triggers("portals4", 0xfffe);
};
// BlueField-3's data-path accelerator: event handlers on RISC-V threads. We do not know whether
// they may use floating point, so it is refused.
struct dpa {
    static constexpr capabilities limits{.name = "dpa", .message_bytes = 4096, .floating_point = false};
};
// sPIN handlers on the RV32 cores of PsPIN.
struct pspin {
    static constexpr capabilities limits{
        .name = "pspin", .message_bytes = 2048, .memory_bytes = 262144, .multicast = false, .floating_point = false};
};

template <class Target>
inline constexpr const capabilities& capabilities_of = Target::limits;

} // namespace bough::nic

#endif
