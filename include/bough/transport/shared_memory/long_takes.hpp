// SPDX-License-Identifier: BSL-1.0
// How a message that stays with its sender is taken. read_private() reads it from the sender's memory
// through the kernel. shared_staged_takes asks the sender for it, and puts the pieces together as they
// come.
//
// If the sender does not copy out its pieces, since it computes or has lost its core, and its memory
// can be read, the take reads the rest itself: it waits no longer than that takes.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/shared_memory/link.hpp>
#include <bough/transport/shared_memory/links.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Reads the bytes of a message from number `from` on. False: the message was taken back, its sender is
// gone, or the kernel does not allow it any more; then it is not tried again (reads_it).
inline bool read_private(shared_links& links, shared_link& l, std::uint32_t index, std::span<std::byte> into,
                         std::uint64_t from = 0) noexcept {
    if (!l.in.is_lent(index)) return false;
    const std::uint64_t place = l.in.at(index).place + from;
    for (std::size_t got = 0; got != into.size();) {
        const iovec here{into.data() + got, into.size() - got};
        const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(place + got)), here.iov_len};
        const ssize_t came = ::process_vm_readv(l.process.pid, &here, 1, &there, 1, 0);
        if (came <= 0) {                    // the peer is dying, has taken the message back, or gave a wrong address
            if (came < 0 && errno == ESRCH) // a dying process loses its memory before its lifeline
                links.lose(l, errc::peer_dead);
            else if (came < 0 && (errno == EPERM || errno == ENOSYS))
                l.process.reads_it = false;
            else if (l.in.is_lent(index) && links.is_alive(l.peer))
                l.in.set_broken();
            return false;
        }
        got += static_cast<std::size_t>(came);
    }
    // After the peer's death another process may have got its process number.
    std::atomic_thread_fence(std::memory_order_acquire);
    return links.is_alive(l.peer) && l.in.is_lent(index);
}

class shared_staged_takes {
public:
    shared_staged_takes() = default;
    // How long it waits for a silent sender before it reads by itself, for each byte that is missing.
    explicit shared_staged_takes(double patience_ns_per_byte) noexcept : patience_ns_per_byte_(patience_ns_per_byte) {}

    bool empty() const noexcept { return all_.empty(); }

    // Asks the sender for the message. `failed`: the sender has taken it back.
    posted begin(shared_link& l, std::uint32_t index, std::span<std::byte> into, std::uint64_t id,
                 const shared_links& links) {
        all_.reserve(all_.size() + 1); // throws before anything has changed
        if (!l.in.want(index)) return posted::failed;
        all_.push_back({&l, index, l.in.at(index).ticket, into, id});
        links.nudge(l);
        return posted::pending;
    }
    // False: no take has this id.
    bool cancel(std::uint64_t id, const shared_links& links) noexcept {
        for (take& t : all_) {
            if (t.id != id) continue;
            if (!t.over) end(t, errc::cancelled, links);
            return true;
        }
        return false;
    }
    // Copies the pieces that have come to where they belong, and reports the takes that have ended.
    BOUGH_COLD std::size_t go_on(std::span<event> events, shared_links& links) {
        bool moved = false;
        for (const take& t : all_)
            while (
                t.from->in.unstage([&](std::uint32_t ticket, auto bytes) { return place(*t.from, ticket, bytes); })) {
                links.nudge(*t.from);
                moved = true;
            }
        if (!moved) read_of_silent(links, steady_now_ns());
        std::size_t found = 0;
        for (take& t : all_) {
            if (!t.over && t.got == t.into.size())
                end(t, errc::ok, links);
            else if (!t.over && t.from->loss.reported)
                end(t, errc::peer_dead, links);
            else if (!t.over && !t.from->in.is_lent(t.index))
                end(t, errc::peer_aborted, links);
            if (!t.over || found == events.size()) continue;
            events[found] = {};
            events[found].what = event::kind::complete;
            events[found].code = t.code;
            events[found].peer = t.from->peer;
            events[found++].id = t.id;
            t.from = nullptr;
        }
        std::erase_if(all_, [](const take& t) { return t.from == nullptr; });
        return found;
    }
    // Reads what can be read without its sender's help; before this rank sleeps for longer. True: go_on()
    // would report something.
    BOUGH_COLD bool read_all(shared_links& links) {
        read_of_silent(links, ~std::uint64_t{0});
        return has_news();
    }
    // A piece has come, or a take has ended: go_on() would do something.
    bool has_news() const noexcept {
        return std::any_of(all_.begin(), all_.end(), [](const take& t) {
            return t.over || t.got == t.into.size() || t.from->in.has_piece() || !t.from->in.is_lent(t.index);
        });
    }

private:
    struct take {
        shared_link* from;
        std::uint32_t index, ticket;
        std::span<std::byte> into;
        std::uint64_t id;
        std::size_t got = 0;
        bool over = false; // its event is due
        errc code = errc::ok;
        bool is_alone = false;             // nothing more is expected of its sender
        std::uint64_t silent_since_ns = 0; // 0: the clock has not been read since the last piece
    };

    BOUGH_COLD static void end(take& t, errc code, const shared_links& links) noexcept {
        const bool mine = t.from->in.give_back(t.index);
        t.over = true;
        t.code = code != errc::ok || mine ? code : errc::peer_aborted;
        t.from->in.release(t.index);
        links.nudge(*t.from);
    }
    // Copies one piece. False: there are more bytes than the message has.
    bool place(shared_link& from, std::uint32_t ticket, std::span<const std::byte> bytes) noexcept {
        for (take& t : all_) {
            if (t.from != &from || t.ticket != ticket || t.over || t.is_alone) continue;
            if (bytes.size() > t.into.size() - t.got) return false;
            std::memcpy(t.into.data() + t.got, bytes.data(), bytes.size());
            t.got += bytes.size();
            t.silent_since_ns = 0;
            if (t.got == t.into.size()) from.silence.ended();
            return true;
        }
        return true; // the take was cancelled, or has read the bytes itself
    }
    // Reads the rest of the takes whose senders have been silent for as long as that takes.
    void read_of_silent(shared_links& links, std::uint64_t now_ns) noexcept {
        for (take& t : all_) {
            if (t.over || t.is_alone || !t.from->process.reads_it) continue;
            if (t.silent_since_ns == 0) t.silent_since_ns = now_ns;
            // At first the sender may itself be reading as much.
            const double patience =
                static_cast<double>(t.into.size() - t.got) * patience_ns_per_byte_ * (t.got == 0 ? 4 : 1);
            if (now_ns != ~std::uint64_t{0} && static_cast<double>(now_ns - t.silent_since_ns) < patience) continue;
            if (t.got == 0) t.from->silence.noticed(); // otherwise it has only turned to something else
            if (read_private(links, *t.from, t.index, t.into.subspan(t.got), t.got)) t.got = t.into.size();
            t.is_alone = t.from->process.reads_it; // otherwise it needs its sender
        }
    }

    std::vector<take> all_;
    double patience_ns_per_byte_ = 0;
};

} // namespace bough::detail

#endif
