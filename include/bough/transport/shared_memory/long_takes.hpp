// SPDX-License-Identifier: BSL-1.0
// How a message that stays with its sender is taken: read_private() reads it from the sender's
// memory through the kernel, at once. Where the kernel does not allow that, shared_staged_takes
// asks the sender for it, and puts the pieces together as they come.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/shared_memory/link.hpp>
#include <bough/transport/shared_memory/links.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// False: the message cannot be had: it was taken back, or its sender is gone.
inline bool read_private(shared_links& links, shared_link& l, std::uint32_t index, std::span<std::byte> into) noexcept {
    if (!l.in.is_lent(index)) return false;
    const std::uint64_t place = l.in.at(index).place;
    for (std::size_t got = 0; got != into.size();) {
        const iovec here{into.data() + got, into.size() - got};
        const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(place + got)), here.iov_len};
        const ssize_t came = ::process_vm_readv(l.process.pid, &here, 1, &there, 1, 0);
        if (came <= 0) {                    // the peer is dying, has taken the message back, or gave a wrong address
            if (came < 0 && errno == ESRCH) // a dying process loses its memory before its lifeline
                links.lose(l, errc::peer_dead);
            else if (l.in.is_lent(index) && links.is_alive(l.peer))
                l.in.set_broken();
            return false;
        }
        got += static_cast<std::size_t>(came);
    }
    // After the peer's death another process may have got its process number.
    return links.is_alive(l.peer) && l.in.give_back(index);
}

class shared_staged_takes {
public:
    bool empty() const noexcept { return all_.empty(); }

    // Asks the sender for the message. `failed`: the sender has taken it back.
    posted begin(shared_link& l, std::uint32_t index, std::span<std::byte> into, std::uint64_t id,
                 const shared_links& links) {
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
    BOUGH_COLD std::size_t go_on(std::span<event> events, const shared_links& links) {
        for (const take& t : all_)
            while (t.from->in.unstage([&](std::uint32_t ticket, auto bytes) { return place(*t.from, ticket, bytes); }))
                links.nudge(*t.from);
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
    // A take has ended, and go_on() would report it.
    bool any_ended() const noexcept {
        return std::any_of(all_.begin(), all_.end(),
                           [](const take& t) { return t.over || !t.from->in.is_lent(t.index); });
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
    };

    BOUGH_COLD static void end(take& t, errc code, const shared_links& links) noexcept {
        const bool mine = t.from->in.give_back(t.index);
        t.over = true;
        t.code = code != errc::ok || mine ? code : errc::peer_aborted;
        t.from->in.release(t.index);
        links.nudge(*t.from);
    }
    // Copies one piece. False: there are more bytes than the message has.
    bool place(const shared_link& from, std::uint32_t ticket, std::span<const std::byte> bytes) noexcept {
        for (take& t : all_) {
            if (t.from != &from || t.ticket != ticket || t.over) continue;
            if (bytes.size() > t.into.size() - t.got) return false;
            std::memcpy(t.into.data() + t.got, bytes.data(), bytes.size());
            t.got += bytes.size();
            return true;
        }
        return true; // the take was cancelled
    }

    std::vector<take> all_;
};

} // namespace bough::detail

#endif
