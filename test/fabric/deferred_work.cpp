// SPDX-License-Identifier: BSL-1.0
// NIC programs as libfabric deferred work: counters of the provider trigger writes and atomics, and no process takes part. Over
// the provider `sockets`, where a thread of the provider stands in for the hardware: for values, not for times.
//
//   bank's counter             fid_cntr           inlet        memory region whose remote writes bump its counter
//   write, copy                FI_OP_WRITE        combine      FI_OP_ATOMIC on the own memory
//   add, notice                FI_OP_CNTR_ADD     bell         fi_write to the own inlet
#include "nic/conformance_programs.hpp"
#include "support/catch.hpp"
#include <bough/nic/triggered.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace bough;

// ThreadSanitizer does not see how the thread of libfabric and this one wait for each other.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:libfabric.so"; }

namespace {

void expect_good(long result, const char* what) {
    if (result < 0) throw std::runtime_error(std::string(what) + ": " + fi_strerror(static_cast<int>(-result)));
}

struct closes {
    template <class F>
    void operator()(F* object) const {
        fi_close(&object->fid);
    }
};
template <class F>
using handle = std::unique_ptr<F, closes>;

// A provider that fires work, or null.
fi_info* offered() {
    fi_info* wanted = fi_allocinfo();
    wanted->caps = FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
    wanted->ep_attr->type = FI_EP_RDM;
    wanted->domain_attr->mr_mode = FI_MR_UNSPEC;
    wanted->domain_attr->data_progress = FI_PROGRESS_AUTO;
    wanted->fabric_attr->prov_name = strdup("sockets");
    fi_info* found = nullptr;
    fi_getinfo(FI_VERSION(1, 9), "127.0.0.1", nullptr, FI_SOURCE, wanted, &found);
    fi_freeinfo(wanted);
    return found;
}

std::uint64_t key_of(std::uint32_t bank, std::uint32_t inlet) { return std::uint64_t{bank} << 32 | inlet; }
constexpr std::uint32_t own_memory = 0xffff; // a key of no inlet

// One rank: an endpoint, and for each bank its memory and counters.
class rank_of_network {
public:
    rank_of_network(const fi_info* info, const conformance::one_case& c, const nic::program& p)
        : case_(c), program_(p), set_(nic::triggered_of(p)) {
        fid_fabric* fabric = nullptr;
        expect_good(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
        fabric_.reset(fabric);
        fid_domain* domain = nullptr;
        expect_good(fi_domain(fabric, const_cast<fi_info*>(info), &domain, nullptr), "fi_domain");
        domain_.reset(domain);
        fi_av_attr table{};
        table.type = FI_AV_TABLE;
        fid_av* addresses = nullptr;
        expect_good(fi_av_open(domain, &table, &addresses, nullptr), "fi_av_open");
        addresses_.reset(addresses);
        fi_cq_attr queue{};
        queue.size = 4096;
        fid_cq* done = nullptr;
        expect_good(fi_cq_open(domain, &queue, &done, nullptr), "fi_cq_open");
        done_.reset(done);
        fid_ep* end = nullptr;
        expect_good(fi_endpoint(domain, const_cast<fi_info*>(info), &end, nullptr), "fi_endpoint");
        end_.reset(end);
        expect_good(fi_ep_bind(end, &addresses->fid, 0), "binding addresses");
        expect_good(fi_ep_bind(end, &done->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION), "binding a queue");
        expect_good(fi_enable(end), "fi_enable");
        const std::uint32_t banks = 1u << p.head.bank_bits;
        for (std::uint32_t b = 0; b != banks; ++b) make_bank(b);
    }
    std::string address() const {
        std::size_t length = 0;
        fi_getname(&end_->fid, nullptr, &length);
        std::string name(length, '\0');
        expect_good(fi_getname(&end_->fid, name.data(), &length), "fi_getname");
        return name;
    }
    void learn(const std::string& address) {
        fi_addr_t known = 0;
        if (fi_av_insert(addresses_.get(), address.data(), 1, &known, 0, nullptr) != 1)
            throw std::runtime_error("fi_av_insert");
        peers_.push_back(known);
    }

    // Posts all work of an instance. Pre: that of the bank's last one has ended.
    void post(std::uint32_t e) {
        bank& b = bank_of(e);
        b.posted.clear();
        for (const nic::triggered& t : set_.operations) {
            b.posted.push_back(std::make_unique<deferred>());
            fill(*b.posted.back(), t, e, b);
            expect_good(fi_control(&domain_->fid, FI_QUEUE_WORK, &b.posted.back()->work), "FI_QUEUE_WORK");
        }
    }
    void ring(std::uint32_t e) {
        bank& b = bank_of(e);
        const nic::inlet& bell = program_.inlets[nic::bell_inlet];
        const std::uint32_t count = bell.slot == nic::no_index ? 0 : program_.slots[bell.slot].count;
        for (std::uint32_t k = 0; k != count; ++k) b.mine[k] = conformance::input(case_, e, program_.head.rank, k);
        expect_good(fi_write(end_.get(), b.mine.data(), (count == 0 ? 1 : count) * sizeof(word), nullptr,
                             peers_[program_.head.rank], 0, key_of(number_of(e), nic::bell_inlet), nullptr),
                    "fi_write");
    }
    // Has everything of the instance fired and ended?
    bool ended(std::uint32_t e) const {
        const bank& b = *banks_[number_of(e)];
        return set_.ended(e >> program_.head.bank_bits, [&](std::uint32_t c) {
            return static_cast<std::uint32_t>(fi_cntr_read(b.counters[c].get()));
        });
    }
    std::uint64_t result_digest(std::uint32_t e) const {
        const bank& b = *banks_[number_of(e)];
        return conformance::of_result(e, program_.head.rank, set_.result_count,
                                      [&](std::uint32_t k) { return b.memory[set_.result_first + k]; });
    }
    // What came in: of every inlet the message that it must have been, with what lies in its slot.
    std::uint64_t landed_digest(std::uint32_t e) const {
        const bank& b = *banks_[number_of(e)];
        std::uint64_t sum = 0;
        for (std::uint32_t i = 1; i != program_.inlets.size(); ++i) {
            const nic::inlet& in = program_.inlets[i];
            if (in.from == nic::no_index) continue;
            const bool credit = (in.flags & nic::inlet_credit) != 0;
            const nic::slot at = in.slot == nic::no_index ? nic::slot{} : program_.slots[in.slot];
            const nic::message m{0,
                                 e + (credit ? 1u << program_.head.bank_bits : 0),
                                 in.from,
                                 program_.head.rank,
                                 static_cast<nic::u16>(i),
                                 static_cast<nic::u16>(at.count)};
            sum += conformance::of_message(m, [&](std::uint32_t k) { return b.memory[at.first + k]; });
        }
        return sum;
    }

private:
    using word = std::uint64_t;
    struct deferred {
        fi_deferred_work work{};
        fi_op_rma rma{};
        fi_op_atomic atomic{};
        fi_op_cntr add{};
        iovec from{};
        fi_ioc from_atomic{};
        fi_rma_iov to{};
        fi_rma_ioc to_atomic{};
    };
    struct bank {
        std::vector<word> memory, mine;
        word credits = 0; // what a message without payload writes
        std::vector<handle<fid_cntr>> counters;
        std::vector<handle<fid_mr>> regions;
        std::vector<std::unique_ptr<deferred>> posted;
    };
    std::uint32_t number_of(std::uint32_t e) const { return e & ((1u << program_.head.bank_bits) - 1); }
    bank& bank_of(std::uint32_t e) { return *banks_[number_of(e)]; }

    void make_region(bank& b, std::uint64_t key, void* memory, std::size_t bytes, fid_cntr* counter) {
        fid_mr* region = nullptr;
        expect_good(fi_mr_reg(domain_.get(), memory, bytes, FI_REMOTE_WRITE | FI_WRITE, 0, key,
                              counter != nullptr ? FI_RMA_EVENT : 0, &region, nullptr),
                    "fi_mr_reg");
        b.regions.emplace_back(region);
        if (counter != nullptr) expect_good(fi_mr_bind(region, &counter->fid, FI_REMOTE_WRITE), "fi_mr_bind");
    }
    void make_bank(std::uint32_t number) {
        banks_.push_back(std::make_unique<bank>());
        bank& b = *banks_.back();
        b.memory.resize(program_.head.elements + 1u);
        b.mine.resize(conformance::most_elements);
        for (const std::uint32_t primed : set_.primed) {
            fi_cntr_attr attributes{};
            attributes.events = FI_CNTR_EVENTS_COMP;
            fid_cntr* counter = nullptr;
            expect_good(fi_cntr_open(domain_.get(), &attributes, &counter, nullptr), "fi_cntr_open");
            b.counters.emplace_back(counter);
            if (primed != 0) expect_good(fi_cntr_add(counter, primed), "fi_cntr_add");
        }
        for (std::uint32_t i = 0; i != program_.inlets.size(); ++i) {
            const nic::inlet& in = program_.inlets[i];
            if (in.from == nic::no_index) continue;
            const bool lands = in.slot != nic::no_index && program_.slots[in.slot].count != 0;
            word* at = lands ? &b.memory[program_.slots[in.slot].first] : &b.credits;
            make_region(b, key_of(number, i), at, (lands ? program_.slots[in.slot].count : 1) * sizeof(word),
                        b.counters[in.counter].get());
        }
        make_region(b, key_of(number, own_memory), b.memory.data(), b.memory.size() * sizeof(word), nullptr);
    }

    void fill(deferred& p, const nic::triggered& t, std::uint32_t e, bank& b) {
        using kind = nic::triggered::kind;
        p.work.threshold = t.threshold(e >> program_.head.bank_bits);
        p.work.triggering_cntr = b.counters[t.wait].get();
        p.work.completion_cntr = b.counters[t.bump].get();
        const fi_addr_t self = peers_[program_.head.rank];
        if (t.what == kind::write || t.what == kind::copy) {
            const bool own = t.what == kind::copy;
            p.from = {t.count == 0 ? &b.credits : &b.memory[t.from], (t.count == 0 ? 1 : t.count) * sizeof(word)};
            p.to = {own ? t.to * sizeof(word) : 0, p.from.iov_len, key_of(number_of(e), own ? own_memory : t.inlet)};
            p.rma.ep = end_.get();
            p.rma.msg.msg_iov = &p.from;
            p.rma.msg.iov_count = 1;
            p.rma.msg.addr = own ? self : peers_[t.peer];
            p.rma.msg.rma_iov = &p.to;
            p.rma.msg.rma_iov_count = 1;
            p.rma.msg.context = &p.work.context; // the provider asks for it
            p.work.op_type = FI_OP_WRITE;
            p.work.op.rma = &p.rma;
        } else if (t.what == kind::combine) {
            p.from_atomic = {&b.memory[t.from], t.count};
            p.to_atomic = {t.to * sizeof(word), t.count, key_of(number_of(e), own_memory)};
            p.atomic.ep = end_.get();
            p.atomic.msg.msg_iov = &p.from_atomic;
            p.atomic.msg.iov_count = 1;
            p.atomic.msg.addr = self;
            p.atomic.msg.rma_iov = &p.to_atomic;
            p.atomic.msg.rma_iov_count = 1;
            p.atomic.msg.context = &p.work.context;
            p.atomic.msg.datatype = case_.numbers == conformance::numbers::doubles ? FI_DOUBLE : FI_UINT64;
            p.atomic.msg.op = FI_SUM;
            p.work.op_type = FI_OP_ATOMIC;
            p.work.op.atomic = &p.atomic;
        } else {
            p.add = {b.counters[t.bump].get(), 1};
            p.work.completion_cntr = nullptr;
            p.work.op_type = FI_OP_CNTR_ADD;
            p.work.op.cntr = &p.add;
        }
    }

    const conformance::one_case& case_;
    const nic::program& program_;
    nic::triggered_set set_;
    handle<fid_fabric> fabric_;
    handle<fid_domain> domain_;
    handle<fid_av> addresses_;
    handle<fid_cq> done_;
    std::vector<std::unique_ptr<bank>> banks_;
    handle<fid_ep> end_;
    std::vector<fi_addr_t> peers_;
};

} // namespace

TEST_CASE("conformance: libfabric deferred work", "[fabric][nic]") {
    fi_info* const info = offered();
    if (info == nullptr) {
        WARN("skipped: libfabric has no provider `sockets` that triggers work here");
        return;
    }
    std::uint32_t run = 0;
    for (const conformance::one_case& c : conformance::cases) {
        const auto made = conformance::programs_of(c, nic::capabilities_of<nic::libfabric_deferred>);
        if (!made) continue;
        INFO(c.name);
        std::deque<rank_of_network> ranks;
        for (const nic::program& p : made.programs) ranks.emplace_back(info, c, p);
        for (rank_of_network& one : ranks)
            for (const rank_of_network& other : ranks) one.learn(other.address());
        conformance::digests found;
        constexpr std::uint32_t more = 4; // instances: further turns of the banks
        std::uint64_t last = 0;
        for (std::uint32_t e = 0; e != more; ++e) {
            for (rank_of_network& one : ranks) one.post(e);
            for (rank_of_network& one : ranks) one.ring(e);
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
            for (const rank_of_network& one : ranks)
                while (!one.ended(e)) {
                    REQUIRE(std::chrono::steady_clock::now() < deadline);
                    std::this_thread::sleep_for(std::chrono::microseconds(200)); // fi_cntr_wait keeps it from working
                }
            last = 0;
            for (const rank_of_network& one : ranks) {
                last += one.result_digest(e);
                if (e < conformance::instances) found.messages += one.landed_digest(e);
            }
            if (e < conformance::instances) found.results += last;
        }
        CHECK(found.results == c.results);
        CHECK(found.messages == c.messages);
        ++run;
    }
    CHECK(run == 5);
    fi_freeinfo(info);
}
