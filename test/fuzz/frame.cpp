// SPDX-License-Identifier: BSL-1.0
// Fuzzer of the frame decoder, and of the whole incoming side of a connection: the input is what an authenticated peer
// writes. It must be refused or mean one thing, and whatever it is, memory stays under its cap.
#include "fuzz/fuzz.hpp"
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/incoming.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <array>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

void decoder(std::span<const std::byte> input) {
    if (input.size() < frame_header_bytes) return;
    frame_header header{};
    std::copy_n(input.begin(), header.size(), header.begin());
    frame f;
    if (decode_frame(header, wire_layout::little(std::bit_cast<wire_layout::header>(header)).sequence, f) !=
        frame_fault::none)
        return;
    fuzz_check(encode_frame(f) == header);
    fuzz_check(f.bytes <= most_frame_bytes);
    fuzz_check((frame_header_bytes + f.bytes + frame_tail_bytes(f.kind, f.bytes)) % frame_alignment == 0);
}

// The first byte chooses how the arrivals are used.
void connection(std::span<const std::byte> input) {
    if (input.empty()) return;
    auto choice = std::to_integer<unsigned>(input[0]);
    input = input.subspan(1);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    static boost::asio::io_context io{1};
    tcp_stream::socket_type socket(io);
    boost::system::error_code error;
    socket.assign({AF_UNIX, 0}, ends[0], error);
    socket.non_blocking(true, error);
    tcp_stream stream(std::move(socket));
    constexpr std::uint64_t cap = 256 << 10;
    // What it may hold: short messages in the window, long ones in the cap, and one on the socket.
    constexpr std::size_t most_held = cap / frame_header_bytes + cap / most_short_bytes + 1;
    static const auto memory = std::make_unique<tcp_memory>(cap);
    {
        tcp_incoming in(*memory, 1, cap, cap);
        due_events done;
        std::vector<std::vector<std::byte>> taken;
        std::vector<std::uint64_t> kept;
        std::size_t arrived = 0;
        for (int turn = 0; turn != 1000 && !in.ended(); ++turn) {
            const std::size_t some = std::min<std::size_t>(input.size(), 1 + (choice >> 4) * 97);
            if (some != 0 && ::send(ends[1], input.data(), some, MSG_DONTWAIT) < 0) break;
            input = input.subspan(some);
            if (input.empty() && turn > 24) ::shutdown(ends[1], SHUT_WR);
            std::array<event, 4> events;
            bool moved = false;
            const std::size_t found = in.poll(stream, std::span(events).first(1 + choice % 4), done, moved);
            for (std::size_t i = 0; i != found; ++i) {
                const event& e = events[i];
                ++arrived;
                fuzz_check(e.bytes <= most_frame_bytes);
                if (e.data != nullptr) { // all of it can be read
                    unsigned sum = 0;
                    for (std::size_t k = 0; k != e.bytes; ++k) sum += std::to_integer<unsigned>(e.data[k]);
                    fuzz_check(sum <= 255 * e.bytes);
                }
                choice = choice * 5 + 1;
                if (choice % 3 == 0 && in.is_stream(e.id) && e.bytes < 1'000'000) {
                    taken.emplace_back(static_cast<std::size_t>(e.bytes));
                    if (in.take(stream, taken.back(), arrived) == posted::failed) memory->remove(e.id);
                } else if (choice % 3 == 1) {
                    kept.push_back(e.id);
                } else if (in.is_stream(e.id)) {
                    in.release();
                } else {
                    memory->remove(e.id);
                }
            }
            fuzz_check(memory->used() <= 2 * cap); // the window bounds short messages for which the cap has no chunk
            fuzz_check(memory->arrivals() <= most_held);
            if (in.window().owes_credit() && choice % 2 != 0) in.window().credit_given();
        }
        in.drop(done);
        for (const std::uint64_t handle : kept) memory->remove(handle);
    }
    fuzz_check(memory->used() == 0 && memory->arrivals() == 0); // nothing is forgotten
    ::close(ends[1]);
}

} // namespace

void fuzz_one(std::span<const std::byte> input) {
    decoder(input);
    connection(input);
}
