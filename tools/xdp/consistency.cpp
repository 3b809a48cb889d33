// SPDX-License-Identifier: BSL-1.0
// Timing reductions on NICs and on hosts while their cores are idle, and while they are busy.
#include "consistency.hpp"

#include "nic.hpp"
#include "samples.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/launch.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <netinet/in.h>
#include <new>
#include <sched.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace xdp {

namespace {

using bough::rank_t;

std::vector<bough::nic::program> reduction(const bough::nic::needs& op, const bough::nic::capabilities& target) {
    // Hosts keep pace: nobody enters before the root has the last result.
    auto made = bough::nic::assemble_all(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = most_ranks}), op,
                                         target, {.banks = 4, .credits = false});
    if (!made) throw std::runtime_error("no programs");
    return made.programs;
}

// --- Ranks that are processes ----------------------------------------------------------------------------------------

struct datagram {
    bough::nic::message head;
    double payload;
};

// The same tables in the same machine, one process per rank, over UDP. Each blocks until a message comes; the bell is one.
class processes {
public:
    processes(std::span<const bough::nic::program> programs, bool real_time) : ranks_(programs.size()) {
        void* memory = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        seen_ = new (memory) shared{};
        for (std::size_t r = 0; r != ranks_; ++r) {
            sockets_.emplace_back(checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
            sockaddr_in any{};
            any.sin_family = AF_INET;
            any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            checked(bind(sockets_[r].get(), reinterpret_cast<sockaddr*>(&any), sizeof any), "bind");
            socklen_t size = sizeof any;
            checked(getsockname(sockets_[r].get(), reinterpret_cast<sockaddr*>(&any), &size), "getsockname");
            addresses_.push_back(any);
        }
        for (std::size_t r = 0; r != ranks_; ++r) children_.emplace_back([&, r] { serve(programs[r], r, real_time); });
    }
    ~processes() {
        children_.clear();
        munmap(seen_, sizeof(shared));
    }
    processes(const processes&) = delete;
    processes& operator=(const processes&) = delete;

    void ring(rank_t rank, std::uint32_t epoch, double mine) const {
        const auto r = static_cast<std::uint16_t>(rank);
        post(rank, {{0, epoch, r, r, bough::nic::bell_inlet, 1}, mine});
    }
    std::uint64_t told() const noexcept { return seen_->told.load(std::memory_order_acquire); }
    std::uint64_t told_by(rank_t rank) const noexcept { return seen_->by_rank[rank].load(std::memory_order_acquire); }
    word stamp_ns() const noexcept { return seen_->stamp_ns; }
    double result() const noexcept { return seen_->result; }

private:
    struct shared {
        std::atomic<std::uint64_t> told{0};
        std::array<std::atomic<std::uint64_t>, most_ranks> by_rank{};
        word stamp_ns = 0;
        double result = 0;
    };
    struct port {
        const processes& all;
        std::size_t rank;
        void send(const bough::nic::message& m, const double* payload) { all.post(m.to, {m, *payload}); }
        void notify(std::uint32_t, const double* result, std::uint32_t) {
            if (rank == 0) {
                all.seen_->stamp_ns = now_ns();
                all.seen_->result = *result;
                all.seen_->told.fetch_add(1, std::memory_order_release);
            }
            all.seen_->by_rank[rank].fetch_add(1, std::memory_order_release);
        }
    };
    void post(rank_t to, const datagram& d) const {
        const auto& address = addresses_[to];
        checked(
            sendto(sockets_[to].get(), &d, sizeof d, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address),
            "sendto");
    }
    void serve(const bough::nic::program& program, std::size_t rank, bool real_time) const {
        const sched_param priority{.sched_priority = 10};
        if (real_time) checked(sched_setscheduler(0, SCHED_FIFO, &priority), "SCHED_FIFO");
        auto memory = bough::nic::make_state<double>(program);
        port out{*this, rank};
        datagram d{};
        while (recv(sockets_[rank].get(), &d, sizeof d, 0) == sizeof d)
            bough::nic::deliver(program, memory, d.head, &d.payload, bough::plus{}, out);
    }

    std::size_t ranks_;
    shared* seen_ = nullptr;
    std::vector<descriptor> sockets_{};
    std::vector<sockaddr_in> addresses_{};
    std::vector<child> children_{};
};

// --- Samples ---------------------------------------------------------------------------------------------------------

// Between two reductions the cores get to do what they have to, as between two of an application.
void rest() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

template <class Done>
void wait_until(Done&& done) {
    const word deadline = now_ns() + 10'000'000'000;
    while (!done()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50)); // not to be one more that keeps a core busy
        if (now_ns() > deadline) throw std::runtime_error("a reduction did not end");
    }
}
void expect(double result) {
    if (result != most_ranks * (most_ranks + 1) / 2) throw std::runtime_error("a wrong result");
}

std::vector<double> on_nics(nic& on, unsigned samples) {
    const auto programs = reduction(bough::nic::needs_of<bough::soft_plus<bough::f64_bits>, double>,
                                    bough::nic::capabilities_of<bough::nic::xdp>);
    on.install(programs);
    std::vector<double> us;
    for (std::uint32_t e = 0; e != samples; ++e) {
        word begin = 0;
        for (rank_t r = 0; r != most_ranks; ++r) {
            const word mine = std::bit_cast<word>(r + 1.0);
            begin = now_ns();
            on.ring(r, e, std::span(&mine, 1));
        }
        wait_until([&] {
            for (rank_t r = 0; r != most_ranks; ++r)
                if (on.told(r) != e + 1) return false;
            return true;
        });
        expect(std::bit_cast<double>(word{on.completion_of(0).result[e & 3][0]}));
        us.push_back(static_cast<double>(on.completion_of(0).stamp_ns[e & 3] - begin) / 1000);
        rest();
    }
    return us;
}

std::vector<double> on_processes(bool real_time, unsigned samples) {
    const auto programs =
        reduction(bough::nic::needs_of<bough::plus, double>, bough::nic::capabilities_of<bough::nic::host>);
    const processes all(programs, real_time);
    std::vector<double> us;
    for (std::uint32_t e = 0; e != samples; ++e) {
        word begin = 0;
        for (rank_t r = 0; r != most_ranks; ++r) {
            begin = now_ns();
            all.ring(r, e, r + 1.0);
        }
        wait_until([&] {
            for (rank_t r = 0; r != most_ranks; ++r)
                if (all.told_by(r) != e + 1) return false;
            return true;
        });
        expect(all.result());
        us.push_back(static_cast<double>(all.stamp_ns() - begin) / 1000);
        rest();
    }
    return us;
}

// bough's own reduce over shared memory, one process per rank; from the last clock that was read before entering.
std::vector<double> on_shared_memory(unsigned samples) {
    void* memory = mmap(nullptr, samples * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    auto* const us = static_cast<double*>(memory);
    const bough::launch_report report = bough::launch(most_ranks, [&](bough::job job) {
        bough::communicator comm{bough::shared_memory{job}};
        const bough::root root{0};
        for (unsigned e = 0; e != samples; ++e) {
            bough::barrier(comm);
            double x = comm.rank() + 1.0;
            word entered = now_ns();
            bough::reduce(comm, std::span(&x, 1), bough::plus{}, root, bough::fnomial{.degree = 4});
            const word ended = now_ns();
            bough::reduce(comm, std::span(&entered, 1), bough::max{}, root);
            if (comm.rank() != 0) continue;
            if (x != most_ranks * (most_ranks + 1) / 2) return 1;
            us[e] = static_cast<double>(ended - entered) / 1000;
        }
        return 0;
    });
    std::vector<double> found(us, us + samples);
    munmap(memory, samples * sizeof(double));
    if (!report.ok()) throw std::runtime_error(bough::describe(report));
    return found;
}

// How many samples lie in each twentieth of a decade: `lower` is where a bin begins.
void write_bins(std::FILE* out, const char* what, const char* cores, std::span<const double> sorted) {
    for (std::size_t i = 0; i != sorted.size();) {
        const double bin = std::floor(20 * std::log10(std::max(sorted[i], 1e-3)));
        std::size_t end = i;
        while (end != sorted.size() && std::floor(20 * std::log10(std::max(sorted[end], 1e-3))) == bin) ++end;
        std::fprintf(out, "%s %s,%.4g,%.6f\n", what, cores, std::pow(10.0, bin / 20),
                     static_cast<double>(end - i) / static_cast<double>(sorted.size()));
        i = end;
    }
}

void print(std::FILE* csv, const char* what, const char* cores, std::vector<double> us) {
    std::sort(us.begin(), us.end());
    const std::span<const double> all(us);
    const spread whole = spread_of(all), trimmed = spread_of(all.first(us.size() * 99 / 100));
    const auto at = [&](std::size_t percent) { return us[us.size() * percent / 100]; };
    std::printf("%-24s %-5s %9.1f %9.2f | %9.1f %9.2f %9.1f %9.1f %9.1f\n", what, cores, trimmed.mean,
                trimmed.deviation, whole.mean, whole.deviation, at(50), at(99), us.back());
    std::fflush(stdout);
    if (csv != nullptr) write_bins(csv, what, cores, all);
}

} // namespace

void print_consistency(const std::string& object, const network& net, unsigned samples, const std::string& csv) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> bins(csv.empty() ? nullptr : std::fopen(csv.c_str(), "w"),
                                                               std::fclose);
    if (!csv.empty() && !bins) throw std::system_error(errno, std::generic_category(), csv);
    if (bins) std::fputs("series,us,share\n", bins.get());
    std::printf("16 ranks, 4-nomial tree, one double, %u reductions; us\n%-24s %-5s %9s %9s | %9s %9s %9s %9s %9s\n",
                samples, "", "cores", "mean 99%", "sd 99%", "mean", "sd", "p50", "p99", "max");
    for (const bool busy : {false, true}) {
        const std::vector<child> loops = busy ? busy_loops() : std::vector<child>{};
        const char* load = busy ? "busy" : "idle";
        {
            nic on(object, "nic_xdp_f64x1", net);
            print(bins.get(), "NICs (XDP)", load, on_nics(on, samples));
        }
        print(bins.get(), "processes (UDP)", load, on_processes(false, samples));
        print(bins.get(), "processes (real time)", load, on_processes(true, samples));
        print(bins.get(), "bough (shared memory)", load, on_shared_memory(samples));
    }
}

} // namespace xdp
