// SPDX-License-Identifier: BSL-1.0
#include "remote_links.hpp"

#include "parse.hpp"
#include <bough/error.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/one_sided.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#ifdef BOUGH_TOOL_HAS_SHARED_MEMORY
#include <bough/launch.hpp>
#include <bough/remote/shared_memory.hpp>

#include <sys/mman.h>
#endif
#ifdef BOUGH_TOOL_HAS_FABRIC
#include <bough/transport/fabric/regions.hpp>
#endif

namespace cli {

namespace {

// What a rank may leave behind: its process ends before anybody reads it.
template <class Sample>
struct report {
    bough::status result{.code = bough::errc::peer_dead};
    std::uint32_t static_bytes = 0, count = 0;
    std::array<Sample, 64> samples{};

    void keep(const bough::status& s, const std::vector<Sample>& found) {
        result = s;
        result.argument = bough::status{}.argument; // another process's text
        for (count = 0; count != found.size() && count != samples.size(); ++count) samples[count] = found[count];
    }
    std::vector<Sample> kept() const { return {samples.begin(), samples.begin() + count}; }
};

// Calls body(regions, wire, report) on both ranks; only rank 0's report is looked at.
template <class Sample, class Body>
report<Sample> on_two_ranks(const remote_medium& medium, std::uint64_t region_bytes, const Body& body) {
    if (!medium.provider.empty() && medium.transport != "fabric") throw usage_error("--provider", "goes with fabric");
    if (medium.transport == "in_process") {
        bough::in_process_regions world(2, {.region_bytes = region_bytes});
        bough::testing::thread_wire_up wires{2};
        std::array<report<Sample>, 2> told;
        std::array<std::exception_ptr, 2> thrown;
        const auto rank = [&](bough::rank_t r) {
            try {
                auto wire = wires.of(r);
                body(world.connect(r), wire, told[r]);
            } catch (...) {
                thrown[r] = std::current_exception();
            }
        };
        std::thread other(rank, bough::rank_t{1});
        rank(0);
        other.join();
        for (const std::exception_ptr& t : thrown)
            if (t) std::rethrow_exception(t);
        return told[0];
    }
#ifdef BOUGH_TOOL_HAS_SHARED_MEMORY
    const auto by_processes = [&](const auto& make) {
        void* const memory =
            ::mmap(nullptr, sizeof(report<Sample>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        auto* const told = new (memory) report<Sample>;
        const bough::launch_report ended = bough::launch(2, [&](bough::job job) {
            report<Sample> mine;
            try {
                body(make(job), job, mine);
            } catch (const bough::error& e) {
                mine.result = e.details();
            }
            if (job.rank() == 0) *told = mine;
            return 0;
        });
        const report<Sample> found = *told;
        ::munmap(memory, sizeof(report<Sample>));
        if (!ended.ok() && !found.result) throw bough::error({.code = bough::errc::peer_dead});
        return found;
    };
    if (medium.transport == "shared_memory")
        return by_processes([=](auto& job) {
            return bough::shared_memory_regions{job, {.region_bytes = region_bytes}};
        });
#ifdef BOUGH_TOOL_HAS_FABRIC
    if (medium.transport == "fabric") {
        bough::fabric_regions_options options{.region_bytes = region_bytes};
        options.device.provider = medium.provider;
        return by_processes([=](auto& job) { return bough::fabric_regions{job, options}; });
    }
#endif
#endif
    for (const char* name : {"shared_memory", "fabric"})
        if (medium.transport == name)
            throw usage_error(medium.argument, "this bough was built without remote writes over " + medium.transport);
    throw usage_error(medium.argument, "there is no '" + medium.transport +
                                           "' to write remotely over; known are in_process, shared_memory, fabric");
}

void check(const bough::status& result) {
    constexpr std::string_view provider = "provider: ";
    if (result.argument != nullptr && std::string_view(result.argument).starts_with(provider))
        throw usage_error("--provider", result.argument + provider.size());
    bough::detail::throw_if(result);
}

} // namespace

bough::remote_write_timing measure_over(const remote_medium& medium,
                                        const bough::remote_write_timing_options& options) {
    using sample = bough::model::rdma_sample;
    const auto found =
        on_two_ranks<sample>(medium, std::uint64_t{1} << 20, [&](auto regions, auto&, report<sample>& told) {
            const bough::remote_write_timing timed = bough::measure_remote_writes(regions, options);
            told.keep(timed.result, timed.samples);
        });
    check(found.result);
    bough::remote_write_timing timing;
    timing.samples = found.kept();
    timing.fit = bough::model::fit_rdma(timing.samples);
    return timing;
}

bough::one_sided_tuning tune_over(const remote_medium& medium, const bough::one_sided_options& shape,
                                  const bough::one_sided_tune_options& options) {
    using sample = bough::one_sided_tuning::sample;
    const auto found = on_two_ranks<sample>(
        medium, bough::one_sided_bytes(2, shape), [&](auto regions, auto& wire, report<sample>& told) {
            bough::one_sided link{std::move(regions), shape};
            const bough::one_sided_tuning tuned = bough::tune_one_sided(link, wire, options);
            told.keep(tuned.result, tuned.samples);
            told.static_bytes = tuned.static_bytes;
        });
    check(found.result);
    bough::one_sided_tuning tuning;
    tuning.static_bytes = found.static_bytes;
    tuning.samples = found.kept();
    return tuning;
}

} // namespace cli
