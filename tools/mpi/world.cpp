// SPDX-License-Identifier: BSL-1.0
#include "world.hpp"

#include "is_done.hpp"
#include <bough/error.hpp>
#include <bough/session/contexts.hpp>
#include <bough/transport/composite/nodes.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace under_mpi {

namespace {

constexpr std::size_t most_kept = 64;
#ifdef BOUGH_UNDER_MPI_ONE_NODE_ALONE
constexpr bool has_library_for_nodes = false;
#else
constexpr bool has_library_for_nodes = true;
#endif

// Ranks with the same name can share memory.
std::string name_of_node() {
    const std::string_view said = read_text("BOUGH_MPI_NODE");
    return said.empty() ? bough::node_name() : std::string(said.substr(0, bough::most_node_name_bytes));
}

#ifdef BOUGH_UNDER_MPI_NODES
// Of the first interface of this machine that is up, has a link, and is no loopback; empty: there is
// none.
std::string first_address() {
    std::string found;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return found;
    for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
        constexpr unsigned usable = IFF_UP | IFF_RUNNING;
        if ((one->ifa_flags & (usable | IFF_LOOPBACK)) != usable) continue;
        std::array<char, INET_ADDRSTRLEN> text{};
        sockaddr_in at{};
        std::memcpy(&at, one->ifa_addr, sizeof(at));
        if (::inet_ntop(AF_INET, &at.sin_addr, text.data(), text.size()) != nullptr) found = text.data();
    }
    ::freeifaddrs(all);
    return found;
}
#endif

// A WireUp over the host. A rank that gives up the joining, say for want of memory, cannot know what the
// others exchange next. So each exchange begins with a vote, and so does what comes after the last one:
// there it is heard.
class host_wire {
public:
    host_wire(host_group& host, bough::rank_t rank, bough::rank_t size) : host_(&host), rank_(rank), size_(size) {}
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return size_; }
#ifdef BOUGH_UNDER_MPI_NODES
    std::string address() const {
        const std::string_view said = read_text("BOUGH_MPI_ADDRESS");
        return said.empty() ? first_address() : std::string(said);
    }
#endif
    // MPI knows no timeouts: a rank that does not come is mpirun's to find.
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t) {
        if (const bough::status bad = bough::check_exchange(mine, all, size_)) return bad;
        if (const std::uint32_t who = hear(false)) return {.code = bough::errc::peer_aborted, .peer = who - 1};
        if (!host_->gather_from_all(mine.data(), static_cast<int>(mine.size()), all.data()))
            return {.code = bough::errc::protocol_error};
        return {};
    }

    // Collective. 1 + the last rank that gives up, 0: none does. After that nobody votes any more.
    std::uint32_t hear(bool gives_up) noexcept {
        if (given_up_ != 0) return given_up_;
        given_up_ = gives_up ? rank_ + 1 : 0;
        vote(*host_, {&given_up_, 1});
        return given_up_;
    }

private:
    host_group* host_;
    bough::rank_t rank_, size_;
    std::uint32_t given_up_ = 0;
};

#ifdef BOUGH_UNDER_MPI_NODES
constexpr const char* what_joins = "shared memory and tcp cannot be used: ";
std::optional<link_base> join_link(host_wire& wire, bough::status& said) {
    return bough::join_composite(wire, {.node = name_of_node()}, said);
}
#else
constexpr const char* what_joins = "shared memory cannot be used: ";
std::optional<link_base> join_link(host_wire& wire, bough::status& said) {
    return bough::shared_memory::join(wire, {}, said);
}
#endif

bool drive_host(void*, std::uint32_t idle) {
    // A rank that only just began to wait is mostly served within these polls.
    if (idle == 0 || idle > 8 || idle % 4 == 0) progress_host();
    return false;
}

} // namespace

// The number for nonblocking calls is let go, too, as another rank may have made its communicator and a call in
// it. Without memory to do that it is not used again.
part::~part() {
    if (number_of_later_ == bough::contexts::none || later_) return;
    auto& session = *blocking.shared_session();
    std::vector<bough::rank_t> members; // outlives what is said to them
    const bool is_open = has_given_up_later_ || is_done([&] {
                             members.resize(blocking.size());
                             for (bough::rank_t r = 0; r != blocking.size(); ++r) members[r] = blocking.world_rank(r);
                             session.with_lock([&] { session.contexts().open(number_of_later_, members); });
                         });
    if (is_open) session.let_go_of_communicator(number_of_later_, false);
}
void part::give_up_later(const std::vector<bough::rank_t>& members) noexcept {
    has_given_up_later_ = true;
    auto& session = *blocking.shared_session();
    session.with_lock([&] { session.contexts().open(number_of_later_, members); }); // allocates nothing
    bough::envelope first;
    first.operation = 1;
    first.context = number_of_later_;
    is_done([&] { session.refuse(first, bough::errc::no_resources, members); });
}

std::array<char, 48> purpose::text() const noexcept {
    std::array<char, 48> said{"the first collective of a communicator"};
    if (number == 0) return said;
    std::snprintf(said.data(), said.size(), "MPI_%s_init", name_of(static_cast<collective>(number - 1)));
    said[4] = static_cast<char>(said[4] - 'a' + 'A');
    return said;
}

world& world::get() { return never_destroyed<world>::get(); }

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
    const bool has_place = is_done([&] { place = std::hash<std::string>()(name_of_node()); });
    const auto half = [](std::uint64_t n, int shift) { return static_cast<std::uint32_t>(n >> shift); };
    const std::uint64_t ends = deadline_ns.value_or(0);
    std::array<std::uint32_t, 4 + 2 * 5> said{setting_ == setting::unknown, !deadline_ns, !has_place, has_threads};
    const std::array<std::uint32_t, 5> same{static_cast<std::uint32_t>(setting_), half(ends, 0), half(ends, 32),
                                            half(place, 0), half(place, 32)};
    for (std::size_t i = 0; i != same.size(); ++i) said[4 + 2 * i] = same[i], said[5 + 2 * i] = ~same[i];
    vote(host, said);
    const auto differs = [&said](std::size_t i) { return said[4 + 2 * i] != ~said[5 + 2 * i]; };
    const bool has_nodes = differs(3) || differs(4);
    may_have_threads_ = said[3] != 0;
    is_in_charge_ = has_nodes ? is_for_nodes || !has_library_for_nodes : !is_for_nodes;
    if (!is_in_charge_) { // what is wrong, the other library says
        setting_ = setting::off;
        return;
    }
    if (said[0] != 0) return run_without("BOUGH_MPI: must be off, on, report or check");
    if (differs(0)) return run_without("BOUGH_MPI differs between ranks");
    if (setting_ == setting::off) return;
    if (said[1] != 0) return run_without("BOUGH_MPI_DEADLINE: must be a number of seconds, from 0.001 to 1000000");
    if (said[2] != 0) return run_without("a rank has no memory left");
    if (differs(1) || differs(2)) return run_without("BOUGH_MPI_DEADLINE differs between ranks");
    if (has_nodes && !is_for_nodes)
        return run_without("the ranks are on several nodes, or of several users, and bough was built without tcp");
    join(host, *deadline_ns);
}

void world::join(host_group& host, std::uint64_t deadline_ns) noexcept {
    host_wire wire(host, rank_, size_);
    bough::status said;
    is_done([&] {
        std::optional<link_base> joined = join_link(wire, said);
        if (!joined) return;
        const bough::communicator_options options{.timeout_ns = deadline_ns, .while_waiting = {drive_host, nullptr}};
        communicator base(link(std::move(*joined)), options);
        ballot::reserve(base);
        base_.emplace(std::move(base));
    });
    const std::uint32_t who = wire.hear(!base_);
    if (who == 0) return;
    const bool is_own = !base_ && said.code != bough::errc::peer_aborted;
    base_.reset();
    std::string why;
    is_done([&] {
        const bool is_known = said && said.code != bough::errc::peer_aborted;
        why = what_joins + (is_known ? bough::message_of(said)
                            : is_own ? "no memory is left on rank " + std::to_string(rank_)
                                     : "rank " + std::to_string(who - 1) + " could not join");
    });
    if (is_own && rank_ != 0 && rank_ == who - 1) // rank 0 knows its number alone
        std::fprintf(stderr, "bough: rank %u of MPI_COMM_WORLD: %s\n", rank_, why.c_str());
    run_without(why.empty() ? "a rank could not join" : why.c_str());
}

void world::stop() noexcept {
    const std::scoped_lock held(mutex_);
    kept_.clear();
    base_.reset();
}

communicator world::new_one(const std::vector<bough::rank_t>& members, std::uint16_t context) {
    return {base_->shared_session(), members, context, base_->options_among(members)};
}

communicator* world::make_later(const std::vector<bough::rank_t>& members, part& of) noexcept {
    const std::scoped_lock held(later_mutex_);
    if (of.later() != nullptr || of.has_given_up_later()) return of.later();
    is_done([&] { of.make_later([&] { return new_one(members, of.number_of_later()); }); });
    if (of.later() != nullptr) return of.later();
    of.give_up_later(members);
    return nullptr;
}

std::optional<part> world::take_kept(const std::vector<bough::rank_t>& members) noexcept {
    const std::scoped_lock held(mutex_);
    const auto found = kept_.find(members);
    if (found == kept_.end()) return std::nullopt;
    std::optional<part> taken;
    while (!taken && !found->second.empty()) {
        if (!found->second.back().is_broken()) taken.emplace(std::move(found->second.back()));
        found->second.pop_back();
        --kept_count_;
    }
    if (found->second.empty()) kept_.erase(found);
    return taken;
}

void world::give_back(const std::vector<bough::rank_t>& members, part&& made) noexcept {
    const std::scoped_lock held(mutex_);
    if (!base_ || kept_count_ == most_kept || made.is_broken()) return;
    if (is_done([&] { kept_[members].push_back(std::move(made)); })) ++kept_count_;
}

namespace {

// The two numbers of a part.
struct numbers {
    std::uint16_t blocking = bough::contexts::none, nonblocking = bough::contexts::none;

    bool are_some() const noexcept { return blocking != bough::contexts::none && nonblocking != bough::contexts::none; }
};
// What a rank proposes, and what all ranks have proposed.
struct proposal {
    numbers of{};
    std::array<std::uint32_t, 2> calls{}; // that it has made in that part; a rank that has missed one has made fewer
    bool is_kept = false;                 // the part was another communicator's
    bool has_memory = true;
};
struct agreed {
    numbers greatest{};
    bool are_same = false;   // all ranks have proposed them, and have made as many calls
    bool has_kept = false;   // some rank has proposed a part that it had kept
    bool has_memory = false; // all ranks have
};
template <class Vote>
agreed agree(const Vote& vote, const proposal& mine, purpose why) noexcept {
    // Of each of these the greatest and the least.
    const std::array<std::uint32_t, 5> same{mine.of.blocking, mine.of.nonblocking, mine.calls[0], mine.calls[1],
                                            why.number};
    std::array<std::uint32_t, 2 * 5 + 1> all{};
    static_assert(all.size() <= ballot::most_numbers);
    for (std::size_t i = 0; i != same.size(); ++i) all[2 * i] = same[i], all[2 * i + 1] = ~same[i];
    all[10] = !mine.has_memory ? 2 : mine.is_kept ? 1 : 0;
    vote(all);
    const auto are_equal = [&all](std::size_t i) { return all[2 * i] == ~all[2 * i + 1]; };
    if (!are_equal(4)) {
        const purpose other{all[8] != why.number ? all[8] : ~all[9]};
        end_job_as_different(why.text().data(), other.text().data());
    }
    agreed found;
    found.greatest = {static_cast<std::uint16_t>(all[0]), static_cast<std::uint16_t>(all[2])};
    found.are_same = are_equal(0) && are_equal(1) && are_equal(2) && are_equal(3);
    found.has_memory = all[10] != 2;
    found.has_kept = all[10] != 0;
    return found;
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
    // These ones, or greater ones if one of them is taken. `none`: any.
    void take(const numbers& wanted) {
        let_go();
        of_.with_lock([&] {
            bough::contexts& all = of_.contexts();
            std::uint32_t least = 1;
            if (wanted.are_some()) {
                if (all.claim(wanted.blocking)) has_.blocking = wanted.blocking;
                if (all.claim(wanted.nonblocking)) has_.nonblocking = wanted.nonblocking;
                if (has_.are_some()) return 0;
                least = std::max(wanted.blocking, wanted.nonblocking) + 1u;
            }
            let_go();
            has_.blocking = all.reserve(least);
            if (has_.blocking != bough::contexts::none) has_.nonblocking = all.reserve(has_.blocking + 1u);
            return 0;
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

// Each rank makes a part of numbers that are free there, and proposes it. If all propose the same numbers, the
// parts are good, which is nearly always so. Otherwise all try the greatest numbers next, or greater ones where
// these are taken. As nobody uses a part that was not agreed on, a new one goes without a word to the others. A part
// that was kept is proposed, too. If others propose another one, as they keep parts in another order, or have made other calls in
// it, it is let go, and all propose new numbers, as if for the first time. A rank that runs out of memory goes on
// voting, and all give up together.
//
// Only if several threads may make communicators of the same members at the same time, and nothing tells these
// apart, the host counts the votes.
reason world::make(const std::vector<bough::rank_t>* members, const seat& at, purpose why, host_group& host,
                   std::optional<part>& made) noexcept {
    auto& session = *base_->shared_session();
    bool has_memory = members != nullptr, is_kept = false;
    if (has_memory)
        if (std::optional<part> kept = take_kept(*members)) made.emplace(std::move(*kept)), is_kept = true;
    reservation mine(session);
    const auto what = why.text();
    ballot votes(*base_, at, what.data());
    const bool is_by_host = may_have_threads_ && host.number() == 0;
    const auto among = [&](std::span<std::uint32_t> said) {
        is_by_host ? vote(host, said, *base_, members) : votes.cast(said);
    };
    for (numbers wanted;;) {
        if (!made && has_memory)
            has_memory = is_done([&] {
                mine.take(wanted);
                if (!mine.has().are_some()) return;
                made.emplace(new_one(*members, mine.has().blocking), mine.has().nonblocking);
            });
        proposal offered{mine.has(), {}, is_kept, has_memory};
        if (made) offered.of = {made->blocking.context(), made->number_of_later()}, offered.calls = made->calls();
        const agreed on = agree(among, offered, why);
        if (on.has_memory && on.are_same && made) {
            mine.keep();
            return reason::none;
        }
        if (made && is_kept && !on.has_memory) give_back(*members, std::move(*made));
        if (made && !is_kept) made->withdraw();
        made.reset(); // if it was kept, it is let go
        is_kept = false;
        if (!on.has_memory) return reason::no_memory;
        if (on.has_kept) {
            wanted = {};
            continue;
        }
        if (!on.greatest.are_some()) return reason::too_many;
        wanted = on.greatest;
    }
}

} // namespace under_mpi
