// SPDX-License-Identifier: BSL-1.0
// environment_wire_up: a wire-up by the four variables that torchrun and many job scripts set: RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT. POSIX.
//
//   bough::environment_wire_up wire;                      // throws bough::error
//   bough::communicator comm{bough::make_composite(wire)};
//
//   bough::status s;                                      // or without exceptions
//   std::optional<bough::environment_wire_up> wire = bough::environment_wire_up::join(s);
//
// A program that includes this header finds such a job by this_job(), too, if RANK and WORLD_SIZE
// are set. Rank 0 listens at MASTER_ADDR and MASTER_PORT, and answers the exchanges in a thread of
// its own until its wire-up is destroyed. The others connect, and try again until `timeout_ns` has
// passed. Rank 0 listens at all addresses of its machine if MASTER_ADDR is none of them, or is a
// name that this machine takes for loopback, as many systems do with their own. With "localhost" or
// an address of loopback it listens there alone.
//
// address() is that of this machine on the way to MASTER_ADDR: tcp listens there, at loopback if
// MASTER_ADDR is one. If it is another one, BOUGH_SOCKET_IFNAME names the network interface.
//
// Errors: invalid_argument names the variable that is missing or wrong, and the values that do not
// fit. If WORLD_SIZE differs, or a RANK is too high, all ranks get it, those that have joined from
// their next exchange. Of two processes with one RANK the second one gets it, and the others if
// then a rank is missing; of two with RANK 0, and if MASTER_PORT is in use otherwise, the one that
// cannot listen. Processes of another job that come here get it, and the job goes on, if both jobs
// have a TORCHELASTIC_RUN_ID or SLURM_JOB_ID. deadline: nobody listens there in time; or a rank has
// not come to an exchange, with its number. peer_dead: a rank has ended before an exchange. All
// sentences name the variable that may be wrong.
//
// Whoever reaches the port may claim to be a rank, and hears what is exchanged, keys of tcp
// included: use it in a network that you trust, as you would PyTorch's store. `bough launch` and
// PMIx have no such port, and tcp by a list of hosts has a key (doc/launch.md).
#ifndef BOUGH_LAUNCH_ENVIRONMENT_HPP
#define BOUGH_LAUNCH_ENVIRONMENT_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/launch/detail/environment_server.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/launch/job.hpp>
#include <bough/launch/this_job.hpp>
#include <bough/os/address.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What the four variables say.
struct environment_place {
    rank_t rank = 0, size = 1;
    std::string address; // a name or a number
    std::uint16_t port = 0;
};

class environment_wire_up {
public:
    static constexpr std::uint64_t default_timeout_ns = 60'000'000'000;

    // Reads the variables. unsupported: neither RANK nor WORLD_SIZE is set.
    static status read(environment_place& place) {
        const auto number = [](const char* text, std::uint64_t least, std::uint64_t most, std::uint64_t& value) {
            value = 0;
            if (text == nullptr || *text == '\0') return false;
            for (; *text != '\0'; ++text) {
                if (*text < '0' || *text > '9' || value > most) return false;
                value = value * 10 + static_cast<std::uint64_t>(*text - '0');
            }
            return value >= least && value <= most;
        };
        const char *rank = std::getenv("RANK"), *size = std::getenv("WORLD_SIZE");
        const char *address = std::getenv("MASTER_ADDR"), *port = std::getenv("MASTER_PORT");
        if (rank == nullptr && size == nullptr) return {.code = errc::unsupported};
        std::uint64_t value = 0;
        if (size == nullptr) return invalid_argument("WORLD_SIZE: is not set, but RANK is");
        if (!number(size, 1, most_ranks, value))
            return invalid_argument("WORLD_SIZE: must be a number of ranks, at least 1");
        place.size = static_cast<rank_t>(value);
        if (rank == nullptr) return invalid_argument("RANK: is not set, but WORLD_SIZE is");
        if (!number(rank, 0, most_ranks, value)) return invalid_argument("RANK: must be a number below WORLD_SIZE");
        place.rank = static_cast<rank_t>(value);
        if (place.size == 1) return check(place);
        if (address == nullptr || *address == '\0')
            return invalid_argument("MASTER_ADDR: is not set; it is the name or address of the machine of rank 0");
        if (!number(port, 1, 65535, value)) return invalid_argument("MASTER_PORT: must be a port, 1 to 65535");
        place.address = address;
        place.port = static_cast<std::uint16_t>(value);
        return check(place);
    }

    // Collective. Empty on error, and `result` says why.
    static std::optional<environment_wire_up> join(status& result, std::uint64_t timeout_ns = default_timeout_ns) {
        environment_place place;
        result = read(place);
        if (result.code == errc::unsupported)
            result = invalid_argument("RANK: is not set, and neither is WORLD_SIZE: no launcher has set them");
        if (result && place.port == 0) return std::nullopt;
        return join(place, result, timeout_ns);
    }
    // The same at a place that the program knows in another way.
    static std::optional<environment_wire_up> join(const environment_place& place, status& result,
                                                   std::uint64_t timeout_ns = default_timeout_ns) {
        const std::uint64_t last = deadline_after(detail::steady_now_ns(), timeout_ns);
        if (result = check(place); result) {
            if (place.port != 0)
                detail::jobs::environment_server::tell_misfit(place.address, place.port, place.rank, place.size);
            return std::nullopt;
        }
        std::string address;
        if (result = find_interface(place, address); result) return std::nullopt;
        detail::unique_fd mine;
        std::unique_ptr<detail::jobs::environment_server> server;
        if (place.rank == 0)
            result = detail::jobs::environment_server::open(place.address, place.port, place.size, mine, server);
        else
            result = detail::jobs::environment_server::connect(place.address, place.port, place.rank, place.size, mine,
                                                               last);
        if (result) return std::nullopt;
        // Now the name is known, which may have taken a while.
        if (result = find_way(place, mine.get(), address); result) return std::nullopt;
        detail::jobs::launch_hello hello;
        const std::uint64_t now = detail::steady_now_ns();
        result = detail::jobs::launched_wire_up::greet(mine.get(), hello, last > now ? last - now : 0);
        if (!result && (hello.rank != place.rank || hello.size != place.size)) result = {.code = errc::protocol_error};
        if (result) return std::nullopt;
        return environment_wire_up(std::move(mine), place, std::move(address), std::move(server));
    }
    explicit environment_wire_up(std::uint64_t timeout_ns = default_timeout_ns)
        : environment_wire_up(joined_or_throw(timeout_ns)) {}

    rank_t rank() const noexcept { return wire_.rank(); }
    rank_t size() const noexcept { return wire_.size(); }
    std::string address() const { return address_; }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) noexcept {
        status s = wire_.exchange(mine, all, timeout_ns);
        if (s) s.argument = detail::jobs::argument_of(static_cast<detail::jobs::environment_fault>(wire_.reason()));
        return s;
    }

private:
    static constexpr rank_t most_ranks = 65535;

    environment_wire_up(detail::unique_fd fd, const environment_place& place, std::string address,
                        std::unique_ptr<detail::jobs::environment_server> server)
        : address_(std::move(address)), server_(std::move(server)), wire_(std::move(fd), place.rank, place.size) {}
    static status check(const environment_place& place) {
        if (place.rank < place.size) return {};
        status s = invalid_argument("RANK: it is {mine}, and must be below WORLD_SIZE, which is {theirs}");
        s.mine = place.rank;
        s.theirs = place.size;
        return s;
    }
    static status find_interface(const environment_place& place, std::string& found) {
        const char* const interface = std::getenv("BOUGH_SOCKET_IFNAME");
        if (place.size == 1 || interface == nullptr || *interface == '\0') return {};
        detail::interface_state state{};
        found = detail::address_of_interface(interface, state);
        switch (state) {
        case detail::interface_state::usable: break;
        case detail::interface_state::unknown:
            return invalid_argument("BOUGH_SOCKET_IFNAME: this machine has no interface of this name");
        case detail::interface_state::down: return invalid_argument("BOUGH_SOCKET_IFNAME: this interface is down");
        case detail::interface_state::without_address:
            return invalid_argument("BOUGH_SOCKET_IFNAME: this interface has no address");
        }
        return {};
    }
    // `fd`: the connection of a rank that is not 0.
    static status find_way(const environment_place& place, int fd, std::string& found) {
        if (place.size == 1 || !found.empty()) return {};
        found = detail::address_towards(place.address);
        if (found.empty() && place.rank != 0) found = detail::local_address_of(fd);
        if (!found.empty()) return {};
        return invalid_argument("MASTER_ADDR: no interface of this machine leads there");
    }
    static environment_wire_up joined_or_throw(std::uint64_t timeout_ns) {
        status s;
        std::optional<environment_wire_up> made = join(s, timeout_ns);
        detail::throw_if(s);
        return std::move(*made);
    }

    std::string address_;
    std::unique_ptr<detail::jobs::environment_server> server_; // of rank 0; outlives its end of the wire
    detail::jobs::launched_wire_up wire_;
};

static_assert(WireUp<environment_wire_up>);

namespace detail::jobs {

inline status find_environment(job& found) {
    environment_place place;
    if (const status bad = environment_wire_up::read(place); bad && place.port == 0) return bad;
    status s;
    std::optional<environment_wire_up> made = environment_wire_up::join(place, s);
    if (!s) found = job(std::move(*made));
    return s;
}
inline const job_source environment_source{&find_environment};

} // namespace detail::jobs

} // namespace bough

#endif
