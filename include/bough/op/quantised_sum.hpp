// SPDX-License-Identifier: BSL-1.0
// quantised_sum: sums of floats that travel as blocks of small integers, each block with a scale: about a
// quarter of the bytes, for an error that is bounded.
//
//   allreduce(comm, std::span(gradient), quantised_sum<>{});                    260 bytes for 256 floats
//   allreduce(comm, std::span(gradient), quantised_sum<>{.after = 0.25f});      the average of four ranks
//   reduce(comm, std::span(x), quantised_sum<int8_blocks<64>>{}, root{0});      68 bytes for 64
//   start_allreduce(comm, std::span(x), quantised_sum<my_codec>{});             blocks of your own
//
// Each rank encodes its vector once. A block's owner decodes the contributions of all ranks, adds them up in
// float in the order of the ranks, multiplies by `after`, and encodes the result once (by_owner). So what a
// value goes through does not depend on the number of ranks: two roundings to a code.
//
// Error        with int8_blocks, of an element of a sum (after = 1): at most (m0 + m1 + ... + M) / 253, and
//              what float loses in p - 1 additions. m_r is the largest magnitude in the element's block on
//              rank r, M the largest of the block's sums. For each of them that is below 2^-126 there are
//              2^-135 more. A block that has a NaN or an infinity on some rank, or a sum that overflows,
//              becomes NaN on all; sums are made before `after` is applied
// Agreement    the codec and `after` are equal on all ranks, and the counts
// Determinism  the bits depend on the ranks, and on the place of an element modulo the block; they are the
//              same on all ranks, on every processor
// Plan         automatic{} takes by_owner{}. A plan or an algorithm that does not combine in series is refused
//              (invalid_argument)
// Source       block-wise scales: Dettmers et al., "8-bit Optimizers via Block-wise Quantization", ICLR 2022,
//              section 2.1, here for integers without a table
#ifndef BOUGH_OP_QUANTISED_SUM_HPP
#define BOUGH_OP_QUANTISED_SUM_HPP

#include <bough/core/config.hpp>
#include <bough/op/detail/int8_blocks.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/traits.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// How a block of `values` floats travels: as `bytes` bytes. decode(encode(x)) is near x; how near is the
// codec's promise. A last block that is not full is filled up with zeros. Bytes lie at any address, floats at
// those of a float. Optional: codec.add(from, sums) adds what decode() gives; codec.hash_of_values(), if it
// holds numbers that must be equal on all ranks. None of them throws. At most 65536 values: some blocks of
// floats lie on the stack.
template <class C>
concept BlockCodec = std::copy_constructible<C> &&
    requires(const C& codec, const float* values, float* decoded, std::byte* to, const std::byte* from) {
    requires C::values >= 1 && C::values <= 65536 && C::bytes >= 1;
    { codec.encode(values, to) }
    noexcept;
    { codec.decode(from, decoded) }
    noexcept;
};

// A float as the scale, then one signed byte for each value: the nearest multiple of the scale, which is the
// least with 16 significant bits that keeps the codes within -127 to 127.
// Error: at most half a scale, so 1 / 253 of the largest magnitude of the block; 2^-135 more where that is
// below 2^-126.
template <std::size_t Values = 256>
requires(Values % 16 == 0) struct int8_blocks {
    static constexpr std::size_t values = Values, bytes = sizeof(float) + Values;

    void encode(const float* from, std::byte* to) const noexcept {
        kernels().encode(reinterpret_cast<const std::byte*>(from), to);
    }
    void decode(const std::byte* from, float* to) const noexcept {
        kernels().decode(from, reinterpret_cast<std::byte*>(to));
    }
    // Adds what decode() gives.
    void add(const std::byte* from, float* sums) const noexcept {
        kernels().add(from, reinterpret_cast<std::byte*>(sums));
    }
    friend constexpr bool operator==(const int8_blocks&, const int8_blocks&) = default;

private:
    using block = detail::int8_block<Values>;
    static const typename block::kernels& kernels() noexcept {
        static const typename block::kernels best = block::kernels_for(detail::best_vector_unit());
        return best;
    }
};

template <BlockCodec Codec = int8_blocks<>>
struct quantised_sum {
    static constexpr std::size_t block_values = Codec::values, block_bytes = Codec::bytes;

    [[no_unique_address]] Codec codec{};
    float after = 1;

    // --- for a front door (bough/call/in_blocks.hpp) ---

    static constexpr std::size_t blocks_of(std::size_t count) noexcept {
        return count / block_values + (count % block_values != 0 ? 1 : 0);
    }
    void encode(std::span<const float> from, std::byte* to) const noexcept {
        for (; from.size() >= block_values; from = from.subspan(block_values), to += block_bytes)
            codec.encode(from.data(), to);
        if (from.empty()) return;
        alignas(64) float last[block_values] = {};
        __builtin_memcpy(last, from.data(), from.size_bytes());
        codec.encode(last, to);
    }
    // `alone`: nothing was combined, so nothing is scaled yet.
    void decode(const std::byte* from, std::span<float> to, bool alone) const noexcept {
        alignas(64) float made[block_values];
        while (!to.empty()) {
            const std::size_t n = to.size() < block_values ? to.size() : block_values;
            codec.decode(from, made);
            if (alone) scale(made);
            __builtin_memcpy(to.data(), made, n * sizeof(float));
            to = to.subspan(n);
            from += block_bytes;
        }
    }
    // The sums of `count` blocks that `size` ranks contribute. `out` may be one of the operands.
    void combine_blocks(const std::byte* const* operands, std::size_t size, std::byte* out,
                        std::size_t count) const noexcept {
        alignas(64) float sums[block_values];
        for (std::size_t at = 0; at != count * block_bytes; at += block_bytes) {
            codec.decode(operands[0] + at, sums);
            for (std::size_t k = 1; k != size; ++k) add(operands[k] + at, sums);
            scale(sums);
            codec.encode(sums, out + at);
        }
    }
    // Where owners scale the values of others, ranks whose `after` differs make different calls.
    constexpr std::uint64_t hash_of_values() const noexcept {
        const std::uint64_t mine = std::bit_cast<std::uint32_t>(after);
        if constexpr (requires { codec.hash_of_values(); })
            return detail::mix_hash(mine, codec.hash_of_values());
        else
            return mine;
    }
    friend constexpr bool operator==(const quantised_sum&, const quantised_sum&) = default;

private:
    void add(const std::byte* from, float* sums) const noexcept {
        if constexpr (requires {
                          { codec.add(from, sums) }
                          noexcept;
                      }) {
            codec.add(from, sums);
        } else {
            alignas(64) float next[block_values];
            codec.decode(from, next);
            for (std::size_t i = 0; i != block_values; ++i) sums[i] += next[i];
        }
    }
    void scale(float* values) const noexcept {
        if (after == 1) return;
        for (std::size_t i = 0; i != block_values; ++i) values[i] *= after;
    }
};

template <class Codec>
inline constexpr bool is_commutative_v<quantised_sum<Codec>> = true;

namespace detail {
template <class Codec>
struct named_op<quantised_sum<Codec>> {
    static std::uint64_t identity() noexcept {
        return mix_hash(hash_name("bough.quantised_sum"), op_identity<Codec>());
    }
};
} // namespace detail

} // namespace bough

#endif
