// SPDX-License-Identifier: BSL-1.0
// A type that is not plain bytes brings its own wire form: a fixed size, and how it is encoded and decoded.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

struct score {
    std::string name; // not trivially copyable: it points elsewhere
    int points = 0;
};

template <>
struct bough::wire<score> {
    static constexpr std::size_t size = 20; // 16 characters of the name, 4 bytes of points
    static void encode(const score& s, std::span<std::byte, size> out) {
        std::fill(out.begin(), out.end(), std::byte{0});
        std::transform(s.name.begin(), s.name.begin() + static_cast<long>(std::min<std::size_t>(s.name.size(), 16)),
                       out.begin(), [](char c) { return static_cast<std::byte>(c); });
        bough::wire<int>::encode(s.points, out.last<4>());
    }
    static score decode(std::span<const std::byte, size> in) {
        score s;
        s.points = bough::wire<int>::decode(in.last<4>());
        for (std::size_t i = 0; i != 16 && in[i] != std::byte{0}; ++i) s.name += static_cast<char>(in[i]);
        return s;
    }
};

// The better score; of equals the one of the lower rank.
struct better {
    score operator()(const score& lower, const score& upper) const {
        return upper.points > lower.points ? upper : lower;
    }
};

int main() {
    const char* const names[] = {"Ada", "Blaise", "Charles", "Dorothy", "Edsger"};
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        score best{names[comm.rank()], static_cast<int>(comm.rank() * 7 % 5)};
        bough::allreduce(comm, std::span(&best, 1), better{});
        if (comm.rank() == 2) std::printf("%s wins with %d points\n", best.name.c_str(), best.points);
    });
}
