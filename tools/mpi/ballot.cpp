// SPDX-License-Identifier: BSL-1.0
#include "ballot.hpp"

#include "end_job.hpp"
#include "is_done.hpp"
#include "world.hpp"
#include <bough/core/deadline.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <thread>

namespace under_mpi {

namespace {

[[noreturn]] void end_job_saying(const char* why) noexcept {
    std::fprintf(stderr, "bough: rank %u of MPI_COMM_WORLD: %s\n", world::get().rank(), why);
    end_job(MPI_COMM_WORLD);
    std::abort();
}
[[noreturn]] void end_job_as_lost(bough::rank_t who, const char* what) noexcept {
    std::array<char, 160> why{};
    std::snprintf(why.data(), why.size(), "rank %u is lost in %s", who, what);
    end_job_saying(why.data());
}
constexpr const char* first_collective = "the first collective of a communicator";
constexpr const char* vote_failed = "the MPI's allreduce, by which ranks agree, has failed";
constexpr const char* is_late = "a rank has not come to the first collective of a communicator by the deadline";

} // namespace

void end_job_as_different(const char* mine, const char* other) noexcept {
    std::array<char, 200> why{};
    std::snprintf(why.data(), why.size(), "the calls differ: %s here, %s there", mine, other);
    end_job_saying(why.data());
}

struct ballot::message {
    std::uint64_t key = 0;
    std::uint32_t vote = 0;
    std::uint32_t is_outcome = 0;
    std::array<std::uint32_t, most_numbers> numbers{};
    std::uint32_t unused = 0;
};

void ballot::reserve(communicator& base) {
    // Long enough for what else may come meanwhile, such as the failure of another communicator, which a rank
    // without memory could not take in.
    constexpr std::size_t bytes = 192;
    static_assert(bytes >= sizeof(message));
    auto& session = *base.shared_session();
    session.with_lock([&] { return session.messages().reserve(2 * (seat::most_below + 1), bytes), 0; });
}

void ballot::cast(std::span<std::uint32_t> numbers) noexcept {
    ++votes_;
    gather(numbers);
    if (at_.above() != bough::no_rank) {
        send(at_.above(), false, numbers);
        learn(numbers);
    }
    for (const bough::rank_t r : at_.below()) send(r, true, numbers);
    // What comes next may be a call of the host, in which nothing of bough's moves on.
    auto& session = *base_.shared_session();
    std::array<std::uint64_t, seat::most_below> last{};
    const auto all_told = [&] {
        return session.with_lock([&] {
            bool are = true;
            for (std::size_t i = 0; i != at_.below().size(); ++i)
                are = session.messages().has_told(at_.below()[i], last[i]) && are;
            return are;
        });
    };
    if (!all_told()) wait(all_told);
}

template <class F>
void ballot::wait(const F& is_over) noexcept {
    // A transport may need memory to sleep, and throw.
    const std::uint64_t never = bough::forever;
    bool has_ended = false;
    while (!has_ended)
        is_done([&] {
            if (!base_.shared_session()->wait_until(is_over, never, base_.options().while_waiting))
                end_job_saying("the child of a fork calls the first collective of a communicator");
            has_ended = true;
        });
}

// It is tried again until there is memory for it. What throws after the message has been put is the next
// turn of the session.
void ballot::send(bough::rank_t to, bool is_outcome, std::span<const std::uint32_t> numbers) noexcept {
    auto& session = *base_.shared_session();
    message m{at_.key(), votes_, is_outcome ? 1u : 0u};
    std::copy(numbers.begin(), numbers.end(), m.numbers.begin());
    bool is_put = false;
    while (!is_put) {
        is_done([&] {
            session.with_lock([&] {
                session.messages().put(to, bough::detail::control_segment, tag(), std::as_bytes(std::span(&m, 1)));
                return is_put = true;
            });
        });
        is_done([&] {
            session.make_way(); // an operation that runs straight would not let it go
            session.progress();
        });
    }
}

bough::envelope ballot::tag() noexcept {
    bough::envelope made;
    made.operation = ~std::uint32_t{0}; // no call counts so far
    made.kind = 0xfe;                   // bough's own meetings have 0xff
    return made;
}

template <class F>
void ballot::hear(bool is_outcome, const F& use) {
    base_.shared_session()->messages().hear([&](const bough::control_message& come) {
        message m;
        if (come.tag.context != 0 || come.tag.operation != tag().operation || come.tag.kind != tag().kind ||
            come.bytes.size() != sizeof(m))
            return false;
        std::memcpy(&m, come.bytes.data(), sizeof(m));
        if (m.key != at_.key() || m.vote != votes_ || (m.is_outcome != 0) != is_outcome) return false;
        return use(come.peer, m.numbers);
    });
}

namespace {

// A rank that others wait for.
class absence {
public:
    // `more_ns`: how much later than at its deadline.
    absence(communicator& base, const char* what, std::uint64_t more_ns = 0)
        : base_(base), what_(what),
          last_ns_(bough::deadline_after(bough::detail::steady_now_ns(), later(base.options().timeout_ns, more_ns))) {}
    // Ends the job if it will not come. Call it again and again, when all that has come has been heard.
    void look_for(bough::rank_t who, bool waits_itself) noexcept {
        if (base_.shared_session()->is_lost(who)) end_job_as_lost(who, what_); // after all that it has sent
        if (bough::detail::steady_now_ns() <= last_ns_) return;
        std::array<char, 160> why{};
        std::snprintf(why.data(), why.size(), "rank %u%s has not come to %s by the deadline", who,
                      waits_itself ? ", or one that it waits for," : "", what_);
        end_job_saying(why.data());
    }

private:
    static std::uint64_t later(std::uint64_t timeout_ns, std::uint64_t more_ns) noexcept {
        return timeout_ns == bough::forever ? timeout_ns : timeout_ns + more_ns;
    }
    communicator& base_;
    const char* what_;
    std::uint64_t last_ns_;
};
constexpr std::uint32_t turns_between_looks = 16;

} // namespace

void ballot::gather(std::span<std::uint32_t> numbers) noexcept {
    const std::span<const bough::rank_t> below = at_.below();
    if (below.empty()) return;
    auto& session = *base_.shared_session();
    std::bitset<seat::most_below> has_come;
    absence missing(base_, what_);
    std::uint32_t turn = 0;
    wait([&] {
        return session.with_lock([&] {
            hear(false, [&](bough::rank_t from, const auto& said) {
                const auto i = static_cast<std::size_t>(std::find(below.begin(), below.end(), from) - below.begin());
                if (i == below.size() || has_come[i]) return false;
                has_come[i] = true;
                for (std::size_t n = 0; n != numbers.size(); ++n) numbers[n] = std::max(numbers[n], said[n]);
                return true;
            });
            if (has_come.count() == below.size()) return true;
            if (++turn % turns_between_looks != 0) return false;
            for (std::size_t i = 0; i != below.size(); ++i)
                if (!has_come[i]) missing.look_for(below[i], at_.waits_below(i));
            return false;
        });
    });
}

void ballot::learn(std::span<std::uint32_t> numbers) noexcept {
    constexpr std::uint64_t patience_ns = 500'000'000; // the rank above knows better who is missing
    auto& session = *base_.shared_session();
    bool has_come = false;
    absence missing(base_, what_, patience_ns);
    std::uint32_t turn = 0;
    wait([&] {
        return session.with_lock([&] {
            hear(true, [&](bough::rank_t from, const auto& said) {
                if (has_come || from != at_.above()) return false;
                std::copy_n(said.begin(), numbers.size(), numbers.begin());
                return has_come = true;
            });
            if (!has_come && ++turn % turns_between_looks == 0) missing.look_for(at_.above(), at_.waits_above());
            return has_come;
        });
    });
}

void vote(host_group& host, std::span<std::uint32_t> numbers) noexcept {
    if (!host.find_greatest(numbers.data(), static_cast<int>(numbers.size()))) end_job_saying(vote_failed);
}
// A rank that is lost may have voted before, and ended the program: then the vote ends soon, too.
void vote(host_group& host, std::span<std::uint32_t> numbers, communicator& base,
          const std::vector<bough::rank_t>* members) noexcept {
    constexpr std::uint64_t soon_ns = 5'000'000'000;
    MPI_Request request = MPI_REQUEST_NULL;
    if (!host.start_greatest(numbers.data(), static_cast<int>(numbers.size()), request)) end_job_saying(vote_failed);
    std::uint64_t last_ns = bough::deadline_after(bough::detail::steady_now_ns(), base.options().timeout_ns);
    bough::rank_t lost = bough::no_rank;
    for (std::uint32_t turn = 1;; ++turn) {
        int is_over = 0;
        if (PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE) != MPI_SUCCESS) end_job_saying(vote_failed);
        if (is_over != 0) return;
        if (turn % 16 == 0) std::this_thread::yield();
        if (turn % 256 != 0) continue;
        is_done([&] { base.progress(); });
        const std::uint64_t now_ns = bough::detail::steady_now_ns();
        for (std::size_t i = 0; lost == bough::no_rank && members != nullptr && i != members->size(); ++i) {
            if (!base.shared_session()->is_lost((*members)[i])) continue;
            lost = (*members)[i];
            last_ns = std::min(last_ns, now_ns + soon_ns);
        }
        if (now_ns <= last_ns) continue;
        lost == bough::no_rank ? end_job_saying(is_late) : end_job_as_lost(lost, first_collective);
    }
}

} // namespace under_mpi
