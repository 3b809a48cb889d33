// SPDX-License-Identifier: BSL-1.0
// exchange_server, the launcher's side of exchange(): gathers what every rank says, and answers all
// ranks. It never waits: its owner polls.
//
// Once a rank is gone, breaks the protocol, or can wait no longer, every incomplete exchange ends
// with the same error on all ranks that are left, and so does every later one. The error names the
// rank that is gone or missing.
#ifndef BOUGH_LAUNCH_DETAIL_EXCHANGE_SERVER_HPP
#define BOUGH_LAUNCH_DETAIL_EXCHANGE_SERVER_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/wire.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail::jobs {

class exchange_server {
public:
    explicit exchange_server(rank_t ranks) : links_(ranks) {}

    // Takes the launcher's end of a rank's socket pair, which must not block.
    void add(rank_t rank, unique_fd fd) {
        links_[rank].fd = std::move(fd);
        const launch_hello hello{.rank = rank, .size = size()};
        say(rank, std::as_bytes(std::span(&hello, 1)));
    }
    rank_t size() const noexcept { return static_cast<rank_t>(links_.size()); }
    int descriptor(rank_t rank) const noexcept { return links_[rank].fd.get(); } // -1: closed
    // Has it been answered that the exchanges have failed?
    bool has_told_failure(rank_t rank) const noexcept { return links_[rank].is_told; }
    bool wants_to_write(rank_t rank) const noexcept { return !links_[rank].out.empty(); }
    // How many bytes are kept for ranks that have not read them yet.
    std::size_t kept_bytes() const noexcept {
        std::vector<const bytes_said*> all;
        std::size_t kept = 0;
        for (const link& l : links_)
            for (const piece& p : l.out) all.push_back(p.bytes.get());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        for (const bytes_said* bytes : all) kept += bytes->size();
        return kept;
    }

    // Called when the rank's socket can be read or written, or is closed.
    void serve(rank_t rank) {
        write(rank);
        if (links_[rank].fd) read(rank);
    }
    // Called when the rank's process has ended.
    void gone(rank_t rank) {
        if (links_[rank].fd) close(rank, {.code = errc::peer_dead, .peer = rank});
    }
    // Ends all exchanges with this error, and what launched_wire_up::reason() shall say.
    void end_all(const status& why, std::uint8_t reason) {
        fail(why, reason);
        for (rank_t r = 0; r != size(); ++r) write(r);
    }
    // What reason() shall say of a deadline whose missing rank was never added, and `mine` of that status.
    void explain_absence(std::uint8_t reason, std::uint32_t mine) {
        why_absent_ = reason;
        of_absent_ = mine;
    }

private:
    using bytes_said = std::vector<std::byte>;
    // Bytes to be sent, from `first` on. What is sent to all ranks is one vector, which their links
    // share.
    struct piece {
        std::shared_ptr<const bytes_said> bytes{};
        std::size_t first = 0;
    };
    struct link {
        unique_fd fd{};
        std::vector<std::byte> in{}; // the part of a message that has come
        std::deque<piece> out{};
        bool asked = false;   // its bytes are in `said_`
        bool is_told = false; // that the exchanges have failed
    };

    void close(rank_t rank, const status& why) {
        links_[rank].fd.reset();
        links_[rank].in.clear();
        links_[rank].out.clear();
        fail(why);
    }
    // The first failure ends all exchanges.
    void fail(const status& why, std::uint8_t reason = 0) {
        if (broken_) return;
        broken_ = why;
        reason_ = reason;
        for (rank_t r = 0; r != size(); ++r)
            if (std::exchange(links_[r].asked, false)) answer(r);
    }
    void answer(rank_t rank) {
        if (broken_) links_[rank].is_told = true;
        const launch_answer a{.number = number_,
                              .code = static_cast<std::uint32_t>(broken_.code) | std::uint32_t{reason_} << 8,
                              .peer = broken_.peer,
                              .mine = static_cast<std::uint32_t>(broken_.mine),
                              .theirs = static_cast<std::uint32_t>(broken_.theirs)};
        say(rank, std::as_bytes(std::span(&a, 1)));
    }

    void say(rank_t rank, std::span<const std::byte> bytes) {
        say(rank, std::make_shared<const bytes_said>(bytes.begin(), bytes.end()));
    }
    void say(rank_t rank, std::shared_ptr<const bytes_said> bytes) {
        if (!bytes->empty()) links_[rank].out.push_back({std::move(bytes), 0});
    }
    void write(rank_t rank) {
        link& l = links_[rank];
        while (l.fd && !l.out.empty()) {
            piece& next = l.out.front();
            const std::size_t left = next.bytes->size() - next.first;
            const ssize_t n = ::send(l.fd.get(), next.bytes->data() + next.first, left, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno == EINTR) continue;
            // The socket is full; or it is closed, and read() will find that after its last bytes.
            if (n <= 0) return;
            next.first += static_cast<std::size_t>(n);
            if (next.first == next.bytes->size()) l.out.pop_front();
        }
    }
    void read(rank_t rank) {
        std::byte buffer[4096];
        for (;;) {
            const ssize_t n = ::recv(links_[rank].fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
            if (n > 0) {
                links_[rank].in.insert(links_[rank].in.end(), buffer, buffer + n);
                if (!hear(rank)) return;
                if (n < static_cast<ssize_t>(sizeof buffer)) return;
            } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
                return;
            } else if (n == 0 || errno != EINTR) {
                return close(rank, {.code = errc::peer_dead, .peer = rank});
            }
        }
    }
    // Handles what has come. False: the link was closed.
    bool hear(rank_t rank) {
        link& l = links_[rank];
        launch_ask ask;
        if (l.in.size() < sizeof ask) return true;
        std::memcpy(&ask, l.in.data(), sizeof ask);
        if (ask.bytes == launch_ask::late) {
            l.in.erase(l.in.begin(), l.in.begin() + sizeof ask);
            if (l.asked && ask.number == number_) { // otherwise its answer is on the way
                rank_t missing = 0;
                while (links_[missing].asked) ++missing;
                if (links_[missing].fd)
                    end_all({.code = errc::deadline, .peer = missing}, 0);
                else
                    end_all({.code = errc::deadline, .peer = missing, .mine = of_absent_}, why_absent_);
            }
            return hear(rank);
        }
        // A rank must not ask again before its last question has been answered.
        if (l.asked || ask.bytes > most_wire_up_bytes || l.in.size() > sizeof ask + ask.bytes ||
            (!broken_ && ask.number != number_))
            return close(rank, {.code = errc::protocol_error, .peer = rank}), false;
        if (l.in.size() < sizeof ask + ask.bytes) return true;
        if (broken_) {
            l.in.clear();
            number_ = ask.number;
            answer(rank);
            write(rank);
            return true;
        }
        l.asked = true;
        if (came_ == 0) {
            length_ = ask.bytes;
            said_.assign(std::size_t{length_} * size(), std::byte{});
        }
        if (ask.bytes != length_) {
            fail({.code = errc::call_mismatch, .peer = rank, .mine = length_, .theirs = ask.bytes});
        } else {
            std::copy_n(l.in.data() + sizeof ask, length_, said_.data() + std::size_t{rank} * length_);
            if (++came_ == size()) answer_all();
        }
        l.in.clear();
        for (rank_t r = 0; r != size(); ++r) write(r);
        return true;
    }
    void answer_all() {
        const auto all = std::make_shared<const bytes_said>(std::move(said_));
        said_.clear();
        for (rank_t r = 0; r != size(); ++r) {
            links_[r].asked = false;
            answer(r);
            say(r, all);
        }
        came_ = 0;
        ++number_;
    }

    std::vector<link> links_;
    bytes_said said_; // in the exchange under way, in order of rank
    std::uint32_t length_ = 0, number_ = 1;
    rank_t came_ = 0;
    status broken_{};
    std::uint8_t reason_ = 0, why_absent_ = 0;
    std::uint32_t of_absent_ = 0;
};

} // namespace bough::detail::jobs

#endif
