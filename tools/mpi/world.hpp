// SPDX-License-Identifier: BSL-1.0
// The ranks of MPI_COMM_WORLD on one transport of bough, made when MPI starts; and the communicators of
// bough over it, made when a communicator of the program first needs one.
#ifndef BOUGH_TOOLS_MPI_WORLD_HPP
#define BOUGH_TOOLS_MPI_WORLD_HPP

#include "ballot.hpp"
#include "host.hpp"
#include "link.hpp"
#include "never_destroyed.hpp"
#include "reason.hpp"
#include "report.hpp"
#include "setting.hpp"
#include <bough/communicator.hpp>
#include <bough/core/status.hpp>
#include <bough/session/contexts.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace under_mpi {

// For which call of the program its ranks make a part: for the first collective of a communicator, or for a
// persistent one.
struct purpose {
    std::uint32_t number = 0;
    static purpose persistent(collective which) noexcept { return {1 + static_cast<std::uint32_t>(which)}; }
    std::array<char, 48> text() const noexcept;
};

// What a communicator of the program, or a persistent call of it, has of bough. Starts of a persistent call are
// calls of `blocking`. Nonblocking calls have their own, since the MPI itself makes some on the program's communicator whenever it
// makes progress, and calls match by their order. It has its number from the beginning, but is made at the first
// of them: most programs make none.
class part {
public:
    part(communicator&& its, std::uint16_t number_of_later) noexcept
        : blocking(std::move(its)), number_of_later_(number_of_later) {}
    part(part&& other) noexcept
        : blocking(std::move(other.blocking)), later_(std::move(other.later_)),
          number_of_later_(std::exchange(other.number_of_later_, bough::contexts::none)),
          has_given_up_later_(other.has_given_up_later_) {}
    part& operator=(part&&) = delete;
    ~part();

    communicator blocking;
    std::uint16_t number_of_later() const noexcept { return number_of_later_; }
    // For nonblocking calls; null: there is none yet.
    communicator* later() noexcept { return later_ ? &*later_ : nullptr; }
    template <class Make>
    void make_later(const Make& make) { // make() -> communicator
        later_.emplace(make());
    }
    // No other rank knows of it, and none ever will. Its numbers are its maker's again.
    void withdraw() noexcept {
        auto& session = *blocking.shared_session();
        session.with_lock([&] { session.contexts().withdraw(blocking.context()); });
        number_of_later_ = bough::contexts::none;
    }
    // This rank had no memory for it.
    bool has_given_up_later() const noexcept { return has_given_up_later_; }
    // Refuses its first call. The session knows the members from then on, so that what becomes of that call is
    // told to these alone: other ranks may use the number for others. They must outlive the part.
    void give_up_later(const std::vector<bough::rank_t>& members) noexcept;
    // How many calls this rank has made in it: blocking ones, and nonblocking ones.
    std::array<std::uint32_t, 2> calls() const {
        auto& session = *blocking.shared_session();
        return session.with_lock([&] {
            const bough::contexts& all = session.contexts();
            return std::array{all.latest(blocking.context()), all.latest(number_of_later_)};
        });
    }
    bool is_broken() const {
        return has_given_up_later_ || blocking.poison() || blocking.shared_session()->poison(number_of_later_);
    }

private:
    std::optional<communicator> later_;
    std::uint16_t number_of_later_;
    bool has_given_up_later_ = false;
};

class world {
public:
    static world& get(); // never destroyed

    // Collective over MPI_COMM_WORLD, once. If bough cannot be used on one rank, it is used on none, and
    // rank 0 says why in a sentence.
    void start(host_group& host, bough::rank_t rank, bough::rank_t size, bool has_threads) noexcept;
    // When MPI ends.
    void stop() noexcept;

    setting is() const noexcept { return setting_; }
    bool has_started() const noexcept { return base_.has_value(); }
    // BOUGH_MPI=report, and it is for this library to count. There are two: one for jobs on one node, and one for
    // jobs on several. The other one stands aside.
    bool reports() const noexcept { return is_in_charge_ && read_setting() == setting::report; }
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }

    // Collective over the members (ranks of MPI_COMM_WORLD), whose host_group it is, and among whom this rank has
    // that seat. Null: this rank had no memory for their numbers. All ranks get a part, or none does, for the
    // reason that is returned.
    reason make(const std::vector<bough::rank_t>* members, const seat& at, purpose why, host_group& host,
                std::optional<part>& made) noexcept;
    // Its communicator for nonblocking calls. Null: this rank has no memory for it, and the others have been
    // told that it has given up their first call.
    communicator* make_later(const std::vector<bough::rank_t>& members, part& of) noexcept;
    // Keeps it for the next group of the same members, if there is room.
    void give_back(const std::vector<bough::rank_t>& members, part&& made) noexcept;

private:
    friend struct never_destroyed<world>;
    world() = default;
    void join(host_group& host, std::uint64_t deadline_ns) noexcept;
    void run_without(const char* why) noexcept;
    std::optional<part> take_kept(const std::vector<bough::rank_t>& members) noexcept;
    communicator new_one(const std::vector<bough::rank_t>& members, std::uint16_t context);

    bool is_in_charge_ = !is_for_nodes; // until start() knows
    setting setting_ = setting::off;
    bool may_have_threads_ = false; // MPI_THREAD_MULTIPLE, on some rank
    bough::rank_t rank_ = 0, size_ = 1;
    std::optional<communicator> base_; // holds the session
    thread_mutex later_mutex_;         // of parts' communicators for nonblocking calls
    std::mutex mutex_;                 // of what follows
    std::map<std::vector<bough::rank_t>, std::vector<part>> kept_;
    std::size_t kept_count_ = 0;
};

} // namespace under_mpi

#endif
