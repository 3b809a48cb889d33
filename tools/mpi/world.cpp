// SPDX-License-Identifier: BSL-1.0
#include "world.hpp"

#include <bough/error.hpp>
#include <bough/session/contexts.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace under_mpi {

namespace {

constexpr std::size_t most_kept = 64;

// Ranks with the same number can share memory: same kernel, same processes, same user.
std::uint64_t place_of_this_process() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    for (const char* space : {"/proc/self/ns/pid", "/proc/self/ns/net"}) {
        struct stat about {};
        if (::stat(space, &about) == 0) id += '/' + std::to_string(about.st_ino);
    }
    return std::hash<std::string>()(id + '/' + std::to_string(::getuid()));
}

// A WireUp over the host.
class host_wire {
public:
    host_wire(host_group& host, bough::rank_t rank, bough::rank_t size) : host_(&host), rank_(rank), size_(size) {}
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }
    // MPI knows no timeouts: a rank that does not come is mpirun's to find.
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t) {
        if (const bough::status bad = bough::check_exchange(mine, all, size_)) return bad;
        if (!host_->gather_from_all(mine.data(), static_cast<int>(mine.size()), all.data()))
            return {.code = bough::errc::protocol_error};
        return {};
    }

private:
    host_group* host_;
    bough::rank_t rank_, size_;
};

// False: no memory was left.
template <class F>
bool is_done(const F& f) noexcept {
    try {
        f();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

bool drive_host(void*, std::uint32_t idle) {
    // A rank that only just began to wait is mostly served within these polls.
    if (idle == 0 || idle > 8 || idle % 4 == 0) progress_host();
    return false;
}

} // namespace

world& world::get() {
    static world* const only = new world;
    return *only;
}

void world::run_without(const char* why) noexcept {
    setting_ = setting_ == setting::report ? setting::report : setting::off;
    if (rank_ == 0) std::fprintf(stderr, "bough: %s; the program runs with its MPI's own collectives\n", why);
}

// What ranks must agree on goes to find_greatest() with its complement: all have the same if the greatest
// number is the least.
void world::start(host_group& host, bough::rank_t rank, bough::rank_t size, bool has_threads) noexcept {
    if (base_) return;
    rank_ = rank;
    size_ = size;
    setting_ = read_setting();
    thread_mutex::is_needed = has_threads;
    const std::optional<std::uint64_t> deadline_ns = read_deadline_ns();
    std::uint64_t place = 0;
    const bool has_place = is_done([&] { place = place_of_this_process(); });
    const auto half = [](std::uint64_t n, int shift) { return static_cast<std::uint32_t>(n >> shift); };
    const std::uint64_t ends = deadline_ns.value_or(0);
    std::array<std::uint32_t, 3 + 2 * 5> said{setting_ == setting::unknown, !deadline_ns, !has_place};
    const std::array<std::uint32_t, 5> same{static_cast<std::uint32_t>(setting_), half(ends, 0), half(ends, 32),
                                            half(place, 0), half(place, 32)};
    for (std::size_t i = 0; i != same.size(); ++i) said[3 + 2 * i] = same[i], said[4 + 2 * i] = ~same[i];
    if (!host.find_greatest(said.data(), static_cast<int>(said.size())))
        return run_without("MPI_COMM_WORLD cannot be used");
    const auto differs = [&said](std::size_t i) { return said[3 + 2 * i] != ~said[4 + 2 * i]; };
    if (said[0] != 0) return run_without("BOUGH_MPI: must be off, on, report or check");
    if (said[1] != 0) return run_without("BOUGH_MPI_DEADLINE: must be a number of seconds, from 0.001 to 1000000");
    if (said[2] != 0) return run_without("a rank has no memory left");
    if (differs(0)) return run_without("BOUGH_MPI differs between ranks");
    if (differs(1) || differs(2)) return run_without("BOUGH_MPI_DEADLINE differs between ranks");
    if (differs(3) || differs(4)) return run_without("the ranks are on several nodes, or of several users");
    if (setting_ != setting::off) join(host, *deadline_ns);
}

void world::join(host_group& host, std::uint64_t deadline_ns) noexcept {
    std::string why = "no memory is left on a rank";
    std::uint32_t has_failed = 1;
    is_done([&] {
        bough::status said;
        host_wire wire(host, rank_, size_);
        std::optional<bough::shared_memory> joined = bough::shared_memory::join(wire, said);
        if (!joined) return why = bough::message_of(said), void();
        const bough::communicator_options options{.timeout_ns = deadline_ns, .while_waiting = {drive_host, nullptr}};
        base_.emplace(link(std::move(*joined)), options);
        has_failed = 0;
    });
    if (host.find_greatest(&has_failed, 1) && has_failed == 0) return;
    base_.reset();
    is_done([&] { why = "shared memory cannot be used: " + why; });
    run_without(why.c_str());
}

void world::stop() noexcept {
    const std::scoped_lock held(mutex_);
    kept_.clear();
    base_.reset();
}

communicator world::new_one(const std::vector<bough::rank_t>& members, std::uint16_t context) {
    bool is_whole = members.size() == size_;
    for (bough::rank_t r = 0; is_whole && r != size_; ++r) is_whole = members[r] == r;
    return {base_->shared_session(), is_whole ? std::vector<bough::rank_t>() : members, context, base_->options()};
}

std::optional<part> world::take_kept(const std::vector<bough::rank_t>& members) noexcept {
    const std::scoped_lock held(mutex_);
    const auto found = kept_.find(members);
    if (found == kept_.end()) return std::nullopt;
    std::optional<part> taken(std::move(found->second.back()));
    found->second.pop_back();
    if (found->second.empty()) kept_.erase(found);
    --kept_count_;
    return taken;
}

void world::give_back(const std::vector<bough::rank_t>& members, part&& made) noexcept {
    const std::scoped_lock held(mutex_);
    if (!base_ || kept_count_ == most_kept) return;
    if (is_done([&] { kept_[members].push_back(std::move(made)); })) ++kept_count_;
}

namespace {

// The two numbers of a part.
struct numbers {
    std::uint16_t blocking = bough::contexts::none, nonblocking = bough::contexts::none;

    bool are_some() const noexcept { return blocking != bough::contexts::none && nonblocking != bough::contexts::none; }
};
struct agreed {
    numbers greatest{};
    bool are_same = false;   // all ranks have proposed them
    bool has_memory = false; // all ranks have
    bool has_host = false;   // the host had no error
};
agreed agree(host_group& host, numbers mine, bool has_memory) noexcept {
    const std::uint32_t a = mine.blocking, b = mine.nonblocking;
    std::array<std::uint32_t, 5> all{a, ~a, b, ~b, has_memory ? 0u : 1u};
    agreed found{.has_host = host.find_greatest(all.data(), static_cast<int>(all.size()))};
    found.greatest = {static_cast<std::uint16_t>(all[0]), static_cast<std::uint16_t>(all[2])};
    found.are_same = all[0] == ~all[1] && all[2] == ~all[3];
    found.has_memory = all[4] == 0;
    return found;
}
bool all_agree(host_group& host, bool mine) noexcept {
    std::uint32_t disagrees = mine ? 0 : 1;
    return host.find_greatest(&disagrees, 1) && disagrees == 0;
}

// The numbers that a rank has reserved of its session.
template <class Session>
class reservation {
public:
    explicit reservation(Session& of) noexcept : of_(of) {}
    reservation(const reservation&) = delete;
    reservation& operator=(const reservation&) = delete;
    ~reservation() { let_go(); }

    const numbers& has() const noexcept { return has_; }
    void reserve(std::uint32_t least) {
        let_go();
        of_.with_lock([&] {
            has_.blocking = of_.contexts().reserve(least);
            if (has_.blocking != bough::contexts::none) has_.nonblocking = of_.contexts().reserve(has_.blocking + 1u);
            return 0;
        });
    }
    // These ones. False: one of them is taken.
    bool claim(const numbers& wanted) {
        let_go();
        return of_.with_lock([&] {
            if (!of_.contexts().claim(wanted.blocking)) return false;
            has_.blocking = wanted.blocking;
            if (!of_.contexts().claim(wanted.nonblocking)) return false;
            has_.nonblocking = wanted.nonblocking;
            return true;
        });
    }
    void keep() noexcept { has_ = {}; }

private:
    void let_go() noexcept {
        for (const std::uint16_t n : {has_.nonblocking, has_.blocking})
            if (n != bough::contexts::none) of_.with_lock([&] { return of_.contexts().give_back(n), 0; });
        has_ = {};
    }
    Session& of_;
    numbers has_{};
};

} // namespace

// As fresh_context of bough/group.hpp finds a number, but two of them, and with the host's calls: there is no
// communicator of these members yet. Numbers that are kept are taken on all members, so that what one member
// kept is never new to another. A rank that runs out of memory goes on voting, and all give up together.
reason world::make(const std::vector<bough::rank_t>* members, host_group& host, std::optional<part>& made) noexcept {
    auto& session = *base_->shared_session();
    bool has_memory = members != nullptr;
    if (has_memory) made = take_kept(*members);
    reservation mine(session);
    for (std::uint32_t least = 1;;) {
        if (!made && has_memory) has_memory = is_done([&] { mine.reserve(least); });
        const agreed on =
            agree(host, made ? numbers{made->blocking.context(), made->nonblocking.context()} : mine.has(), has_memory);
        if (on.has_host && on.has_memory && on.are_same && made) return reason::none;
        if (made) give_back(*members, std::move(*made));
        made.reset();
        if (!on.has_host || !on.has_memory) return reason::no_memory;
        if (!on.greatest.are_some()) return reason::too_many;
        if (!on.are_same) {
            bool is_mine = false;
            has_memory = is_done([&] { is_mine = mine.claim(on.greatest); });
            if (!all_agree(host, is_mine)) {
                least = std::max(on.greatest.blocking, on.greatest.nonblocking) + 1u;
                continue;
            }
        }
        const bool is_made = is_done([&] {
            communicator blocking = new_one(*members, on.greatest.blocking);
            made.emplace(part{std::move(blocking), new_one(*members, on.greatest.nonblocking)});
        });
        if (is_made) mine.keep();
        if (all_agree(host, is_made)) return reason::none;
        made.reset();
        mine.keep(); // the others may have used the numbers already
        return reason::no_memory;
    }
}

} // namespace under_mpi
