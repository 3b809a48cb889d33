// SPDX-License-Identifier: BSL-1.0
// A sender is stopped or killed in the middle of a long message, while its takers wait for other messages, too: every
// other rank ends with its deadline or the death, and names it. What the takers gave as memory is theirs again, also
// when the sender goes on later. The sender strikes itself, once a taker has got the first bytes.
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr rank_t ranks = 4;
constexpr std::size_t block = std::size_t{4} << 20; // far more than is under way between two ranks at a time
constexpr std::byte sent{7};

// Which ranks of the emulated and the composite transport share memory, their long messages go in pieces: whoever
// reads the memory of another process needs no sender that runs.
struct pieces_link {
    static constexpr const char* name = "shared_memory in pieces";
    static auto join(auto& wire) { return shared_memory(wire, {.direct_reads = false}); }
};
struct composite_pieces_link {
    static constexpr const char* name = "composite";
    static auto join(auto& wire) {
        return make_composite(
            wire, {.node = wire.rank() < wire.size() / 2 ? "left" : "right", .inside = {.direct_reads = false}});
    }
};
struct emulated_pieces_link {
    static constexpr const char* name = "emulated";
    static auto join(auto& wire) {
        return emulated(shared_memory(wire, {.direct_reads = false}),
                        {.latency_ns = 20'000, .ns_per_byte = 0.1, .jitter_ns = 10'000});
    }
};

// What all processes see: the results of all ranks, and when the sender began its call and was struck (0: not yet).
struct board {
    std::atomic<std::uint64_t> begun_ns{0}, struck_ns{0};
    std::byte out[ranks][ranks * block];

    // Was the sender struck too late, or never? Shortly before their deadline the ranks look for who holds them up, and a
    // sender that is struck then may have answered before.
    bool is_late(std::uint64_t timeout_ns) const { return struck_ns == 0 || struck_ns - begun_ns > timeout_ns / 2; }
    // Has a rank got the beginning of this sender's message? Atomic, as its process writes there.
    bool has_begun(rank_t sender) const {
        for (rank_t r = 0; r != ranks; ++r) {
            const auto* const first = reinterpret_cast<const unsigned char*>(out[r] + sender * block);
            if (r != sender && __atomic_load_n(first, __ATOMIC_RELAXED) != 0) return true;
        }
        return false;
    }
    // Has one got the beginning, and not the end?
    bool is_cut(rank_t sender) const {
        for (rank_t r = 0; r != ranks; ++r) {
            const std::byte* const from = out[r] + sender * block;
            if (r != sender && from[0] == sent && from[block - 1] == std::byte{0}) return true;
        }
        return false;
    }
};
class shared_board {
public:
    shared_board()
        : at_(new (::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board) {}
    shared_board(const shared_board&) = delete;
    shared_board& operator=(const shared_board&) = delete;
    ~shared_board() { ::munmap(at_, sizeof(board)); }
    board* operator->() const { return at_; }
    board& operator*() const { return *at_; }

private:
    board* at_;
};

// Strikes its own process when a taker has got the first bytes.
template <Transport T>
class striking : public forwarding_transport<T> {
public:
    striking(T inner, board& all, int signal)
        : forwarding_transport<T>(std::move(inner)), board_(all), signal_(signal) {}
    std::size_t poll(std::span<event> events) {
        if (signal_ != 0 && board_.has_begun(this->rank())) {
            board_.struck_ns = clock_ns();
            ::raise(std::exchange(signal_, 0));
        }
        return this->inner_.poll(events);
    }

private:
    board& board_;
    int signal_; // 0: this rank is not the one, or has been struck
};

// Phases of a rank: 1 its call has ended, and its memory has other contents; 2 the test has seen that and resumed the
// sender; 3 it has looked at its memory again. 9: its barrier before the call did not end in time.
template <class Link>
void run_rank(auto& wire, report& told, board& all, rank_t sender, int signal, std::uint64_t timeout_ns) {
    const rank_t me = wire.rank();
    communicator comm{striking(Link::join(wire), all, me == sender ? signal : 0), {.timeout_ns = timeout_ns}};
    status s;
    barrier(comm, s);
    if (s) {
        told.phase = 9;
        return;
    }
    const std::vector<std::byte> in(ranks * block, sent);
    const std::span<std::byte> out(all.out[me]);
    if (me == sender) all.begun_ns = clock_ns();
    alltoall(comm, std::span<const std::byte>(in), out, pairwise_alltoall{}, s);
    told.result = s;
    const bool is_taker = me != sender;
    told.numbers[0] = is_taker && all.is_cut(sender);
    if (is_taker) std::fill(out.begin(), out.end(), std::byte{99});
    told.phase = 1;
    while (told.phase != 2) comm.progress();
    for (int i = 0; i != 1'000; ++i) comm.progress();
    if (is_taker) told.check(std::count(out.begin(), out.end(), std::byte{99}) == std::ssize(out));
    told.phase = 3;
    while (told.phase != 4) comm.progress(); // others may still ask it
}

// Returns what was wrong, or nothing. `is_late`: the machine was too busy for what this test is about, so nothing is.
template <class Link>
std::string strike_one(rank_t sender, int signal, std::uint64_t timeout_ns, bool& is_late) {
    const shared_board all;
    processes group(ranks,
                    [&](auto& wire, report& told) { run_rank<Link>(wire, told, *all, sender, signal, timeout_ns); });
    const std::uint64_t last = clock_ns() + 120'000 * ms;
    const auto wait_for = [&](rank_t r, std::uint32_t phase) {
        while (group.of(r).phase < phase && clock_ns() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return group.of(r).phase >= phase;
    };
    std::string wrong;
    bool is_cut = false;
    for (rank_t r = 0; r != ranks; ++r) {
        if (r == sender) continue;
        const bool ends = wait_for(r, 1);
        is_late = all->is_late(timeout_ns);
        if (!ends) return "rank " + std::to_string(r) + " does not end";
        if (group.of(r).phase == 9) {
            is_late = true;
            return {};
        }
        is_cut |= group.of(r).numbers[0] != 0;
        const status& s = group.of(r).result;
        const bool names_death = (s.code == errc::peer_dead || s.cause == errc::peer_dead) && s.peer == sender;
        if (signal == SIGKILL ? !names_death : !is_deadline(s) || !is_missing(s, sender))
            wrong += "rank " + std::to_string(r) + " says: " + message_of(s) + "\n";
    }
    if (is_late) return {};
    if (!is_cut) wrong += "the message was not in the middle\n";
    if (signal == SIGSTOP) {
        group.kill(sender, SIGCONT);
        if (!wait_for(sender, 1)) return wrong + "the sender does not end";
        if (!group.of(sender).result) wrong += "the sender ends well\n";
    }
    for (const std::uint32_t phase : {2u, 4u})
        for (rank_t r = 0; r != ranks; ++r) {
            if (signal == SIGKILL && r == sender) continue;
            if (phase == 4 && !wait_for(r, 3)) return wrong + "rank " + std::to_string(r) + " does not look again";
            if (phase == 4 && group.of(r).wrong != 0)
                wrong += "rank " + std::to_string(r) + ": its memory was written after its call\n";
            group.of(r).phase = phase;
        }
    group.wait();
    return wrong;
}
template <class Link>
void strike_each(Link) {
    for (const int signal : {SIGSTOP, SIGKILL})
        for (const rank_t sender : {0u, 2u}) {
            CAPTURE(Link::name, signal, sender);
            bool is_late = true;
            std::string wrong;
            for (std::uint64_t timeout_ns = 1'500 * ms; is_late && wrong.empty() && timeout_ns < 100'000 * ms;
                 timeout_ns *= 4)
                wrong = strike_one<Link>(sender, signal, timeout_ns, is_late);
            CHECK(wrong == "");
            CHECK_FALSE(is_late);
        }
}

} // namespace

TEST_CASE("processes: a sender stops or dies in the middle of a long message over tcp") {
    strike_each(bough_test::tcp_link{});
}
TEST_CASE("processes: a sender stops or dies in the middle of a long message over shared memory in pieces") {
    strike_each(pieces_link{});
}
TEST_CASE("processes: a sender stops or dies in the middle of a long message over a composite transport") {
    strike_each(composite_pieces_link{});
}
TEST_CASE("processes: a sender stops or dies in the middle of a long message over an emulated cluster") {
    strike_each(emulated_pieces_link{});
}
