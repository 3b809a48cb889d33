// SPDX-License-Identifier: BSL-1.0
// Messages and reductions of two processes over fabric, beside a ping-pong of fi_send and fi_recv by hand in the same run.
//
//   bench-fabric                   the providers that need no network but this machine's
//   bench-fabric shm "verbs;ofi_rxm"
//
// The floor is an endpoint of its own over the same provider: one buffer goes to the other process and back, with one receive
// posted ahead. In turns with it, bough's transport sends the same bytes to and fro (taken into memory of the receiver), and
// communicators reduce them. Half a round trip in microseconds, medians of 11 rounds.
#include "../arguments.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/launch.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/fabric.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s failed\n", what);
    std::_Exit(1);
}

// fi_send and fi_recv, and nothing else.
class raw_pair {
public:
    raw_pair(bough::job& wire, const bough::fabric_options& options) {
        if (device_.open(options)) fail("fi_getinfo");
        std::array<std::byte, 512> mine{};
        std::array<std::byte, 1024> all{};
        std::size_t length = 0;
        if (device_.address(mine, length) || wire.exchange(mine, all, 30'000'000'000)) fail("exchange");
        if (device_.insert(all.data() + 512 * (1 - wire.rank()), peer_)) fail("fi_av_insert");
    }
    // Memory that both use, registered where the provider asks for it.
    void lend(std::span<std::byte> in, std::span<std::byte> out) {
        in_ = in;
        out_ = out;
        if (!device_.register_memory(in, FI_RECV, in_memory_) || !device_.register_memory(out, FI_SEND, out_memory_))
            fail("fi_mr_reg");
    }
    void use(std::size_t bytes) { out_ = {out_.data(), bytes}; }
    void post() {
        while (const ssize_t code =
                   fi_recv(device_.endpoint(), in_.data(), in_.size(),
                           in_memory_ ? fi_mr_desc(in_memory_.get()) : nullptr, FI_ADDR_UNSPEC, &receive_)) {
            if (code != -FI_EAGAIN) fail("fi_recv");
            progress();
        }
    }
    void send() {
        const bool small = out_.size() <= device_.info().tx_attr->inject_size;
        for (;;) {
            const ssize_t code = small ? fi_inject(device_.endpoint(), out_.data(), out_.size(), peer_)
                                       : fi_send(device_.endpoint(), out_.data(), out_.size(),
                                                 out_memory_ ? fi_mr_desc(out_memory_.get()) : nullptr, peer_, &send_);
            if (code == 0) break;
            if (code != -FI_EAGAIN) fail("fi_send");
            progress();
        }
        sending_ += !small;
    }
    void wait_received() {
        while (received_ == 0) progress();
        --received_;
    }
    void wait_sent() {
        while (sending_ != 0) progress();
    }

private:
    void progress() {
        fi_cq_data_entry e;
        const ssize_t n = fi_cq_read(device_.completions(), &e, 1);
        if (n == 1 && e.op_context == &receive_) ++received_;
        if (n == 1 && e.op_context == &send_) --sending_;
        if (n < 0 && n != -FI_EAGAIN) fail("fi_cq_read");
        if (n != 1) std::this_thread::yield();
    }

    bough::detail::fabric_device device_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
    fi_context2 receive_{}, send_{};
    std::span<std::byte> in_, out_;
    bough::detail::unique_fid<fid_mr> in_memory_, out_memory_;
    int received_ = 0, sending_ = 0;
};

// bough's transport, to and fro.
class pair {
public:
    explicit pair(bough::fabric& link) : link_(&link) {}
    void send(std::span<const std::byte> bytes) {
        while (true) {
            const bough::posted p = link_->post_send(1 - link_->rank(), {}, bytes, 1);
            if (p == bough::posted::complete) return;
            if (p == bough::posted::pending) break;
            if (p == bough::posted::failed) fail("post_send");
            poll();
        }
        ++pending_;
    }
    void receive(std::span<std::byte> into) {
        into_ = into;
        for (std::uint32_t idle = 0; taken_ == 0; idle = poll() ? 0 : idle + 1) link_->wait(idle, 0);
        --taken_;
    }
    void wait_sent() {
        for (std::uint32_t idle = 0; pending_ != 0; idle = poll() ? 0 : idle + 1) link_->wait(idle, 0);
    }

private:
    bool poll() {
        std::array<bough::event, 4> events;
        const std::size_t found = link_->poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            const bough::event& e = events[i];
            if (e.what == bough::event::kind::arrived)
                taken_ += link_->take(e.id, into_, 2) == bough::posted::complete;
            else if (e.what == bough::event::kind::complete)
                e.id == 2 ? ++taken_ : --pending_;
            else
                fail("peer");
        }
        return found != 0;
    }
    bough::fabric* link_;
    std::span<std::byte> into_;
    int taken_ = 0, pending_ = 0;
};

template <class F>
double time_of(int operations, F&& f) {
    const auto begin = clock_type::now();
    for (int i = 0; i != operations; ++i) f();
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count() / operations;
}
double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

void rank(bough::job wire, const bough::fabric_options& options) {
    if (std::thread::hardware_concurrency() >= 2) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(wire.rank(), &set);
        ::sched_setaffinity(0, sizeof set, &set);
    }
    const bool first = wire.rank() == 0;
    raw_pair raw(wire, options);
    bough::fabric link{wire, options};
    bough::communicator comm{bough::fabric{wire, options}};
    pair ours(link);
    std::vector<std::byte> all_in(1 << 20), all_out(1 << 20, std::byte{1});
    raw.lend(all_in, all_out);
    raw.post();
    for (const std::size_t bytes : {8u, 1024u, 8192u, 65536u, 1048576u}) {
        const std::span<std::byte> in = std::span(all_in).first(bytes), out = std::span(all_out).first(bytes);
        std::vector<double> x(bytes / 8, 1.0), floor, sent, reduced;
        raw.use(bytes);
        const int operations = static_cast<int>(std::clamp<std::size_t>(4'000'000 / bytes, 5, 200));
        for (int round = 0; round != 12; ++round) { // the first warms up
            bough::barrier(comm);
            const double a = time_of(operations, [&] {
                if (first) raw.send();
                raw.wait_received();
                raw.post();
                if (!first) raw.send();
                raw.wait_sent();
            });
            bough::barrier(comm);
            const double b = time_of(operations, [&] {
                if (first) ours.send(out);
                ours.receive(in);
                if (!first) ours.send(out);
                ours.wait_sent();
            });
            bough::barrier(comm);
            const double c = time_of(operations, [&] { bough::allreduce(comm, std::span(x), bough::max{}); });
            if (round == 0) continue;
            floor.push_back(a / 2);
            sent.push_back(b / 2);
            reduced.push_back(c);
        }
        if (first)
            std::printf("%-12s %8zu B: raw %8.2f us, transport %8.2f us, ratio %.2f; allreduce %8.2f us\n",
                        link.provider().c_str(), bytes, median(floor), median(sent), median(sent) / median(floor),
                        median(reduced));
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 16, "bench-fabric [provider...]");
    std::vector<std::string> providers;
    for (int i = 1; given.has(i); ++i) providers.push_back(given.text(i, "provider"));
    if (providers.empty()) providers = {"tcp;ofi_rxm", "udp;ofi_rxd", "shm"};
    std::printf("%u cores; half a round trip, medians of 11 rounds\n", std::thread::hardware_concurrency());
    for (const std::string& provider : providers) {
        bough::fabric_options options;
        options.provider = provider;
        if (bough::detail::fabric_device{}.open(options)) {
            std::printf("%s: libfabric does not have it here\n", provider.c_str());
            continue;
        }
        std::fflush(stdout);
        const auto report = bough::launch(2, [&](bough::job wire) { rank(std::move(wire), options); });
        if (!report.ok()) std::printf("%s: %s\n", provider.c_str(), describe(report).c_str());
    }
}
