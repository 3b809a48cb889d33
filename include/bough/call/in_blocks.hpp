// SPDX-License-Identifier: BSL-1.0
// run_in_blocks: runs a front door with a BlockwiseOp (bough/op/lift.hpp): encodes the values, combines the
// blocks of all ranks at their owners, decodes the results. Nothing but encoded blocks travels, and each is
// combined once.
#ifndef BOUGH_CALL_IN_BLOCKS_HPP
#define BOUGH_CALL_IN_BLOCKS_HPP

#include <bough/algorithm/by_owner.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/in_series.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/lift.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// A combine_many_function (bough/op/any_op.hpp) on blocks.
template <class O>
void combine_encoded_blocks(const void* state, const std::byte* const* operands, std::size_t size, std::byte* out,
                            std::size_t count) {
    static_cast<const O*>(state)->combine_blocks(operands, size, out, count);
}

// `out` is this rank's result; it may be empty. Pre: root is a rank of the group.
template <class Goal, class T, RunsCalls Comm, class O, class Choice>
requires BlockwiseOp<O, T> status run_in_blocks(Comm& comm, std::span<const T> in, std::span<T> out, rank_t root,
                                                const O& op, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        using block = std::array<std::byte, O::block_bytes>;
        if (const status bad = detail::check_data(in.data(), in.size(), sizeof(T))) return comm.refuse(bad);
        const std::size_t count = O::blocks_of(in.size());
        if (!fits_memory(capped_product(count, sizeof(block))))
            return comm.refuse(size_overflow("data: more bytes than can be addressed"));
        const O& held = comm.hold(op);
        auto&& bytes = comm.template room<std::byte>();
        bytes.resize(count * sizeof(block));
        auto* const blocks = bytes.data();
        const auto encode = [&held, in, blocks] {
            held.encode(in, blocks);
            return status{};
        };
        if (const status bad = comm.before(encode)) return comm.refuse(bad);
        const bool alone = comm.size() == 1;
        typed_call<block> typed{{.size = comm.size(), .root = root}};
        typed.in = typed.out = reinterpret_cast<block*>(blocks);
        typed.count = count;
        typed.signature = detail::signature_of<T>(op, in.size(), root);
        typed.op.state = &held;
        if (!alone) typed.combine_many = &combine_encoded_blocks<O>;
        const auto decode = [&held, blocks, out, alone] {
            if (!out.empty()) held.decode(blocks, out, alone);
        };
        if constexpr (std::same_as<Choice, automatic>) {
            const requirements& needed = choice.required;
            const bool is_its =
                !needed.bracket.claimed() || needed.bracket == bough::algorithm_for<Goal>(by_owner{}).bracket(typed.at);
            if (needed.any_partition || !is_its) {
                status s = invalid_argument("choice: blocks of encoded values have not the bits that are required");
                s.code = errc::unsupported;
                return comm.refuse(s);
            }
            return comm.then(detail::run_choice_in_series<Goal>(comm, typed, by_owner{}), decode);
        } else {
            if (!detail::chosen_in_series<Goal>(choice))
                return comm.refuse(invalid_argument(
                    "choice: this op combines what all ranks hold at once, so it needs by_owner{} or automatic{}"));
            return comm.then(detail::run_choice_in_series<Goal>(comm, typed, choice), decode);
        }
    });
}

} // namespace bough::detail

#endif
