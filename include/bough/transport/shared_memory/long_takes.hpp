// SPDX-License-Identifier: BSL-1.0
// How a message that stays with its sender is taken. read_private() reads it from the sender's memory
// through the kernel. shared_long_takes asks the sender for it in pieces, and puts them together, or
// hands each over, as they come; or it reads pieces from the sender's memory.
//
// If the sender does not copy out its pieces, since it computes or has lost its core, and its memory
// can be read, the take reads the rest itself: it waits no longer than that takes.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LONG_TAKES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
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
        // The peer is dying, has taken the message back, or gave a wrong address.
        if (came <= 0) {
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

class shared_long_takes {
public:
    // The longest grain of pieces that are read directly.
    static constexpr std::uint32_t window_bytes = 131072;

    // How long it waits for a silent sender before it reads by itself, for each byte that is missing.
    // Up to two takes a rank allocate nothing.
    explicit shared_long_takes(rank_t ranks, double patience_ns_per_byte)
        : window_(window_bytes), patience_ns_per_byte_(patience_ns_per_byte) {
        all_.reserve(2 * ranks);
        lent_.reserve(2 * ranks);
    }

    bool empty() const noexcept { return all_.empty() && lent_.empty(); }

    // Asks the sender for the message. `failed`: the sender has taken it back.
    posted begin(shared_link& l, std::uint32_t index, std::span<std::byte> into, std::uint64_t id,
                 const shared_links& links) {
        make_room();
        if (!l.in.want(index)) return posted::failed;
        add(l, index, id).into = into.data();
        links.nudge(l);
        return posted::pending;
    }
    // The message is handed over in pieces that are multiples of `grain` bytes long. `direct`: this rank
    // reads them from the sender's memory. Pre: 0 < grain <= window_bytes and the link's piece_bytes();
    // it divides the length.
    posted begin_pieces(shared_link& l, std::uint32_t index, std::uint32_t grain, bool direct, std::uint64_t id,
                        const shared_links& links) {
        make_room();
        if (direct ? !l.in.is_lent(index) : !l.in.want(index, grain)) return posted::failed;
        take& t = add(l, index, id);
        t.grain = grain;
        t.is_alone = direct;
        if (!direct) links.nudge(l);
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
    // Copies the pieces that have come to where they belong, or hands them over until the next call, and
    // reports the takes that have ended.
    BOUGH_COLD std::size_t go_on(std::span<event> events, shared_links& links) {
        for (shared_link* l : lent_) used_piece(*l, links);
        bool moved = !lent_.empty();
        lent_.clear();
        std::size_t found = 0;
        for (take& t : all_) moved |= use_pieces(*t.from, events, found, links);
        moved |= read_piece(events, found, links);
        if (!moved) read_of_silent(links, steady_now_ns());
        for (take& t : all_) {
            if (!t.over && t.got == t.bytes)
                end(t, errc::ok, links);
            else if (!t.over && t.from->loss.reported)
                end(t, errc::peer_dead, links);
            else if (!t.over && !t.from->in.is_lent(t.index))
                end(t, errc::peer_aborted, links);
            if (!t.over || found == events.size()) continue;
            tell(events[found++], event::kind::complete, t);
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
    // A piece has come or can be read, or a take has ended: go_on() would do something.
    bool has_news() const noexcept {
        return std::any_of(all_.begin(), all_.end(), [](const take& t) {
            return t.over || t.got == t.bytes || t.reads_pieces() || t.from->in.has_piece() ||
                   !t.from->in.is_lent(t.index);
        });
    }

private:
    struct take {
        shared_link* from = nullptr;
        std::uint32_t index = 0, ticket = 0;
        std::uint64_t id = 0, bytes = 0;
        std::byte* into = nullptr; // null: it is handed over in pieces
        std::uint32_t grain = 1;
        bool over = false;     // its event is due
        bool is_alone = false; // it reads the sender's memory; nothing more is expected of the sender
        errc code = errc::ok;
        std::uint64_t got = 0;
        std::uint64_t staged = 0;          // how far the sender's pieces have come
        std::uint64_t silent_since_ns = 0; // 0: the clock has not been read since the last piece

        bool reads_pieces() const noexcept { return is_alone && into == nullptr && !over && got != bytes; }
    };

    void make_room() { // throws before anything has changed
        if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 1);
        lent_.reserve(all_.capacity());
    }
    take& add(shared_link& l, std::uint32_t index, std::uint64_t id) noexcept {
        all_.push_back({});
        take& t = all_.back();
        t.from = &l;
        t.index = index;
        t.ticket = l.in.at(index).ticket;
        t.id = id;
        t.bytes = l.in.at(index).bytes;
        return t;
    }
    static void tell(event& e, event::kind what, const take& t) noexcept {
        e = {};
        e.what = what;
        e.code = t.code;
        e.peer = t.from->peer;
        e.id = t.id;
    }
    static void hand_over(event& e, take& t, std::span<const std::byte> piece) noexcept {
        tell(e, event::kind::piece, t);
        e.data = piece.data();
        e.bytes = piece.size();
        t.got += piece.size();
    }
    BOUGH_COLD static void end(take& t, errc code, const shared_links& links) noexcept {
        const bool mine = t.from->in.give_back(t.index);
        t.over = true;
        t.code = code != errc::ok || mine ? code : errc::peer_aborted;
        t.from->in.release(t.index);
        links.nudge(*t.from);
    }
    static void used_piece(shared_link& l, const shared_links& links) noexcept {
        l.in.used_piece();
        links.nudge(l);
    }
    take* taker(const shared_link& from, std::uint32_t ticket) noexcept {
        for (take& t : all_)
            if (t.from == &from && t.ticket == ticket && !t.over) return &t;
        return nullptr; // it was cancelled, or has read the bytes itself
    }
    // Uses the pieces of one sender, up to one that is handed over, and not more than lie there at a time:
    // a sender that goes on copying must not keep this rank from everything else. True: something has come.
    bool use_pieces(shared_link& l, std::span<event> events, std::size_t& found, const shared_links& links) noexcept {
        if (std::find(lent_.begin(), lent_.end(), &l) != lent_.end()) return true;
        bool moved = false;
        std::uint32_t left = stage_pieces;
        for (shared_receiver::piece p; left != 0 && l.in.next_piece(p); moved = true, --left) {
            take* t = taker(l, p.ticket);
            if (t != nullptr) {
                const std::uint64_t known =
                    std::min<std::uint64_t>(t->got - t->staged, p.bytes.size()); // read directly
                const std::span<const std::byte> fresh = p.bytes.subspan(static_cast<std::size_t>(known));
                if (p.bytes.size() > t->bytes - t->staged || fresh.size() % t->grain != 0)
                    return l.in.set_broken(), true;
                if (t->into == nullptr && !fresh.empty()) {
                    if (found == events.size()) return true;
                    lent_.push_back(&l);
                    hand_over(events[found++], *t, fresh);
                } else if (!fresh.empty()) {
                    std::memcpy(t->into + t->got, fresh.data(), fresh.size());
                    t->got += fresh.size();
                }
                t->staged += p.bytes.size();
                t->silent_since_ns = 0;
                if (t->got == t->bytes) l.silence.ended();
                if (!lent_.empty() && lent_.back() == &l) return true;
            }
            used_piece(l, links);
        }
        return moved;
    }
    // Reads a piece of one message. There is only one window, so the next call reads of another.
    bool read_piece(std::span<event> events, std::size_t& found, shared_links& links) noexcept {
        const std::size_t count = all_.size();
        for (std::size_t i = 0; i != count && found != events.size(); ++i) {
            take& t = all_[(next_ + i) % count];
            if (!t.reads_pieces() || t.from->loss.gone) continue;
            const auto most = window_bytes / t.grain * t.grain;
            const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(t.bytes - t.got, most));
            const std::span<std::byte> piece = std::span(window_).first(bytes);
            if (read_private(links, *t.from, t.index, piece, t.got))
                hand_over(events[found++], t, piece);
            else if (!t.from->process.reads_it)
                ask_again(t, links);
            next_ = (next_ + i + 1) % count;
            return true;
        }
        return false;
    }
    // The kernel does not let this rank read any more.
    static void ask_again(take& t, const shared_links& links) noexcept {
        t.is_alone = false;
        (void)t.from->in.want(t.index, t.grain); // if it was asked before, it goes on
        links.nudge(*t.from);
    }
    // Reads the rest of the takes whose senders have been silent for as long as that takes, or begins to
    // read their pieces.
    void read_of_silent(shared_links& links, std::uint64_t now_ns) noexcept {
        for (take& t : all_) {
            if (t.over || t.is_alone || !t.from->process.reads_it) continue;
            if (t.silent_since_ns == 0) t.silent_since_ns = now_ns;
            // At first the sender may itself be reading as much.
            const double patience = static_cast<double>(t.bytes - t.got) * patience_ns_per_byte_ * (t.got == 0 ? 4 : 1);
            if (now_ns != ~std::uint64_t{0} && static_cast<double>(now_ns - t.silent_since_ns) < patience) continue;
            if (t.got == 0) t.from->silence.noticed(); // otherwise it has only turned to something else
            t.is_alone = true;
            if (t.into == nullptr) continue;
            const std::span<std::byte> rest{t.into + t.got, static_cast<std::size_t>(t.bytes - t.got)};
            if (read_private(links, *t.from, t.index, rest, t.got))
                t.got = t.bytes;
            else if (!t.from->process.reads_it)
                ask_again(t, links);
        }
    }

    std::vector<take> all_;
    std::vector<shared_link*> lent_; // those of which a piece is handed over
    std::vector<std::byte> window_;  // for the piece that was read directly
    std::size_t next_ = 0;           // the take that reads the next piece
    double patience_ns_per_byte_ = 0;
};

} // namespace bough::detail

#endif
