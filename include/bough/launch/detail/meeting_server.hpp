// SPDX-License-Identifier: BSL-1.0
// meeting_server: the leader's side of a meeting, at which the members of a group and processes
// that join them become the ranks of a new one. It lets them in, and serves their exchanges, in a
// thread.
//
// It turns away whoever does not know the key. The meeting is complete when all members are there
// and enough joiners; those that came first get the places. It ends without result when a member
// goes, or the time is up; then all that are there are told why.
#ifndef BOUGH_LAUNCH_DETAIL_MEETING_SERVER_HPP
#define BOUGH_LAUNCH_DETAIL_MEETING_SERVER_HPP

#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/exchange_server.hpp>
#include <bough/launch/detail/meeting_protocol.hpp>
#include <bough/launch/detail/reach.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail::jobs {

// What the members have agreed on before they meet.
struct meeting_plan {
    meeting_bytes growth{};       // a number that was drawn for it
    std::uint32_t epoch = 0;      // of the new group
    std::vector<rank_t> members;  // their numbers in the new group
    std::vector<rank_t> vacant;   // the numbers for joiners, in the order in which they come
    std::vector<rank_t> known_as; // the members' numbers, for errors
    rank_t leader = 0;            // which member
    std::uint64_t last_ns = 0;    // when all must have come
    build_card build{};           // of all members

    rank_t size() const noexcept { return static_cast<rank_t>(members.size() + vacant.size()); }
};

template <class M>
class meeting_server {
public:
    // `listener` must not block.
    static status open(unique_fd listener, const meeting_bytes& key, const meeting_plan& plan,
                       std::unique_ptr<meeting_server>& made) {
        int bell[2] = {-1, -1};
        if (::pipe2(bell, O_CLOEXEC) != 0) return {.code = errc::no_resources};
        unique_fd heard(bell[0]), rung(bell[1]);
        made.reset(new meeting_server(std::move(listener), std::move(heard), std::move(rung), key, plan));
        if (!M::random(made->sealing_)) return {.code = errc::no_resources};
        const auto work = [s = made.get()] { s->run(); };
#if BOUGH_HAS_EXCEPTIONS
        try {
            made->thread_ = std::thread(work);
        } catch (const std::system_error&) {
            return {.code = errc::no_resources};
        }
#else
        made->thread_ = std::thread(work);
#endif
        return {};
    }
    meeting_server(const meeting_server&) = delete;
    meeting_server& operator=(const meeting_server&) = delete;
    // Stays until the others have their last answers, but no longer than a second.
    ~meeting_server() {
        rung_.reset();
        if (thread_.joinable()) thread_.join();
        M::wipe(key_);
    }

private:
    using verdict = meeting_answer::verdict;
    enum class standing : std::uint8_t { stranger, joiner, member, over };
    struct guest {
        unique_fd fd{};
        meeting_bytes nonce{};
        meeting_claim said{};
        std::size_t bytes = 0;
        standing as = standing::stranger;
    };

    meeting_server(unique_fd listener, unique_fd heard, unique_fd rung, const meeting_bytes& key,
                   const meeting_plan& plan)
        : listener_(std::move(listener)), heard_(std::move(heard)), rung_(std::move(rung)), key_(key), plan_(plan) {}

    // --- the thread ---

    void run() {
#if BOUGH_HAS_EXCEPTIONS
        try {
            if (assemble()) serve();
        } catch (...) { // memory ran out: closed sockets tell the others
        }
#else
        if (assemble()) serve();
#endif
        listener_.reset();
        guests_.clear();
        server_.reset();
    }

    // True: all have come, and server_ has them.
    bool assemble() {
        std::vector<pollfd> watched;
        for (;;) {
            watched.assign({{heard_.get(), POLLIN, 0}, {is_short_ ? -1 : listener_.get(), POLLIN, 0}});
            for (const guest& g : guests_) watched.push_back({g.fd.get(), POLLIN, 0});
            constexpr int pause_ms = 20; // without descriptors
            const int rest_ms = milliseconds_until(plan_.last_ns);
            (void)::poll(watched.data(), static_cast<nfds_t>(watched.size()),
                         is_short_ && (rest_ms < 0 || rest_ms > pause_ms) ? pause_ms : rest_ms);
            if (watched[0].revents != 0) return false; // the leader gives up
            for (std::size_t g = 0; g != guests_.size(); ++g)
                if (watched[2 + g].revents != 0 && !hear(guests_[g])) return false;
            std::erase_if(guests_, [](const guest& g) { return g.as == standing::over; });
            is_short_ = false;
            if (watched[1].revents != 0) accept_all();
            if (count(standing::member) == plan_.members.size() && count(standing::joiner) >= plan_.vacant.size()) {
                let_in();
                return true;
            }
            if (steady_now_ns() >= plan_.last_ns) return tell_all(verdict::incomplete, no_rank), false;
        }
    }
    std::size_t count(standing as) const noexcept {
        return static_cast<std::size_t>(
            std::count_if(guests_.begin(), guests_.end(), [as](const guest& g) { return g.as == as; }));
    }
    void accept_all() {
        for (;;) {
            guest g{.fd = above_standard(
                        unique_fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)))};
            if (!g.fd) {
                is_short_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
                return;
            }
            meeting_challenge asked;
            if (!M::random(asked.nonce)) return;
            g.nonce = asked.nonce;
            send_at_once(g.fd.get());
            if (!send(g, std::as_bytes(std::span(&asked, 1)))) continue;
            if (count(standing::stranger) == most_strangers) // the one that has been silent for longest
                guests_.erase(std::find_if(guests_.begin(), guests_.end(),
                                           [](const guest& its) { return its.as == standing::stranger; }));
            guests_.push_back(std::move(g));
        }
    }
    // Its socket is new, so there is room for these few bytes.
    static bool send(const guest& g, std::span<const std::byte> bytes) noexcept {
        return ::send(g.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
               static_cast<ssize_t>(bytes.size());
    }

    // False: the meeting is over, as a member has gone.
    bool hear(guest& g) {
        std::byte more{};
        std::byte* const at = g.as == standing::stranger ? reinterpret_cast<std::byte*>(&g.said) + g.bytes : &more;
        const std::size_t room = g.as == standing::stranger ? sizeof g.said - g.bytes : 1;
        const ssize_t n = ::recv(g.fd.get(), at, room, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return true;
        const standing was = g.as;
        if (n > 0 && was == standing::stranger) {
            g.bytes += static_cast<std::size_t>(n);
            if (g.bytes == sizeof g.said) judge(g);
            return true;
        }
        g.as = standing::over; // it has gone, or speaks before it is asked
        if (was != standing::member) return true;
        tell_all(verdict::member_gone, plan_.known_as[g.said.member]);
        return false;
    }
    void judge(guest& g) {
        const meeting_claim& said = g.said;
        const bool is_member = said.as == meeting_claim::role::member;
        const auto turn_away = [&](verdict why) {
            answer(g, why);
            g.as = standing::over;
        };
        if (said.magic != meeting_magic) {
            g.as = standing::over;
        } else if (!is_proved<M>(key_, said, g.nonce, is_member ? plan_.growth : meeting_bytes{})) {
            const bool is_old = is_member && said.epoch != plan_.epoch;
            ++(is_old ? old_epochs_ : wrong_keys_);
            turn_away(is_old ? verdict::old_epoch : verdict::wrong_key);
        } else if (said.epoch != 0 && said.epoch < plan_.epoch) {
            ++old_epochs_;
            turn_away(verdict::old_epoch);
        } else if (compare_builds(plan_.build, said.build, no_rank)) {
            ++other_builds_;
            turn_away(verdict::other_build);
        } else if (said.epoch > plan_.epoch) {
            turn_away(verdict::not_now);
        } else if (is_member && (said.member >= plan_.members.size() || has_come(said.member))) {
            turn_away(verdict::old_epoch);
        } else {
            g.as = is_member ? standing::member : standing::joiner;
        }
    }
    bool has_come(rank_t member) const noexcept {
        return std::any_of(guests_.begin(), guests_.end(),
                           [&](const guest& g) { return g.as == standing::member && g.said.member == member; });
    }
    bool answer(const guest& g, verdict says, rank_t who = no_rank) const {
        const std::size_t came = count(standing::member) + count(standing::joiner);
        meeting_answer a{.says = says,
                         .epoch = plan_.epoch,
                         .who = who,
                         .size = plan_.size(),
                         .came = static_cast<rank_t>(std::min<std::size_t>(came, plan_.size())),
                         .wrong_keys = wrong_keys_,
                         .old_epochs = old_epochs_,
                         .other_builds = other_builds_,
                         .build = plan_.build};
        if (says == verdict::welcome) a.sealing = sealing_;
        if (says != verdict::wrong_key && !make_proof<M>(key_, a, g.nonce, g.said.nonce, a.proof)) return false;
        return send(g, std::as_bytes(std::span(&a, 1)));
    }
    void tell_all(verdict says, rank_t who) const {
        for (const guest& g : guests_)
            if (g.as == standing::member || g.as == standing::joiner) answer(g, says, who);
    }
    // Gives each one its number. Those for whom there is no place come to a later growth.
    void let_in() {
        listener_.reset();
        server_.emplace(plan_.size());
        std::size_t next = 0;
        for (guest& g : guests_) {
            if (g.as == standing::stranger) continue;
            if (g.as == standing::joiner && next == plan_.vacant.size()) {
                answer(g, verdict::not_now);
                continue;
            }
            const rank_t number = g.as == standing::member ? plan_.members[g.said.member] : plan_.vacant[next++];
            const bool is_told = answer(g, verdict::welcome, number);
            server_->add(number, std::move(g.fd));
            if (is_told)
                server_->serve(number); // sends the greeting
            else
                server_->gone(number);
        }
        guests_.clear();
    }
    void serve() {
        exchange_server& server = *server_;
        std::vector<pollfd> watched;
        bool was_broken = false;         // when it was asked to stop, as the leader had heard
        for (std::uint64_t last = 0;;) { // 0: not asked
            bool owes = false;
            for (rank_t r = 0; r != server.size(); ++r)
                owes |= server.descriptor(r) >= 0 &&
                        (server.wants_to_write(r) || (was_broken && !server.has_told_failure(r)));
            if (last != 0 && (!owes || steady_now_ns() >= last)) return;
            watched.assign(1, {last == 0 ? heard_.get() : -1, POLLIN, 0});
            for (rank_t r = 0; r != server.size(); ++r)
                watched.push_back({server.descriptor(r),
                                   static_cast<short>(server.wants_to_write(r) ? POLLIN | POLLOUT : POLLIN), 0});
            (void)::poll(watched.data(), static_cast<nfds_t>(watched.size()), last == 0 ? -1 : 20);
            if (watched[0].revents != 0) {
                last = deadline_after(steady_now_ns(), 1'000'000'000);
                was_broken = server.has_told_failure(plan_.members[plan_.leader]);
            }
            for (rank_t r = 0; r != server.size(); ++r)
                if (watched[1 + r].revents != 0 && server.descriptor(r) >= 0) server.serve(r);
        }
    }

    static constexpr std::size_t most_strangers = 64;
    unique_fd listener_, heard_, rung_;
    meeting_bytes key_, sealing_{};
    meeting_plan plan_;
    std::uint16_t wrong_keys_ = 0, old_epochs_ = 0, other_builds_ = 0;
    bool is_short_ = false; // of descriptors
    std::vector<guest> guests_;
    std::optional<exchange_server> server_; // once all have come
    std::thread thread_;
};

} // namespace bough::detail::jobs

#endif
