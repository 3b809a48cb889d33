// SPDX-License-Identifier: BSL-1.0
// What a program that computes with narrow numbers instantiates: loops that are marked for the vector
// unit.
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>

#include <cstddef>
#include <vector>

int main() {
    const std::vector<bough::bf16> x(1000, bough::bf16{1.5f});
    std::vector<bough::bf16> y(1000);
    bough::combine(bough::plus{}, x.data(), y.data(), y.data(), y.size());
    const auto bytes_of = [](const std::vector<bough::bf16>& v) {
        return reinterpret_cast<const std::byte*>(v.data());
    };
    const std::byte* both[] = {bytes_of(x), bytes_of(y)};
    std::vector<std::byte> sums(2 * x.size());
    bough::rounded_once<>{}.combine_many<bough::bf16>(both, 2, sums.data(), x.size());
    const bough::int8_blocks<> blocks;
    float values[256] = {};
    std::byte bytes[260];
    blocks.encode(values, bytes);
    blocks.decode(bytes, values);
    blocks.add(bytes, values);
    return y[0] == 1.5f && values[0] == 0 ? 0 : 1;
}
