// SPDX-License-Identifier: BSL-1.0
// The parts of the library that share memory without locks, run in all ways that weak memory order has
// for them within bounds; and each memory order that they ask for, weakened: it must be missed.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "weak_memory/explore.hpp"
#include <bough/core/remote_words.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/os/bell.hpp>
#include <bough/session/late_places.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/in_process/ring.hpp>
#include <bough/transport/segment/sleep.hpp>
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace bough;
using detail::late_places;
using weak_memory::demand;
using weak_memory::idle;

std::byte byte_of(std::size_t message, std::size_t i) { return static_cast<std::byte>(message * 31 + i + 1); }
template <std::size_t N>
struct message {
    std::array<std::byte, N> bytes;
    explicit message(std::size_t number) {
        for (std::size_t i = 0; i != N; ++i) bytes[i] = byte_of(number, i);
    }
};
void demand_message(std::span<const std::byte> got, std::size_t number) {
    for (std::size_t i = 0; i != got.size(); ++i) demand(got[i] == byte_of(number, i), "a message has other bytes");
}
envelope tag_of(std::size_t number) { return {.operation = static_cast<std::uint32_t>(number)}; }

// --- the ring of in_process ---

// Five messages through two slots: in the slot, beside it, and in the sender's memory, which the sender
// writes again when it is told that it may.
struct ring_of_threads : weak_memory::program {
    detail::in_process_ring ring{0, 1, 2, 128};
    message<16> in_line{0}, again{3}, last{4};
    message<96> copied{1};
    message<144> lent{2};

    unsigned threads() const override { return 2; }
    void run(unsigned thread) override { thread == 0 ? send() : receive(); }
    void send() {
        const std::span<const std::byte> all[] = {in_line.bytes, copied.bytes, lent.bytes, again.bytes, last.bytes};
        for (std::size_t i = 0; i != 5; ++i)
            while (ring.push(tag_of(i), all[i], i) == posted::would_block) wait_for_an_end();
        while (ring.has_open()) wait_for_an_end();
    }
    void wait_for_an_end() {
        event e[2];
        if (ring.acknowledged(e) == 0) {
            if (!ring.has_news()) idle();
            return;
        }
        demand(e[0].code == errc::ok && e[0].id == 2, "another message has ended");
        lent.bytes.fill(std::byte{0xff});
    }
    void receive() {
        std::byte into[144];
        for (std::size_t i = 0; i != 5; ++i) {
            event e{};
            while (!ring.peek(e)) idle();
            demand(e.envelope == tag_of(i), "another envelope");
            const std::size_t bytes[] = {16, 96, 144, 16, 16};
            demand(e.bytes == bytes[i], "another length");
            demand(detail::in_process_ring::of(e.id)->take(e.id, std::span(into, bytes[i])), "a message is not there");
            demand_message(std::span(into, bytes[i]), i);
        }
    }
};

// The sender takes a long message back while the receiver takes it.
struct ring_taken_back : weak_memory::program {
    detail::in_process_ring ring{0, 1, 2, 64};
    message<144> lent{0};
    std::atomic<std::uint32_t> gone{0};
    bool leaves = false, taken = false;
    std::optional<errc> ended;

    explicit ring_taken_back(bool goes_away) : leaves(goes_away) {}
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            (void)ring.push(tag_of(0), lent.bytes, 7);
            if (leaves) {
                ring.cancel_all(gone);
            } else {
                ring.cancel(7);
                event e[1];
                while (ring.acknowledged(e) == 0) idle();
                ended = e[0].code;
            }
            lent.bytes.fill(std::byte{0xff});
        } else {
            event e{};
            while (!ring.peek(e)) idle();
            std::byte into[144];
            taken = ring.take(e.id, into);
            if (taken) demand_message(into, 0);
        }
    }
    void check() override { demand_end(); }
    void demand_end() const { CHECK((leaves || (ended == errc::ok) == taken)); }
};

// The receiver takes it, and the sender looks for the end.
struct ring_taken : weak_memory::program {
    detail::in_process_ring ring{0, 1, 2, 64};
    message<144> lent{0};
    std::optional<errc> ended;

    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            (void)ring.push(tag_of(0), lent.bytes, 7);
            event e[1];
            while (ring.acknowledged(e) == 0) idle();
            ended = e[0].code;
        } else {
            event e{};
            while (!ring.peek(e)) idle();
            std::byte into[144];
            (void)ring.take(e.id, into);
        }
    }
    void check() override { CHECK(ended == errc::ok); }
};

// --- in_process as a whole ---

// Rank 0 sends a short message and a long one, and leaves when they have ended, or at once; or the
// receiver does.
struct departure : weak_memory::program {
    enum class who : std::uint8_t { sender_after_all, sender_at_once, receiver_at_once };
    who leaves;
    in_process world{2, {.slots = 2, .eager_bytes = 64, .cores = 2}};
    std::array<std::optional<in_process::endpoint>, 2> ends;
    message<16> brief{0};
    message<144> lent{1};
    int came = 0, took = 0;
    bool is_lost = false;
    std::optional<errc> ended;

    explicit departure(who first) : leaves(first) {
        for (rank_t r = 0; r != 2; ++r) ends[r].emplace(world.connect(r));
    }
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        thread == 0 ? send(*ends[0]) : receive(*ends[1]);
        ends[thread].reset();
        if (thread == 0) lent.bytes.fill(std::byte{0xff}); // nobody reads it any more
    }
    void send(in_process::endpoint& end) {
        bool fails = end.post_send(1, tag_of(0), brief.bytes, 0) != posted::complete;
        fails = fails || end.post_send(1, tag_of(1), lent.bytes, 1) != posted::pending;
        demand(!fails || leaves == who::receiver_at_once, "a message is refused");
        for (event e[2]; !fails && !ended && leaves != who::sender_at_once;) {
            const std::size_t n = end.poll(e);
            for (std::size_t i = 0; i != n; ++i)
                if (e[i].what == event::kind::complete) ended = e[i].code;
            if (n == 0) idle();
        }
    }
    void receive(in_process::endpoint& end) {
        std::byte into[144];
        for (event e[1]; !is_lost && leaves != who::receiver_at_once;) {
            if (end.poll(e) == 0) {
                idle();
            } else if (e[0].what == event::kind::lost) {
                is_lost = true;
            } else {
                demand(e[0].envelope == tag_of(static_cast<std::size_t>(came)), "another message");
                const std::size_t bytes = came == 0 ? 16 : 144;
                if (end.take(e[0].id, std::span(into, bytes), 0) == posted::complete) {
                    demand_message(std::span(into, bytes), static_cast<std::size_t>(came));
                    ++took;
                }
                ++came;
            }
        }
    }
    void check() override {
        CHECK(came == (leaves == who::receiver_at_once ? 0 : 2));
        if (leaves == who::sender_after_all) CHECK((took == 2 && ended == errc::ok));
        if (leaves == who::sender_at_once) CHECK(took >= 1);
        if (leaves == who::receiver_at_once) CHECK((!ended || *ended == errc::peer_dead));
    }
};

// --- the ring of shared_memory ---

struct ring_of_processes : weak_memory::program {
    struct line {
        alignas(64) std::byte bytes[64];
    };
    detail::segment_layout layout{.ranks = 2, .slots = 2, .area_bytes = 256, .piece_bytes = 64};
    std::vector<line> memory;
    detail::ring_view view;
    detail::shared_sender sender;
    detail::shared_receiver receiver;
    message<16> in_line{0}, again{3};
    message<96> copied{1};
    message<320> lent{2};
    std::vector<std::byte> heap;

    ring_of_processes() : memory(layout.ring_bytes() / 64 + 1), heap(384) {
        view = detail::ring_view::at(reinterpret_cast<std::byte*>(memory.data()), layout);
        new (static_cast<void*>(view.head)) detail::ring_head;
        for (std::uint32_t i = 0; i != layout.slots; ++i) new (&view.slots[i]) detail::slot;
        sender = detail::shared_sender(view, 128);
        receiver = detail::shared_receiver(view, heap, false);
    }
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override { thread == 0 ? send() : receive(); }
    virtual void send_long() = 0;
    virtual void receive_long(const event& e, std::span<std::byte> into) = 0;

    void send() {
        sender.open();
        while (!sender.push(tag_of(0), in_line.bytes)) wait_for_an_end();
        while (!sender.push(tag_of(1), copied.bytes)) wait_for_an_end();
        send_long();
        while (!sender.push(tag_of(3), again.bytes)) wait_for_an_end();
        while (sender.has_open()) wait_for_an_end();
    }
    void wait_for_an_end() {
        event e[2];
        if (sender.acknowledged(1, e) != 0) {
            demand(e[0].code == errc::ok && e[0].id == 2, "another message has ended");
            lent.bytes.fill(std::byte{0xff});
            std::fill(heap.begin(), heap.end(), std::byte{0xff});
        } else if (!sender.stage() && !sender.has_news()) {
            idle();
        }
    }
    void receive() {
        std::byte into[320];
        while (!receiver.is_opened()) idle();
        for (std::size_t i = 0; i != 4; ++i) {
            event e{};
            while (!receiver.peek(e, 0, 0)) idle();
            demand(e.envelope == tag_of(i), "another envelope");
            const std::size_t bytes[] = {16, 96, 320, 16};
            demand(e.bytes == bytes[i], "another length");
            const auto index = static_cast<std::uint32_t>(e.id);
            if (i == 2) {
                receive_long(e, into);
                demand(receiver.give_back(index), "taken back");
            } else {
                std::memcpy(into, e.data, bytes[i]);
            }
            demand_message(std::span(into, bytes[i]), i);
            receiver.release(index);
        }
        demand(!receiver.broken(), "the ring is broken");
    }
};
struct read_in_place : ring_of_processes {
    void send_long() override {
        std::memcpy(heap.data() + 16, lent.bytes.data(), 320);
        while (
            !sender.push_long(tag_of(2), std::span<const std::byte>(heap).subspan(16, 320), 2, detail::in_segment, 16))
            wait_for_an_end();
    }
    void receive_long(const event& e, std::span<std::byte> into) override {
        demand(receiver.claim(static_cast<std::uint32_t>(e.id)), "not lent");
        std::memcpy(into.data(), e.data, 320);
    }
};
struct staged : ring_of_processes {
    void send_long() override {
        while (!sender.push_long(tag_of(2), lent.bytes, 2, detail::to_be_staged, 0)) wait_for_an_end();
    }
    void receive_long(const event& e, std::span<std::byte> into) override {
        demand(receiver.want(static_cast<std::uint32_t>(e.id)), "not lent");
        for (std::size_t done = 0; done != 320;) {
            detail::shared_receiver::piece p;
            if (!receiver.next_piece(p)) {
                idle();
                continue;
            }
            demand(p.bytes.size() <= 320 - done, "a piece too many");
            std::memcpy(into.data() + done, p.bytes.data(), p.bytes.size());
            done += p.bytes.size();
            receiver.used_piece();
        }
    }
};

// --- late places, and what is put into regions ---

struct late_calls : weak_memory::program {
    struct alignas(64) line {
        std::byte bytes[64];
    };
    rank_t ranks, root;
    std::uint64_t operations, ahead;
    std::array<std::atomic<std::uint32_t>, weak_memory::most_threads> told{}; // that a bank is free
    std::vector<line> memory;
    std::vector<late_places> places;

    // A rank starts up to `most` calls before it reads the first result. to: no_rank: all read it.
    late_calls(rank_t size, rank_t to, std::uint64_t calls, std::uint64_t most)
        : ranks(size), root(to), operations(calls), ahead(most), memory(late_places::bytes(size, 64) / 64 + 1) {
        for (rank_t r = 0; r != size; ++r)
            places.emplace_back(reinterpret_cast<std::byte*>(memory.data()), size, r, 64, std::vector<rank_t>{});
    }
    unsigned threads() const override { return ranks; }
    void run(unsigned thread) override {
        late_places& mine = places[thread];
        const bool reads = root == no_rank || root == thread;
        for (std::uint64_t in = 0, out = 0; out != operations;) {
            if (in != operations && in - out != ahead && is_turn(mine, in)) {
                contribute(mine, in++);
            } else if (in != out && !reads) {
                ++out;
            } else if (in != out && mine.is_done(out)) {
                read(mine, out++);
            } else {
                idle();
            }
        }
    }
    bool is_turn(late_places& mine, std::uint64_t k) {
        std::atomic<std::uint32_t>& is_told = told[mine.rank()];
        if (asked[mine.rank()] && is_told.exchange(0, std::memory_order_relaxed) == 0) return false; // it will be
        asked[mine.rank()] = !mine.is_turn(k);
        return !asked[mine.rank()];
    }
    void contribute(late_places& mine, std::uint64_t k) {
        const std::uint64_t value = 1 + mine.rank() + 10 * k;
        rank_t peer = 0;
        const auto add = [](const std::byte* a, const std::byte* b, std::byte* out) {
            std::uint64_t x = 0, y = 0;
            std::memcpy(&x, a, 8);
            std::memcpy(&y, b, 8);
            x += y;
            std::memcpy(out, &x, 8);
        };
        const auto came = mine.contribute(k, {.count = 1}, static_cast<std::uint32_t>(k),
                                          std::as_bytes(std::span(&value, 1)), peer, add);
        demand(came != late_places::outcome::mismatch, "the calls differ");
    }
    void read(late_places& mine, std::uint64_t k) {
        std::uint64_t sum = 0;
        std::memcpy(&sum, mine.result(k), 8);
        demand(sum == ranks * (ranks + 1) / 2 + 10 * k * ranks, "another sum");
        if (!mine.release(k, root == no_rank ? ranks : 1)) return;
        for (rank_t r = 0; r != ranks; ++r)
            if (mine.wants_turn(r)) told[r].store(1, std::memory_order_release);
    }

private:
    std::array<bool, weak_memory::most_threads> asked{}; // of each thread alone
};

// Two ranks put into each other's memory in turns: the word at the end says that all is there.
struct puts : weak_memory::program {
    alignas(64) std::array<std::array<std::byte, 64>, 2> region{};
    std::size_t bytes;

    explicit puts(std::size_t length) : bytes(length) {}
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        for (std::uint64_t turn = 1; turn != 4; ++turn) {
            if (thread == 1) wait_for(1, turn);
            std::array<std::byte, 64> from{};
            for (std::size_t i = 0; i != bytes; ++i) from[i] = byte_of(turn, i);
            std::memcpy(from.data() + bytes, &turn, 8);
            remote_words::land(region[1 - thread].data(), std::span(from).first(bytes),
                               std::span(from).subspan(bytes, 8));
            if (thread == 0) wait_for(0, turn);
        }
    }
    void wait_for(std::size_t me, std::uint64_t turn) {
        while (remote_words::read(region[me].data() + bytes) != turn) idle();
        demand_message(std::span(region[me]).first(bytes), turn);
    }
};

// --- sleep ---

// As shared_links::nudge (bough/transport/shared_memory/links.hpp).
struct sleeper : weak_memory::program {
    std::atomic<std::uint32_t> word{0}, news{0};

    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        for (std::uint32_t turn = 1; turn != 3; ++turn) {
            if (thread == 0) {
                news.store(turn, std::memory_order_release);
                std::atomic_signal_fence(std::memory_order_seq_cst);
                if (word.load(std::memory_order_relaxed) != 0) demand(detail::wake(word), "wants a ring");
            } else {
                while (news.load(std::memory_order_acquire) < turn)
                    detail::sleep_on(word, 1'000'000'000, true,
                                     [&] { return news.load(std::memory_order_acquire) >= turn; });
            }
        }
    }
};
struct rung : weak_memory::program {
    detail::bell bell;
    std::atomic<std::uint32_t> news{0};
    bool is_ready = bell.descriptor() >= 0;

    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        for (std::uint32_t turn = 1; turn != 3; ++turn) {
            if (thread == 0) {
                news.store(turn, std::memory_order_release);
                bell.ring();
            } else {
                const auto has_news = [&] { return news.load(std::memory_order_acquire) >= turn; };
                while (!has_news()) {
                    if (!bell.arm(has_news)) continue;
                    std::uint64_t rings = 0;
                    while (::read(bell.descriptor(), &rings, sizeof rings) != sizeof rings) idle();
                    bell.disarm();
                }
            }
        }
    }
};

struct part {
    std::string name;
    std::function<std::unique_ptr<weak_memory::program>()> make;
    weak_memory::limits within;
};
template <class P, class... A>
part part_of(std::string name, const weak_memory::limits& within, A... given) {
    return {std::move(name), [=] { return std::make_unique<P>(given...); }, within};
}
std::vector<part> all_parts() {
    return {
        part_of<ring_of_threads>("ring of threads", {2, 1}),
        part_of<ring_taken_back>("taken back", {3, 2}, false),
        part_of<ring_taken_back>("the sender leaves", {3, 2}, true),
        part_of<ring_taken>("taken", {3, 2}),
        part_of<departure>("in_process, the sender leaves at last", {1, 1}, departure::who::sender_after_all),
        part_of<departure>("in_process, the sender leaves at once", {1, 1}, departure::who::sender_at_once),
        part_of<departure>("in_process, the receiver leaves at once", {1, 1}, departure::who::receiver_at_once),
        part_of<read_in_place>("ring of processes, read in place", {2, 1}),
        part_of<staged>("ring of processes, staged", {1, 1}),
        // There are four banks, so some are used twice.
        part_of<late_calls>("late places, 2 ranks", {1, 1}, rank_t{2}, no_rank, 5ull, 1ull),
        part_of<late_calls>("late places, 2 ranks run ahead", {1, 1}, rank_t{2}, no_rank, 5ull, 4ull),
        part_of<late_calls>("late places, to a root", {1, 1}, rank_t{2}, rank_t{1}, 5ull, 5ull),
        part_of<late_calls>("late places, a free bank seen late", {0, 4}, rank_t{2}, rank_t{1}, 5ull, 5ull),
        part_of<late_calls>("late places, 3 ranks", {1, 1}, rank_t{3}, no_rank, 1ull, 1ull),
        part_of<puts>("puts of 8 bytes", {3, 2}, std::size_t{0}),
        part_of<puts>("puts of 40 bytes", {3, 2}, std::size_t{32}),
        part_of<sleeper>("sleep and wake", {3, 2}),
        part_of<rung>("bell", {3, 2}),
    };
}

// The lines of the library that ask for these orders: FILE:LINE, from include/bough/ on. Those of this
// file are left out.
std::map<std::uintptr_t, std::string> lines_of(const std::vector<weak_memory::order_site>& sites) {
    std::string command = "addr2line -i -a -e /proc/" + std::to_string(::getpid()) + "/exe";
    for (const weak_memory::order_site& site : sites) {
        char text[32];
        std::snprintf(text, sizeof text, " 0x%zx", site.at);
        command += text;
    }
    std::map<std::uintptr_t, std::string> all;
    std::FILE* const said = ::popen(command.c_str(), "r");
    REQUIRE(said != nullptr);
    char line[4096];
    std::uintptr_t now = 0;
    bool is_found = false; // the innermost line that is not the standard library's
    while (std::fgets(line, sizeof line, said) != nullptr) {
        const std::string text(line, std::strcspn(line, " \n"));
        if (text.rfind("0x", 0) == 0) {
            now = std::stoull(text, nullptr, 16);
            is_found = false;
        } else if (const auto at = text.find("include/bough/"); !is_found && at != std::string::npos) {
            all.emplace(now, text.substr(at + 14));
            is_found = true;
        } else {
            is_found |= text.find("test/weak_memory/") != std::string::npos || // or the counting of a shared_ptr
                        text.find("/ext/atomicity.h") != std::string::npos;
        }
    }
    REQUIRE(::pclose(said) == 0);
    return all;
}
std::string text_of(const std::string& line) {
    const auto colon = line.find(':');
    std::ifstream file(BOUGH_TEST_DIR "/../include/bough/" + line.substr(0, colon));
    std::string text;
    for (int left = std::stoi(line.substr(colon + 1)); left != 0; --left) std::getline(file, text);
    return text;
}

// Orders that are stronger than these parts alone need, and why they are there.
struct reason {
    const char* file;
    const char* text;
    const char* why;
    mutable bool is_seen = false, is_used = false;
};
const reason stronger[] = {
    {"os/bell.hpp", "armed_.store(1, std::memory_order_seq_cst)", "membarrier() is the barrier"},
    {"os/bell.hpp", "armed_.exchange(0", "the ring itself is what the owner waits for"},
    {"transport/segment/sleep.hpp", "word.store(sleeps", "membarrier() is the barrier, where the kernel has it"},
    {"session/late_places.hpp", "left.store(k + 1", "is read when a rank is lost"},
    {"os/forks.hpp", "static const int installed", "a static variable that was made before"},
    {"transport/in_process.hpp", "woken.load", "nothing lies in common memory here"},
    {"transport/in_process.hpp", "departures.load", "each of gone and departures brings the order"},
    {"transport/in_process.hpp", ".gone.", "each of gone and departures brings the order"},
    {"transport/in_process/ring.hpp", "state.load(std::memory_order_acquire)",
     "acknowledged() looks again; or nobody writes"},
    {"transport/in_process/ring.hpp", "slots_[head_ & mask_].sequence.load", "has_arrival(): peek() looks again"},
    {"transport/in_process/ring.hpp", "tail_ - consumed_.load", "has_news(): push() looks again"},
    {"transport/in_process/ring.hpp", "lent::taken_back, std::memory_order_acq_rel", "only one succeeds"},
    {"transport/in_process/ring.hpp", "lent::claimed, std::memory_order_acq_rel", "its slot has brought the message"},
    {"transport/in_process/ring.hpp", "receiver_gone.load", "nobody goes away here"},
    {"transport/shared_memory/receiver.hpp", "opened.load", "each slot brings its message"},
    {"transport/shared_memory/sender.hpp", "opened.store", "each slot brings its message"},
};
// Is there a reason for a line? It is needed if the line is not missed.
bool is_explained(const std::string& line, bool is_missed) {
    const std::string text = text_of(line);
    bool is_there = false;
    for (const reason& r : stronger) {
        if (line.rfind(r.file, 0) != 0 || text.find(r.text) == std::string::npos) continue;
        is_there = r.is_seen = true;
        r.is_used = r.is_used || !is_missed;
    }
    return is_there;
}

TEST_CASE("parts without locks are right however late memory is seen, and need the orders that they ask for",
          "[weak_memory]") {
    struct asked {
        std::vector<std::uintptr_t> places; // the compiler may have made several of one line
        std::vector<std::size_t> of;        // parts
    };
    std::vector<part> parts = all_parts();
    if (bough_test::all())
        for (part& p : parts) ++p.within.preemptions, ++p.within.stale_reads;
    std::map<std::string, asked> by_line;
    for (std::size_t i = 0; i != parts.size(); ++i) {
        const weak_memory::report report = weak_memory::explore(parts[i].make, parts[i].within);
        CAPTURE(parts[i].name, report.runs);
        CHECK(report.fault == "");
        CHECK((report.complete || bough_test::all()));
        for (const auto& [at, line] : lines_of(report.ordered)) {
            asked& a = by_line[line];
            a.places.push_back(at);
            if (a.of.empty() || a.of.back() != i) a.of.push_back(i);
        }
    }
    CHECK(by_line.size() >= 30);
    for (const auto& [line, a] : by_line) {
        bool is_missed = false;
        for (const std::size_t i : a.of)
            is_missed = is_missed || !weak_memory::explore(parts[i].make, parts[i].within, a.places).fault.empty();
        CAPTURE(line, text_of(line));
        CHECK((is_explained(line, is_missed) || is_missed));
    }
    for (const reason& r : stronger) {
        CAPTURE(r.file, r.text);
        CHECK((r.is_used || !r.is_seen || bough_test::all())); // with wider bounds more is missed
    }
}

} // namespace
