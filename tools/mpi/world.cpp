// SPDX-License-Identifier: BSL-1.0
#include "world.hpp"

#include <bough/core/deadline.hpp>
#include <bough/error.hpp>
#include <bough/session/contexts.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <span>
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

void world::start(host_group& host, bough::rank_t rank, bough::rank_t size, bool has_threads) {
    if (base_) return;
    rank_ = rank;
    size_ = size;
    setting_ = read_setting();
    thread_mutex::is_needed = has_threads;
    struct card {
        std::uint64_t place, setting;
    };
    const card mine{place_of_this_process(), static_cast<std::uint64_t>(setting_)};
    std::vector<card> all(size);
    const auto without = [&](const std::string& why) {
        why_not_ = why;
        setting_ = setting_ == setting::report ? setting::report : setting::off;
        if (rank == 0)
            std::fprintf(stderr, "bough: %s; the program runs with its MPI's own collectives\n", why.c_str());
    };
    if (!host.gather_from_all(&mine, sizeof(card), all.data())) return without("MPI_COMM_WORLD cannot be used");
    for (const card& c : all) {
        if (c.setting == static_cast<std::uint64_t>(setting::unknown))
            return without("BOUGH_MPI: must be off, on, report or check");
        if (c.setting != all[0].setting) return without("BOUGH_MPI differs between ranks");
        if (c.place != all[0].place) return without("the ranks are on several nodes, or of several users");
    }
    if (setting_ == setting::off) {
        why_not_ = "BOUGH_MPI=off";
        return;
    }
    bough::status said;
    host_wire wire(host, rank, size);
    std::optional<bough::shared_memory> joined = bough::shared_memory::join(wire, said);
    std::uint32_t has_failed = joined ? 0 : 1;
    if (!host.find_greatest(&has_failed, 1) || has_failed != 0)
        return without("shared memory cannot be used: " + bough::message_of(said));
    why_not_.clear();
    base_.emplace(link(std::move(*joined)),
                  bough::communicator_options{.timeout_ns = bough::forever, .while_waiting = {drive_host, nullptr}});
}

void world::stop() {
    const std::scoped_lock held(mutex_);
    kept_.clear();
    base_.reset();
    why_not_ = "MPI had ended";
}

communicator world::new_one(const std::vector<bough::rank_t>& members, std::uint16_t context) {
    bool is_whole = members.size() == size_;
    for (bough::rank_t r = 0; is_whole && r != size_; ++r) is_whole = members[r] == r;
    return {base_->shared_session(), is_whole ? std::vector<bough::rank_t>() : members, context, base_->options()};
}

std::optional<communicator> world::take_kept(const std::vector<bough::rank_t>& members) {
    const std::scoped_lock held(mutex_);
    const auto found = kept_.find(members);
    if (found == kept_.end()) return std::nullopt;
    std::optional<communicator> taken(std::move(found->second.back()));
    found->second.pop_back();
    if (found->second.empty()) kept_.erase(found);
    --kept_count_;
    return taken;
}

void world::give_back(const std::vector<bough::rank_t>& members, communicator&& made) {
    const std::scoped_lock held(mutex_);
    if (!base_ || kept_count_ == most_kept) return;
    kept_[members].push_back(std::move(made));
    ++kept_count_;
}

// As fresh_context of bough/group.hpp finds a number, but with the host's calls: there is no communicator
// of these members yet. Numbers that are kept are taken on all members, so that what one member kept is
// never new to another.
std::optional<communicator> world::make(const std::vector<bough::rank_t>& members, host_group& host) {
    auto& session = *base_->shared_session();
    const auto numbers = [&session](auto&& use) { return session.with_lock([&] { return use(session.contexts()); }); };
    const auto release = [&numbers](std::uint16_t n) {
        if (n != bough::contexts::none) numbers([n](bough::contexts& c) { return c.give_back(n), 0; });
    };
    std::optional<communicator> kept = take_kept(members);
    for (std::uint32_t least = 1;;) {
        const std::uint16_t mine =
            kept ? kept->context() : numbers([least](bough::contexts& c) { return c.reserve(least); });
        std::array<std::uint32_t, 2> range{mine, ~std::uint32_t{mine}};
        if (!host.find_greatest(range.data(), 2)) return std::nullopt;
        const auto most = static_cast<std::uint16_t>(range[0]);
        if (range[0] == ~range[1]) { // all have the same number
            if (kept) return kept;
            if (most == bough::contexts::none) return std::nullopt;
            return new_one(members, most);
        }
        if (kept) {
            give_back(members, std::move(*kept));
            kept.reset();
        } else {
            release(mine);
        }
        if (most == bough::contexts::none) return std::nullopt;
        const bool is_mine = numbers([most](bough::contexts& c) { return c.claim(most); });
        std::uint32_t is_taken = is_mine ? 0 : 1;
        const bool has_agreed = host.find_greatest(&is_taken, 1);
        if (has_agreed && is_taken == 0) return new_one(members, most);
        if (is_mine) release(most);
        if (!has_agreed) return std::nullopt;
        least = most + 1u;
    }
}

} // namespace under_mpi
