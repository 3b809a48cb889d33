// SPDX-License-Identifier: BSL-1.0
// tcp_outgoing: sends messages over one tcp connection. A message is written at once if the socket
// takes it, and queued otherwise. The queue has a few batches. A batch is a run of copied short
// frames with at most one long message behind them, which is written straight from its owner's
// memory.
//
// Short frames overtake a long message: those that are queued behind it go into the next gap between
// two of its parts (departing_message.hpp). A long message is refused in two cases. First: it and the
// long messages in the queue would have more than one part together. So few parts lie before short
// frames. Second: much has been written in this turn. So other links have their turn, however fast the
// peer reads.
//
// The first frame after a flush is written at once. Those that follow before the next flush are
// gathered. They leave with one call, at the flush or when 16 KiB have come together.
#ifndef BOUGH_TRANSPORT_TCP_OUTGOING_HPP
#define BOUGH_TRANSPORT_TCP_OUTGOING_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/transport/tcp/departing_message.hpp>
#include <bough/transport/tcp/frame.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class tcp_outgoing {
public:
    // `window`: the peer's window: how many bytes of short frames it takes in before it has used
    // any up.
    explicit tcp_outgoing(std::uint64_t window) : window_(window) {}

    bool idle() const noexcept { return count_ == 0; }
    bool broken() const noexcept { return broken_; }
    std::uint64_t window() const noexcept { return window_; }
    void new_turn() noexcept {
        written_ = false;
        turn_bytes_ = 0;
    }
    // How many frames were accepted, and how many of these, from the first on, the stream has
    // taken: all of them once the connection is broken, since nothing more will be sent.
    std::uint64_t accepted() const noexcept { return frames_; }
    std::uint64_t handed_over() const noexcept { return count_ == 0 || broken_ ? frames_ : handed_over_; }

    // As a transport's post_send, to a connected peer. If memory runs out, nothing of the message
    // has been sent or kept.
    template <class Stream>
    posted post(Stream& stream, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (broken_ || bytes.size() > most_frame_bytes) return broken_ ? posted::would_block : posted::failed;
        const frame f{tag, bytes.size(), next_sequence(),
                      tcp_way(bytes.size()) == protocol::staged ? frame_kind::long_message : frame_kind::message};
        const bool is_long = f.kind == frame_kind::long_message;
        if (!is_long && outstanding_ + short_frame_bytes(f.bytes) > window_) return posted::would_block;
        if (is_long && (turn_bytes_ >= most_at_once || (long_bytes_ != 0 && long_bytes_ + f.bytes > part_bytes)))
            return posted::would_block;
        const frame_header header = encode_frame(f);
        if (count_ == 0 && is_long && f.bytes > part_bytes) return post_in_parts(stream, f, header, bytes, id);
        if (count_ == 0 && (!written_ || is_long)) return write_at_once(stream, f, header, bytes, id);
        return queue(stream, f, header, bytes, id);
    }

    // The peer says that it has used up so many bytes of short frames. False: that is more than it
    // was sent.
    bool credit(std::uint64_t bytes) noexcept {
        if (bytes > outstanding_) return false;
        outstanding_ -= bytes;
        return true;
    }
    // Tells the peer how many bytes were used up here. False: there is no room for that now.
    bool give_credit(std::uint64_t used_up) {
        const bool is_new = !back_takes(frame_header_bytes);
        if (broken_ || (is_new && count_ == batches_.size())) return false;
        make_room(frame_header_bytes, is_new);
        batch& b = is_new ? push() : back();
        const frame_header header = encode_frame({{}, used_up, next_sequence(), frame_kind::credit});
        b.prefix.insert(b.prefix.end(), header.begin(), header.end());
        ++frames_;
        end_short(b);
        return true;
    }

    // Writes what the socket takes, but not without end if a peer goes on reading. Calls `written(id)` for
    // each long message that has gone out.
    template <class Stream, class F>
    void flush(Stream& stream, F&& written) {
        std::size_t in_all = 0;
        while (count_ != 0 && !broken_ && in_all < most_at_once) {
            io_vectors<const std::byte> out;
            std::size_t asked = 0;
            for (std::size_t i = 0; i != count_ && !out.full(); ++i) asked += gather(i, out);
            std::size_t n = 0;
            const io_result result = stream.write(out, n);
            if (result == io_result::closed) broken_ = true;
            const bool all = n == asked;
            in_all += n;
            turn_bytes_ += n;
            while (count_ != 0 && (n != 0 || is_gone(at(0)))) {
                if (!advance(n)) break;
                const batch& b = at(0);
                handed_over_ = std::max(handed_over_, b.all_frames);
                if (b.has_long && b.wanted) written(b.id);
                pop();
            }
            if (count_ != 0 && at(0).sent >= at(0).short_bytes)
                handed_over_ = std::max(handed_over_, at(0).short_frames);
            if (!all) return;
        }
    }

    // Takes a pending send back. `went_out`: it was already written, apart from its tail.
    bool cancel(std::uint64_t id, bool& went_out) {
        for (std::size_t i = 0; i != count_; ++i) {
            batch& b = at(i);
            if (!b.has_long || !b.wanted || b.id != id) continue;
            b.wanted = false;
            went_out = b.message.payload_is_gone();
            if (went_out) return true;
            if (const std::size_t header = b.prefix.size() - frame_header_bytes; b.whole_header && b.sent <= header) {
                // Not even its header has left: an empty frame takes its place in the sequence.
                frame_header old{};
                std::copy_n(b.prefix.begin() + static_cast<std::ptrdiff_t>(header), old.size(), old.begin());
                const frame_header now = encode_frame({{}, 0, sequence_of(old), frame_kind::nothing});
                std::copy(now.begin(), now.end(), b.prefix.begin() + static_cast<std::ptrdiff_t>(header));
                remove_long(b);
                return true;
            }
            b.message.make_void();
            return true;
        }
        return false;
    }

    // Called before the owner goes away, and after each flush until all is idle: gives up pending posts;
    // what was copied still goes out. Of a long message no more is sent than has something behind it.
    void keep_copied() {
        while (count_ != 0 && back().sent >= back().short_bytes) { // no copied frame is left there
            if (back().has_long) remove_long(back());
            --count_;
        }
        for (std::size_t i = 0; i != count_; ++i) {
            batch& b = at(i);
            if (!b.has_long || !b.wanted) continue;
            bool went_out = false;
            if (i + 1 != count_) {
                cancel(b.id, went_out);
            } else { // nothing comes behind it
                b.prefix.resize(b.short_bytes);
                b.wanted = false;
                remove_long(b);
            }
        }
    }

    // Drops everything. Calls `lost(id)` for each pending send that will not go out.
    template <class F>
    void drop(F&& lost) {
        broken_ = true;
        for (; count_ != 0; pop())
            if (at(0).has_long && at(0).wanted) lost(at(0).id);
    }

private:
    static constexpr std::size_t gathered = std::size_t{1} << 14;
    // So many bytes a flush writes, or one call more. Behind so many, a turn takes no long message.
    static constexpr std::size_t most_at_once = part_bytes;
    static constexpr std::size_t most_prefix = 2 * gathered; // bytes of frames and headers in a batch
    static_assert(short_frame_bytes(most_short_bytes) <= most_prefix);
    static_assert(most_prefix <= most_gap_bytes); // so a gap has room for all of them

    struct batch {
        std::vector<std::byte> prefix; // short frames, and the header of a long one
        std::size_t sent = 0;          // of prefix
        // Where the short frames end in `prefix`. How many frames have left once the short ones
        // have left, and once the whole batch has. A long message that others overtake counts as one
        // that has left; its owner hears of its end when it has.
        std::size_t short_bytes = 0;
        std::uint64_t short_frames = 0, all_frames = 0;
        bool has_long = false;
        bool wanted = false;       // the post is still pending
        bool whole_header = false; // the header lies in `prefix` whole
        tcp_departing_message message;
        std::uint64_t id = 0;
    };

    static std::size_t copied_bytes(const frame& f) noexcept { // when it is queued
        const bool is_long = f.kind == frame_kind::long_message;
        return frame_header_bytes +
               (is_long ? 0 : static_cast<std::size_t>(f.bytes) + frame_tail_bytes(f.kind, f.bytes));
    }
    // The three ways of a message that post() accepts, by what it is and by what is queued.
    //
    // A long message with gaps, which frames that come later may overtake. Pre: nothing is queued.
    template <class Stream>
    posted post_in_parts(Stream& stream, const frame& f, const frame_header& header, std::span<const std::byte> bytes,
                         std::uint64_t id) {
        make_room(copied_bytes(f));
        queue_long(push(), f, header, bytes, id);
        bool is_gone = false;
        flush(stream, [&is_gone](std::uint64_t) { is_gone = true; });
        written_ = true;
        return is_gone ? posted::complete : posted::pending;
    }
    // Writes a message, and queues what the stream does not take of it. Pre: nothing is queued.
    template <class Stream>
    BOUGH_ALWAYS_INLINE posted write_at_once(Stream& stream, const frame& f, const frame_header& header,
                                             std::span<const std::byte> bytes, std::uint64_t id) {
        const std::size_t tail = frame_tail_bytes(f.kind, f.bytes);
        std::size_t n = 0;
        make_room(copied_bytes(f)); // for what the stream does not take
        if (write_frame(stream, f, header, bytes, tail, n) == io_result::closed) {
            broken_ = true;
            return posted::would_block;
        }
        written_ = true;
        turn_bytes_ += n;
        if (n == header.size() + bytes.size() + tail) return count(f), posted::complete;
        batch& b = push();
        count(f);
        b.prefix.assign(header.begin() + static_cast<std::ptrdiff_t>(std::min(n, header.size())), header.end());
        n -= std::min(n, header.size());
        if (f.kind == frame_kind::long_message) {
            set_long(b, bytes, n, id);
            return posted::pending;
        }
        append(b, bytes, tail, n);
        end_short(b);
        return posted::complete;
    }
    // Gathers a message behind what is queued, or as the second one since the last flush.
    template <class Stream>
    BOUGH_ALWAYS_INLINE posted queue(Stream& stream, const frame& f, const frame_header& header,
                                     std::span<const std::byte> bytes, std::uint64_t id) {
        const bool is_new = !back_takes(copied_bytes(f));
        if (is_new && count_ == batches_.size()) return posted::would_block;
        make_room(copied_bytes(f), is_new);
        batch& b = is_new ? push() : back();
        if (f.kind == frame_kind::long_message) return queue_long(b, f, header, bytes, id), posted::pending;
        b.prefix.insert(b.prefix.end(), header.begin(), header.end());
        count(f);
        append(b, bytes, frame_tail_bytes(f.kind, f.bytes), 0);
        end_short(b);
        if (b.prefix.size() >= gathered && count_ == 1) flush(stream, [](std::uint64_t) {});
        return posted::complete;
    }
    // A very short frame is copied together first. That is cheaper than a list of pieces for the
    // kernel.
    template <class Stream>
    static io_result write_frame(Stream& stream, const frame& f, const frame_header& header,
                                 std::span<const std::byte> bytes, std::size_t tail, std::size_t& n) {
        if (bytes.size() <= 256) {
            std::array<std::byte, frame_header_bytes + 256> whole;
            std::memcpy(whole.data(), header.data(), header.size());
            if (!bytes.empty()) std::memcpy(whole.data() + header.size(), bytes.data(), bytes.size());
            std::memset(whole.data() + header.size() + bytes.size(), 0, tail);
            return stream.write(std::span<const std::byte>(whole).first(header.size() + bytes.size() + tail), n);
        }
        io_vectors<const std::byte> out;
        out.add(header);
        out.add(bytes);
        out.add(tail_of(f.kind, tail));
        return stream.write(out, n);
    }
    void count(const frame& f) noexcept {
        ++frames_;
        if (f.kind == frame_kind::message) outstanding_ += short_frame_bytes(f.bytes);
    }
    std::uint32_t next_sequence() const noexcept { return static_cast<std::uint32_t>(frames_); }
    void end_short(batch& b) noexcept {
        b.short_bytes = b.prefix.size();
        b.short_frames = b.all_frames = frames_;
    }

    static std::span<const std::byte> tail_of(frame_kind kind, std::size_t length) noexcept {
        static constexpr auto zeros = std::array<std::byte, most_tail_bytes>{};
        static constexpr auto whole = [] {
            std::array<std::byte, most_tail_bytes> t{};
            t.back() = whole_message;
            return t;
        }();
        return std::span(kind == frame_kind::long_message ? whole : zeros).last(length);
    }
    static std::uint32_t sequence_of(const frame_header& h) noexcept {
        return wire_layout::little(std::bit_cast<wire_layout::header>(h)).sequence;
    }

    batch& at(std::size_t i) noexcept { return batches_[(first_ + i) % batches_.size()]; }
    batch& back() noexcept { return at(count_ - 1); }
    // Reserves memory for so many more bytes in the last batch, or in a new one. So no frame is
    // kept in part if memory runs out.
    void make_room(std::size_t bytes, bool is_new = true) {
        std::vector<std::byte>& prefix = at(is_new ? count_ : count_ - 1).prefix;
        if (is_new) prefix.clear();
        const std::size_t needed = prefix.size() + bytes;
        if (needed > prefix.capacity()) prefix.reserve(std::max(needed, 2 * prefix.capacity()));
    }
    batch& push() noexcept {
        if (count_ == 0) handed_over_ = frames_;
        batch& b = at(count_++);
        b.prefix.clear();
        b.sent = b.short_bytes = 0;
        b.has_long = b.wanted = b.whole_header = false;
        b.short_frames = b.all_frames = frames_;
        return b;
    }
    void pop() noexcept {
        if (at(0).has_long) remove_long(at(0));
        first_ = (first_ + 1) % batches_.size();
        --count_;
    }
    // There is room in the last batch for so many bytes more.
    bool back_takes(std::size_t bytes) noexcept {
        return count_ != 0 && !back().has_long && back().prefix.size() + bytes <= most_prefix;
    }

    // Appends the part of a short frame after its header, from byte `skip` on.
    static void append(batch& b, std::span<const std::byte> bytes, std::size_t tail, std::size_t skip) {
        const std::size_t of_bytes = std::min(skip, bytes.size());
        b.prefix.insert(b.prefix.end(), bytes.begin() + static_cast<std::ptrdiff_t>(of_bytes), bytes.end());
        b.prefix.resize(b.prefix.size() + tail - (skip - of_bytes));
    }
    // Puts a long message into a batch. Of the bytes behind its header, tail included, the first
    // `done` have been written.
    void set_long(batch& b, std::span<const std::byte> bytes, std::uint64_t done, std::uint64_t id) noexcept {
        b.all_frames = frames_;
        b.has_long = b.wanted = true;
        b.whole_header = b.prefix.size() >= frame_header_bytes;
        b.message.begin(bytes, done);
        b.id = id;
        long_bytes_ += bytes.size();
    }
    // The same, with its header. Pre: there is memory for that.
    void queue_long(batch& b, const frame& f, const frame_header& header, std::span<const std::byte> bytes,
                    std::uint64_t id) {
        b.prefix.insert(b.prefix.end(), header.begin(), header.end());
        count(f);
        set_long(b, bytes, 0, id);
    }
    void remove_long(batch& b) noexcept {
        b.has_long = false;
        long_bytes_ -= b.message.bytes();
    }

    static bool is_gone(const batch& b) noexcept {
        return b.sent == b.prefix.size() && (!b.has_long || b.message.is_gone());
    }
    // The first batch behind the first one with frames that have not left. Null: there is none. Pre: the
    // first one has a long message with gaps, so the others have none.
    batch* overtaking() noexcept {
        for (std::size_t i = 1; i != count_; ++i)
            if (!is_gone(at(i))) return &at(i);
        return nullptr;
    }
    // Adds what is left of batch i. Returns the number of bytes.
    std::size_t gather(std::size_t i, io_vectors<const std::byte>& out) noexcept {
        batch& b = at(i);
        const std::size_t before = out.bytes();
        out.add(std::span(b.prefix).subspan(b.sent));
        if (b.has_long) {
            const bool has_gaps = b.message.has_gaps();
            const batch* const waiting = i == 0 && has_gaps ? overtaking() : nullptr;
            b.message.gather(out, waiting == nullptr ? std::span<const std::byte>{}
                                                     : std::span(waiting->prefix).subspan(waiting->sent));
            if (has_gaps) out.close(); // what is behind it may be in its gap
        }
        return out.bytes() - before;
    }
    // Counts n written bytes as part of the first batch. True: it is done.
    bool advance(std::size_t& n) noexcept {
        batch& b = at(0);
        const std::size_t some = std::min(n, b.prefix.size() - b.sent);
        b.sent += some;
        n -= some;
        if (!b.has_long) return is_gone(b);
        batch* const waiting = b.message.has_gaps() ? overtaking() : nullptr;
        if (const std::size_t overtook = b.message.advance(n); overtook != 0) {
            waiting->sent += overtook;
            if (is_gone(*waiting)) {
                handed_over_ = std::max(handed_over_, waiting->all_frames);
                if (waiting == &back()) waiting->prefix.clear(), waiting->sent = waiting->short_bytes = 0;
            }
        }
        return is_gone(b);
    }

    std::array<batch, 8> batches_;
    std::size_t first_ = 0, count_ = 0;
    // Accepted so far; the sequence on the wire is their number, modulo 2^32.
    std::uint64_t frames_ = 0;
    std::uint64_t handed_over_ = 0; // how many of these the stream has taken, while some are queued
    std::uint64_t window_, outstanding_ = 0;
    std::uint64_t long_bytes_ = 0; // of long messages that are queued
    std::size_t turn_bytes_ = 0;   // written since the last turn
    bool written_ = false;         // something was
    bool broken_ = false;          // the connection takes nothing more
};

} // namespace bough::detail

#endif
