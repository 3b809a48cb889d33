// SPDX-License-Identifier: BSL-1.0
// One rank of a case of test/nic/conformance.hpp, run by its host.
#ifndef BOUGH_TEST_NIC_CONFORMANCE_HOST_HPP
#define BOUGH_TEST_NIC_CONFORMANCE_HOST_HPP

#include "nic/conformance_programs.hpp"
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/run/host.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace conformance {

// Of this rank: what it sends and what it is given.
template <class Communicator>
bough::status run_by_host(Communicator& comm, const one_case& c, digests& found) {
    const auto made = programs_of(c, nic::capabilities_of<nic::host>);
    if (!made) return {.code = bough::errc::unsupported};
    nic::host_nic device(comm);
    device.on_send([&](const nic::message& m, std::span<const std::byte> payload) {
        found.messages += of_message(m, [&](u32 k) {
            u64 word = 0;
            std::memcpy(&word, payload.data() + k * sizeof word, sizeof word);
            return word;
        });
    });
    auto mine = nic::load<u64>(device, made.programs[comm.rank()], combine{c.numbers});
    std::array<u64, most_elements> in{}, out{};
    for (u32 e = 0; e != instances; ++e) {
        for (u32 k = 0; k != c.elements; ++k) in[k] = input(c, e, comm.rank(), k);
        const auto got = std::span(out).first(mine.result_count());
        if (const bough::status bad = mine.run(std::span(in).first(mine.input_count()), got)) return bad;
        found.results += of_result(e, comm.rank(), static_cast<u32>(got.size()), [&](u32 k) { return got[k]; });
        if (!c.credits) bough::barrier(comm);
    }
    return {};
}

} // namespace conformance

#endif
