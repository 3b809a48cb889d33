// SPDX-License-Identifier: BSL-1.0
// bough in the comparison, and the physical floor of the same run.  bough shm|tcp RANKS
#include "../arguments.hpp"
#include "measured.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/location.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <atomic>
#include <cstdlib>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

template <class X>
class group_over {
public:
    explicit group_over(X link) : comm_(std::move(link)) {}
    unsigned rank() const { return comm_.rank(); }
    unsigned size() const { return comm_.size(); }
    void allreduce(const std::vector<double>& in, std::vector<double>& out) {
        bough::allreduce(comm_, std::span(in), std::span(out), bough::plus{});
    }
    using values = std::vector<double>;
    void reduce(const values& in, values& out) {
        bough::reduce(comm_, std::span(in), std::span(out), bough::plus{}, bough::root{0});
    }
    void broadcast(values& x) { bough::broadcast(comm_, std::span(x), bough::root{0}); }
    void allgather(const values& in, values& out) { bough::allgather(comm_, std::span(in), std::span(out)); }
    void reduce_scatter(const values& in, values& out) {
        bough::reduce_scatter(comm_, std::span(in), std::span(out), bough::plus{});
    }
    void scan(const values& in, values& out) { bough::scan(comm_, std::span(in), std::span(out), bough::plus{}); }
    void exscan(const values& in, values& out) { bough::exscan(comm_, std::span(in), std::span(out), bough::plus{}); }
    void gather(const values& in, values& out) { bough::gather(comm_, std::span(in), std::span(out), bough::root{0}); }
    void scatter(const values& in, values& out) {
        bough::scatter(comm_, std::span(in), std::span(out), bough::root{0});
    }
    void alltoall(const values& in, values& out) { bough::alltoall(comm_, std::span(in), std::span(out)); }
    using located = bough::value_location<double, std::uint64_t>;
    void locate(const std::vector<located>& in, std::vector<located>& out) {
        bough::allreduce(comm_, std::span(in), std::span(out), bough::min_location{});
    }
    void barrier() { bough::barrier(comm_); }
    void broadcast_from_0(int& x) { bough::broadcast(comm_, std::span(&x, 1), bough::root{0}); }

private:
    bough::communicator<X> comm_;
};

// What is common to two floors: lines of shared memory, one a rank and turn; and an answer.
struct lines {
    struct alignas(64) line {
        std::atomic<std::uint64_t> turn{0};
        double value = 0;
    };
    line of[2][64];
    line answer[2];
};
// 8 bytes and barriers by hand: all to all for two, up and down one level for more.
class shared_floor {
public:
    shared_floor(lines& all, unsigned rank, unsigned size, bool yields)
        : all_(all), rank_(rank), size_(size), yields_(yields) {}
    unsigned rank() const { return rank_; }
    unsigned size() const { return size_; }
    double sum(double x) {
        auto& mine = all_.of[++turn_ & 1];
        lines::line& answer = all_.answer[turn_ & 1];
        if (size_ == 2 || rank_ != 0) say(mine[rank_], x);
        if (size_ == 2) return await(mine[1 - rank_]) + x;
        if (rank_ != 0) return await(answer);
        for (unsigned r = 1; r != size_; ++r) x += await(mine[r]);
        return say(answer, x), x;
    }
    void barrier() { sum(0); }
    void broadcast_from_0(int& x) { x = static_cast<int>(sum(rank_ == 0 ? x : 0)); }

private:
    void say(lines::line& l, double x) { l.value = x, l.turn.store(turn_, std::memory_order_release); }
    double await(const lines::line& l) const {
        while (l.turn.load(std::memory_order_acquire) < turn_)
            if (yields_) ::sched_yield();
        return l.value;
    }
    lines& all_;
    unsigned rank_, size_;
    bool yields_; // more ranks than cores
    std::uint64_t turn_ = 0;
};

// As many bytes each way at once over one TCP connection.
class socket_floor {
public:
    socket_floor(int socket, unsigned rank) : socket_(socket), rank_(rank) {}
    unsigned rank() const { return rank_; }
    unsigned size() const { return 2; }
    void exchange(const void* from, void* into, std::size_t bytes) {
        const auto* out = static_cast<const char*>(from);
        auto* in = static_cast<char*>(into);
        for (std::size_t sent = 0, got = 0; sent != bytes || got != bytes;) {
            if (sent != bytes)
                if (const ssize_t n = ::send(socket_, out + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL); n > 0)
                    sent += static_cast<std::size_t>(n);
            if (got != bytes) {
                const ssize_t n = ::recv(socket_, in + got, bytes - got, MSG_DONTWAIT);
                if (n == 0) std::_Exit(1);
                if (n > 0) got += static_cast<std::size_t>(n);
            }
        }
    }
    void allreduce(const std::vector<double>& in, std::vector<double>& out) {
        exchange(in.data(), out.data(), in.size() * sizeof(double));
        for (std::size_t i = 0; i != in.size(); ++i) out[i] += in[i];
    }
    void barrier() {
        char x = 0;
        exchange(&x, &x, 1);
    }
    void broadcast_from_0(int& x) {
        int other = 0;
        exchange(&x, &other, sizeof x);
        if (rank_ != 0) x = other;
    }

private:
    int socket_;
    unsigned rank_;
};

int connected(int (&ends)[2]) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    const auto do_not_pace = [](int s) { (void)::setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); };
    do_not_pace(listener);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener, address, sizeof at) != 0 || ::listen(listener, 1) != 0) return -1;
    ::getsockname(listener, address, &length);
    ends[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    do_not_pace(ends[0]);
    if (::connect(ends[0], address, sizeof at) != 0) return -1;
    ends[1] = ::accept(listener, nullptr, nullptr);
    for (const int s : ends) ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return ::close(listener);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "bough shm|tcp RANKS");
    const std::string_view first = given.word(1, "the first word", {"shm", "tcp"});
    if (!given.has(2)) given.refuse(argc, "is missing");
    const auto ranks = given.number<unsigned>(2, "RANKS", 2, 64, 2);
    auto* shared =
        new (::mmap(nullptr, sizeof(lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) lines;
    const unsigned cores = std::thread::hardware_concurrency(); // before ranks are pinned
    int sockets[2]{};
    if (connected(sockets) != 0) return std::perror("sockets"), 1;
    const auto report = bough::launch(ranks, [&](bough::job job) {
        const unsigned me = job.rank();
        peers::pin(me, ranks);
        if (first == "tcp") {
            {
                bough::tcp_options options;
                options.near_sockets = false; // TCP itself, as the peers
                group_over group{bough::tcp(job, options)};
                peers::measure(group);
            }
            if (ranks != 2) return 0;
            std::printf(me == 0 ? "floor\n" : "");
            socket_floor floor(sockets[me], me);
            peers::measure(floor);
        } else {
            {
                const char* const slots = std::getenv("SLOTS");
                bough::shared_memory_options options;
                if (slots != nullptr) options.slots = static_cast<std::uint32_t>(std::atoi(slots));
                group_over group{bough::shared_memory(job, options)};
                peers::measure(group);
            }
            std::printf(me == 0 ? "floor\n" : "");
            shared_floor floor(*shared, me, ranks, ranks > cores);
            if (peers::is_wanted("allreduce"))
                peers::time_it(floor, "allreduce", 8, [&](int i) {
                    if (floor.sum(i + 1.0) != ranks * (i + 1.0)) peers::wrong_result("the floor");
                });
            if (peers::is_wanted("barrier")) peers::time_it(floor, "barrier", 0, [&](int) { floor.barrier(); });
        }
        return 0;
    });
    if (!report.ok()) std::fprintf(stderr, "%s\n", bough::describe(report).c_str());
    return report.ok() ? 0 : 1;
}
